// SPDX-License-Identifier: BSD-3-Clause
// What the requester sends.
#include <algorithm>
#include <bit>

#include "memory/pieces.h"
#include "transport/ops/ops.h"
#include "transport/qp.h"
#include "transport/qp_state.h"
#include "transport/rc_requester.h"
#include "wire/build.h"

namespace uroce::transport {

bool RcRequester::transmit(Qp& qp, Context& c, TxBatch& batch, unsigned budget) {
  if (qp.state() == QpState::err) {
    qp.flush(c);
    return false;
  }
  while (accepts_responses(qp.state()) && !rnr_waiting_) {
    if (budget == 0 || batch.full()) return true;
    if (!qp.may_send(c)) return false;
    if (!send_next(qp, c, batch)) {
      fail_if_head(qp, c);
      break;
    }
    qp.sent_data(batch, c);
    --budget;
    if (cursor_ == qp.sq().ring().tail()) break;  // the usual end, without another look at everything
  }
  qp.flow.rest();
  return false;
}

// One packet. False when nothing may be sent now; an acknowledgement or a new request enlists the QP again.
bool RcRequester::send_next(Qp& qp, Context& c, TxBatch& batch) {
  SendQueue& sq = qp.sq();
  if (cursor_fault_ != WcStatus::success) return false;
  if (cursor_ == started_) {
    if (cursor_ == sq.ring().tail() || qp.state() == QpState::sqd) return false;
    if (!begin(qp, sq.at(cursor_))) return false;
  }
  const SendEntry& e = sq.at(cursor_);
  if (count_between(una_, next_) >= qp.config().window_packets) return false;
  if (e.wants_response()) {
    const std::uint32_t limit = qp.attributes().max_rd_atomic;
    if (limit == 0) {
      cursor_fault_ = WcStatus::loc_qp_op_err;  // this connection can never send it
      return false;
    }
    if (responses_due_ >= limit) return false;
    if (e.is_read()) return send_read(qp, c, batch, e);
    send_atomic(qp, c, batch, e);
    return true;
  }
  return send_data(qp, c, batch, e);
}

// Gives a request its PSNs. False while a fence holds it back.
bool RcRequester::begin(Qp& qp, SendEntry& e) {
  if (e.has(SendFlag::fence) && responses_due_ != 0) return false;
  e.first_psn = next_;
  e.psn_count = e.is_atomic() || e.length <= qp.mtu() ? 1 : ((e.length - 1) >> std::countr_zero(qp.mtu())) + 1;
  ++started_;
  return true;
}

// AckReq goes on the last packet of a message, and inside long ones often enough that the window never closes unasked.
bool RcRequester::wants_ack(const Qp& qp, bool last) noexcept {
  if (!last && ++since_ack_request_ < qp.config().ack_every) return false;
  since_ack_request_ = 0;
  return true;
}

bool RcRequester::send_data(Qp& qp, Context& c, TxBatch& batch, const SendEntry& e) {
  const std::uint32_t index = count_between(e.first_psn, next_);
  const std::uint32_t offset = index * qp.mtu();
  const std::uint32_t length = std::min(qp.mtu(), e.length - offset);
  const bool first = index == 0, last = index + 1 == e.psn_count;
  const wire::Place place = first ? (last ? wire::Place::only : wire::Place::first)
                                  : (last ? wire::Place::last : wire::Place::middle);
  const bool inlined = e.has(SendFlag::inline_data);
  memory::Pieces pieces;
  if (!inlined && !pieces.resolve(c.memory, qp.config().pd, e.sges(), offset, length, {})) {
    cursor_fault_ = WcStatus::loc_prot_err;
    return false;
  }

  wire::BthNumbers numbers = qp.bth_numbers(next_);
  numbers.ack_req = wants_ack(qp, last);
  numbers.solicited = last && e.has(SendFlag::solicited) && e.opcode != WrOpcode::rdma_write;
  wire::FrameWriter w(qp.frame_template(), batch.room(), ops::request_opcode(e.opcode, place), length, numbers);
  ops::write_request_headers(w, e, first, last);
  if (inlined) {
    std::copy_n(e.inline_bytes() + offset, length, w.payload());
    batch.commit(w.finish());
  } else {
    batch.commit(w.finish(pieces.gather_crc(w.payload(), w.header_crc())));
  }
  sent(qp, c, 1, last, false);
  return true;
}

void RcRequester::sent(Qp& qp, Context& c, std::uint32_t psns, bool entry_done, bool response_wanted) {
  c.counters.add(Counter::tx_packets);
  if (before(next_, high_)) c.counters.add(Counter::tx_retransmitted);
  next_ = next_ + psns;
  if (before(high_, next_)) high_ = next_;
  if (entry_done) {
    ++cursor_;
    if (response_wanted) ++responses_due_;
  }
  if (deadline_ == base::kNever) start_timer(qp, c);
}

}  // namespace uroce::transport
