// SPDX-License-Identifier: BSD-3-Clause
#include "engine/egress.h"

#include <algorithm>

namespace uroce::engine {

Egress::~Egress() { port_.tx_free(std::span(frames_).subspan(first_, end_ - first_)); }

int Egress::send_ready() {
  const std::size_t taken = port_.tx_burst(std::span(frames_).subspan(first_, ready_));
  first_ += taken;
  ready_ -= taken;
  return static_cast<int>(taken);
}

// Buffers for one more quantum. No more than that is held in stock: the fewer buffers go round, the better they stay in
// the cache.
void Egress::grow(transport::TxBatch& batch) {
  const std::size_t wanted = std::min<std::size_t>(kQuantum, first_ + kBatch - end_);
  const std::size_t got = port_.tx_alloc(std::span(frames_).subspan(end_, wanted));
  // Whoever had the buffer last may be another core: its lines are asked for well before they are written.
  for (const TxFrame& f : std::span(frames_).subspan(end_, got)) {
    __builtin_prefetch(f.data, 1);
    __builtin_prefetch(f.data + 64, 1);
    __builtin_prefetch(f.data + 128, 1);
  }
  end_ += got;
  batch.extend(got);
}

// Who has more goes to the back of the line; whom the full batch cut short stays first, with the rest of its quantum.
template <class List, class Transmit>
void Egress::serve(List& list, unsigned& left, transport::TxBatch& batch, std::size_t limit, Transmit transmit) {
  while (batch.used() < limit) {
    if (batch.full()) grow(batch);
    if (batch.full()) return;
    transport::Qp* qp = list.pop();
    if (qp == nullptr) return;
    const std::size_t before = batch.used();
    const bool more = transmit(*qp, left);
    const auto used = static_cast<unsigned>(batch.used() - before);
    if (more && used < left) {
      left -= used;
      list.push_front(*qp);
      continue;
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
  if (idle()) return sent;
  if (first_ >= kBatch) {
    std::copy(frames_.begin() + static_cast<std::ptrdiff_t>(first_), frames_.begin() + static_cast<std::ptrdiff_t>(end_),
              frames_.begin());
    end_ -= first_;
    first_ = 0;
  }
  transport::TxBatch batch{std::span(frames_).subspan(first_, end_ - first_)};

  if (answering_.size() != 0) {
    serve(answering_, answers_left_, batch, requesting_.size() == 0 ? kBatch : kAnswersOfBatch,
          [&](transport::Qp& qp, unsigned quantum) { return qp.transmit_answers(c, batch, quantum); });
  }
  serve(requesting_, requests_left_, batch, kBatch,
        [&](transport::Qp& qp, unsigned quantum) { return qp.transmit_requests(c, batch, quantum); });
  ready_ = batch.used();
  return ready_ == 0 ? sent : sent + send_ready();
}

}  // namespace uroce::engine
