// SPDX-License-Identifier: BSD-3-Clause
// What the requester does with what comes back; rc_requester_send.cc has what it sends.
#include "transport/rc_requester.h"

#include <algorithm>

#include "transport/qp.h"
#include "transport/qp_state.h"
#include "wire/syndrome.h"

namespace uroce::transport {
namespace {

constexpr WcOpcode completion_opcode(WrOpcode op) noexcept {
  switch (op) {
    case WrOpcode::rdma_write:
    case WrOpcode::rdma_write_with_imm: return WcOpcode::rdma_write;
    case WrOpcode::rdma_read: return WcOpcode::rdma_read;
    case WrOpcode::cmp_swap: return WcOpcode::cmp_swap;
    case WrOpcode::fetch_add: return WcOpcode::fetch_add;
    default: return WcOpcode::send;
  }
}

}  // namespace

void RcRequester::reset(Psn first, std::uint32_t queue_head, base::Instant now) noexcept {
  *this = RcRequester{};
  last_ack_ = now;
  una_ = next_ = high_ = first;
  restart_ = first - 1;  // nothing was restarted
  cursor_ = started_ = queue_head;
}

void RcRequester::set_counters(std::uint8_t retry_cnt, std::uint8_t rnr_retry) noexcept {
  retry_cnt_ = retries_left_ = retry_cnt;
  rnr_retry_ = rnr_left_ = rnr_retry;
}

void RcRequester::on_response(Qp& qp, const wire::RocePacket& p, Context& c) {
  const Psn psn{p.psn()};
  // Ghosts: acknowledged long ago, or never sent.
  if (count_between(una_, psn) >= count_between(una_, high_)) return c.counters.add(Counter::stale_responses);
  switch (p.info().op) {
    case wire::Op::ack: on_acknowledge(qp, p, psn, c); break;
    case wire::Op::read_response: on_read_response(qp, p, psn, c); break;
    case wire::Op::atomic_ack: on_atomic_response(qp, p, psn, c); break;
    default: return c.counters.add(Counter::stale_responses);
  }
  if (!accepts_responses(qp.state())) return;
  fail_if_head(qp, c);
  check_drained(qp, c);
  if (cursor_ != qp.sq().ring().tail()) c.host.enlist_requests(qp);  // room in the window may let it go on
}

void RcRequester::on_acknowledge(Qp& qp, const wire::RocePacket& p, Psn psn, Context& c) {
  if (!p.payload().empty()) return c.counters.add(Counter::stale_responses);
  const std::uint8_t syndrome = p.ext<wire::Ext::aeth>()->syndrome;
  switch (wire::ack_kind(syndrome)) {
    case wire::AckKind::ack:
      if (!acknowledge_before(qp, psn + 1, c)) on_response_missing(qp, c);
      return;
    case wire::AckKind::rnr_nak: return on_rnr_nak(qp, wire::ack_value(syndrome), psn, c);
    case wire::AckKind::nak: return on_nak(qp, syndrome & 0x7fu, psn, c);
    case wire::AckKind::reserved: return c.counters.add(Counter::stale_responses);
  }
}

void RcRequester::on_nak(Qp& qp, std::uint8_t syndrome, Psn psn, Context& c) {
  WcStatus status;
  switch (static_cast<wire::Nak>(syndrome)) {
    case wire::Nak::psn_sequence:
      c.counters.add(Counter::rx_sequence_naks);
      // A peer without a receive says RNR for a message's first packet and "sequence" for its second: the wait stands.
      if (rnr_waiting_ && psn == una_) return;
      if (!acknowledge_before(qp, psn, c)) return on_response_missing(qp, c);
      if (next_ == una_) return;  // gone back already, nothing sent since: a repeated NAK
      if (spend_retry(qp, c, syndrome)) go_back(qp, c);
      return;
    case wire::Nak::invalid_request: status = WcStatus::rem_inv_req_err; break;
    case wire::Nak::remote_access: status = WcStatus::rem_access_err; break;
    case wire::Nak::remote_operational: status = WcStatus::rem_op_err; break;
    default: return c.counters.add(Counter::rx_unknown_naks);
  }
  c.counters.add(Counter::rx_error_naks);
  if (!acknowledge_before(qp, psn, c)) return on_response_missing(qp, c);
  fail_head(qp, c, status, syndrome, static_cast<std::uint8_t>(retry_cnt_ - retries_left_));
}

void RcRequester::on_rnr_nak(Qp& qp, std::uint8_t timer_code, Psn psn, Context& c) {
  c.counters.add(Counter::rx_rnr_naks);
  if (rnr_waiting_ && psn == una_) return;  // repeated by the network
  if (!acknowledge_before(qp, psn, c)) return on_response_missing(qp, c);
  if (rnr_retry_ != 7) {
    if (rnr_left_ == 0) {
      return fail_head(qp, c, WcStatus::rnr_retry_exc_err, wire::rnr_syndrome(timer_code), rnr_retry_);
    }
    --rnr_left_;
  }
  go_back(qp, c);
  rnr_waiting_ = true;  // the ack timer stands still meanwhile
  deadline_ = c.now + wire::rnr_delay(timer_code);
  c.host.set_timer(qp, deadline_);
}

bool RcRequester::acknowledge_before(Qp& qp, Psn end, Context& c) {
  Psn done = una_;
  while (done != end) {
    const SendEntry& e = qp.sq().at(qp.sq().ring().head());
    if (e.wants_response()) break;
    const Psn entry_end = e.first_psn + e.psn_count;
    if (count_between(done, end) < count_between(done, entry_end)) {
      done = end;
    } else {
      done = entry_end;
      complete_head(qp, c);
    }
  }
  if (done != una_) advance_una(qp, done, c);
  return done == end;
}

// Progress: the counters reload and the timer starts anew.
void RcRequester::advance_una(Qp& qp, Psn to, Context& c) {
  una_ = to;
  retries_left_ = retry_cnt_;
  rnr_left_ = rnr_retry_;
  missing_reported_ = false;
  rnr_waiting_ = false;
  last_ack_ = c.now;
  if (before(next_, una_)) {
    // Gone back further than was needed: what was lost was only the acknowledgement.
    next_ = una_;
    cursor_ = qp.sq().ring().head();
    responses_due_ = 0;
  }
  deadline_ = base::kNever;
  if (una_ != high_) start_timer(qp, c);
}

void RcRequester::complete_head(Qp& qp, Context& c) {
  SendQueue& sq = qp.sq();
  const std::uint32_t head = sq.ring().head();
  const SendEntry& e = sq.at(head);
  if (qp.config().signal_all || e.has(SendFlag::signaled)) {
    if (Completion* w = c.complete(qp.config().send_lane, false)) {
      w->wr_id = e.wr_id;
      w->opcode = completion_opcode(e.opcode);
      w->qpn = qp.qpn();
      w->byte_length = e.length;
    }
  }
  if (cursor_ == head) {
    cursor_ = head + 1;
  } else if (e.wants_response()) {
    --responses_due_;
  }
  sq.ring().set_head(head + 1);
}

// Something after an unanswered READ or ATOMIC was acknowledged, so its response is lost.
void RcRequester::on_response_missing(Qp& qp, Context& c) {
  if (missing_reported_ || next_ == una_) return;
  c.counters.add(Counter::implied_naks);
  if (!spend_retry(qp, c, 0)) return;
  missing_reported_ = true;
  go_back(qp, c);
}

void RcRequester::go_back(Qp& qp, Context& c) {
  cursor_ = qp.sq().ring().head();
  next_ = una_;
  responses_due_ = 0;
  since_ack_request_ = 0;
  cursor_fault_ = WcStatus::success;
  deadline_ = base::kNever;
  start_timer(qp, c);
  c.host.enlist_requests(qp);
}

bool RcRequester::spend_retry(Qp& qp, Context& c, std::uint8_t syndrome) {
  if (retries_left_ == 0) {
    fail_head(qp, c, WcStatus::retry_exc_err, syndrome, retry_cnt_);
    return false;
  }
  --retries_left_;
  return true;
}

void RcRequester::wait_for_path(Qp& qp, Context& c) {
  const bool work = qp.sq().ring().head() != qp.sq().ring().tail();
  if (work && deadline_ == base::kNever && accepts_responses(qp.state())) start_timer(qp, c);
}

void RcRequester::start_timer(Qp& qp, Context& c) {
  const base::Duration t = wire::ack_timeout(qp.attributes().timeout);
  deadline_ = t.ns == INT64_MAX ? base::kNever : c.now + t;
  if (deadline_ != base::kNever) c.host.set_timer(qp, deadline_);
}

void RcRequester::on_timer(Qp& qp, Context& c) {
  if (deadline_ == base::kNever || !accepts_responses(qp.state())) return;
  if (c.now < deadline_) return c.host.set_timer(qp, deadline_);  // progress has moved it since it was armed
  if (rnr_waiting_) {
    rnr_waiting_ = false;
    start_timer(qp, c);
    return c.host.enlist_requests(qp);
  }
  c.counters.add(Counter::ack_timeouts);
  missing_reported_ = false;
  if (spend_retry(qp, c, 0)) go_back(qp, c);
}

void RcRequester::fail_head(Qp& qp, Context& c, WcStatus status, std::uint8_t syndrome, std::uint8_t retries_used) {
  const std::uint32_t head = qp.sq().ring().head();
  const SendEntry& e = qp.sq().at(head);
  if (Completion* w = c.complete(qp.config().send_lane, true)) {
    w->wr_id = e.wr_id;
    w->status = status;
    w->qpn = qp.qpn();
    w->psn = una_.value();
    w->syndrome = syndrome;
    w->retries_used = retries_used;
    w->last_ack_age_us = static_cast<std::uint32_t>(std::min<std::int64_t>((c.now - last_ack_).ns / 1000, UINT32_MAX));
  }
  qp.sq().ring().set_head(head + 1);
  c.counters.add(Counter::requester_errors);
  qp.enter_error(c);
}

void RcRequester::fail_if_head(Qp& qp, Context& c) {
  if (cursor_fault_ != WcStatus::success && cursor_ == qp.sq().ring().head()) fail_head(qp, c, cursor_fault_, 0, 0);
}

void RcRequester::flush(Qp& qp, Context& c) {
  WorkRing& ring = qp.sq().ring();
  const std::uint32_t tail = ring.tail();
  while (ring.head() != tail) {
    if (Completion* w = c.complete(qp.config().send_lane, true)) {
      w->wr_id = qp.sq().at(ring.head()).wr_id;
      w->status = WcStatus::wr_flush_err;
      w->qpn = qp.qpn();
    }
    ring.set_head(ring.head() + 1);
  }
  cursor_ = started_ = tail;
  next_ = una_ = high_;
  responses_due_ = 0;
  rnr_waiting_ = false;
  cursor_fault_ = WcStatus::success;
  deadline_ = base::kNever;
}

void RcRequester::check_drained(Qp& qp, Context& c) {
  if (qp.state() != QpState::sqd || drain_reported_ || qp.sq().ring().head() != started_) return;
  drain_reported_ = true;
  if (qp.attributes().sqd_notify) c.events.on_event({AsyncEventType::sq_drained, qp.qpn()});
}

}  // namespace uroce::transport
