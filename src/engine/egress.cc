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

int Egress::poll(transport::Context& c) {
  int sent = 0;
  if (ready_ != 0) {
    sent = send_ready();
    if (ready_ != 0) return sent;  // the port is full
  }
  if (answering_.size() == 0 && requesting_.size() == 0) return sent;
  if (allocated_ < kBatch) allocated_ += port_.tx_alloc(std::span(frames_).subspan(allocated_));
  transport::TxBatch batch{std::span(frames_).first(allocated_)};

  // One round each; who has more goes to the back of the line.
  for (std::uint32_t n = answering_.size(); n != 0 && !batch.full(); --n) {
    transport::Qp* qp = answering_.pop();
    if (qp->transmit_answers(c, batch, kQuantum)) answering_.push(*qp);
  }
  for (std::uint32_t n = requesting_.size(); n != 0 && !batch.full(); --n) {
    transport::Qp* qp = requesting_.pop();
    if (qp->transmit_requests(c, batch, kQuantum)) requesting_.push(*qp);
  }
  ready_ = batch.used();
  return ready_ == 0 ? sent : sent + send_ready();
}

}  // namespace uroce::engine
