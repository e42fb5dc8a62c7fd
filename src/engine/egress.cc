// SPDX-License-Identifier: BSD-3-Clause
#include "engine/egress.h"

#include <algorithm>

namespace uroce::engine {

Egress::~Egress() { port_.tx_free(std::span(frames_).first(allocated_)); }

int Egress::send_ready() {
  const std::size_t taken = port_.tx_burst(std::span(frames_).first(ready_));
  std::move(frames_.begin() + static_cast<std::ptrdiff_t>(taken), frames_.begin() + static_cast<std::ptrdiff_t>(allocated_),
            frames_.begin());
  ready_ -= taken;
  allocated_ -= taken;
  return static_cast<int>(taken);
}

// One round. Who has more goes to the back of the line; whom the full batch cut short stays first, with the rest of its
// quantum.
template <class List, class Transmit>
void Egress::serve(List& list, unsigned& left, transport::TxBatch& batch, Transmit transmit) {
  for (std::uint32_t n = list.size(); n != 0 && !batch.full(); --n) {
    transport::Qp* qp = list.pop();
    const std::size_t before = batch.used();
    const bool more = transmit(*qp, left);
    const auto used = static_cast<unsigned>(batch.used() - before);
    if (more && used < left) {
      left -= used;
      return list.push_front(*qp);
    }
    left = kQuantum;
    if (more) list.push(*qp);
  }
}

int Egress::poll(transport::Context& c) {
  int sent = 0;
  if (ready_ != 0) {
    sent = send_ready();
    if (ready_ != 0) return sent;  // the port is full
  }
  if (answering_.size() == 0 && requesting_.size() == 0) return sent;
  if (allocated_ < kBatch) allocated_ += port_.tx_alloc(std::span(frames_).subspan(allocated_));
  transport::TxBatch batch{std::span(frames_).first(allocated_)};

  serve(answering_, answers_left_, batch,
        [&](transport::Qp& qp, unsigned quantum) { return qp.transmit_answers(c, batch, quantum); });
  serve(requesting_, requests_left_, batch,
        [&](transport::Qp& qp, unsigned quantum) { return qp.transmit_requests(c, batch, quantum); });
  ready_ = batch.used();
  return ready_ == 0 ? sent : sent + send_ready();
}

}  // namespace uroce::engine
