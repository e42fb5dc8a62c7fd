// SPDX-License-Identifier: BSD-3-Clause
// The ladder; rc_responder_answer.cc has the answers, ops/ the verbs.
#include "transport/rc_responder.h"

#include "transport/qp.h"

namespace uroce::transport {

void RcResponder::on_request(Qp& qp, const wire::RocePacket& p, Context& c) {
  if (finished_) return;
  if (!heard_) {
    heard_ = true;
    if (qp.state() == QpState::rtr) c.events.on_event({AsyncEventType::comm_est, qp.qpn()});
  }
  const Psn psn{p.psn()};
  const std::int32_t ahead = distance(expected_, psn);
  if (qp.lingering() && ahead >= 0) return;  // nobody is left to take anything new
  if (ahead > 0) return on_ahead(qp, c);
  if (ahead < 0) return on_duplicate(qp, p, psn, c);

  if (const Outcome o = check_sequence(p); o.refused()) return refuse(qp, o.refusal(), psn, c);
  if (!wire::payload_length_legal(p, qp.mtu())) return refuse(qp, {wire::Nak::invalid_request, WcStatus::loc_len_err}, psn, c);
  if (const Outcome o = check_access(qp, p); o.refused()) return refuse(qp, o.refusal(), psn, c);
  const Outcome o = execute(qp, p, c);
  if (o.refused()) return refuse(qp, o.refusal(), psn, c);
  gap_ = o.not_ready();  // after an RNR NAK what follows is silently dropped until this PSN comes again
  if (o.not_ready()) {
    c.counters.add(Counter::tx_rnr_naks);
    return owe_nak(qp, AnswerKind::soft_nak, wire::rnr_syndrome(qp.attributes().min_rnr_timer), psn, c);
  }
  if (p.info().op != wire::Op::send && p.info().op != wire::Op::write) return;  // answered by its response
  expected_ = psn + 1;
  if (p.info().ends()) msn_ = (msn_ + 1) & Psn::kMask;
  if (p.bth().ack_req()) owe_ack(qp, c, true);
}

void RcResponder::on_ahead(Qp& qp, Context& c) {
  c.counters.add(Counter::out_of_sequence);
  if (gap_) return;
  gap_ = true;
  c.counters.add(Counter::tx_sequence_naks);
  owe_nak(qp, AnswerKind::soft_nak, static_cast<std::uint8_t>(wire::Nak::psn_sequence), expected_, c);
}

void RcResponder::on_duplicate(Qp& qp, const wire::RocePacket& p, Psn psn, Context& c) {
  c.counters.add(Counter::duplicate_requests);
  switch (p.info().op) {
    case wire::Op::read_request: return repeat_read(qp, p, psn, c);
    case wire::Op::cmp_swap:
    case wire::Op::fetch_add: return repeat_atomic(qp, p, psn, c);
    case wire::Op::send:
    case wire::Op::write: return owe_ack(qp, c, false);  // C9-105: the newest completed PSN
    default: return c.counters.add(Counter::duplicates_unanswered);
  }
}

RcResponder::Outcome RcResponder::check_sequence(const wire::RocePacket& p) const noexcept {
  const wire::OpcodeInfo& i = p.info();
  const bool data = i.op == wire::Op::send || i.op == wire::Op::write;
  if (!data) return message_ == Message::none ? Outcome{} : Refusal{wire::Nak::invalid_request, WcStatus::loc_qp_op_err};
  const Message wanted = i.op == wire::Op::send ? Message::send : Message::write;
  const bool fits = i.starts() ? message_ == Message::none : message_ == wanted;
  return fits ? Outcome{} : Refusal{wire::Nak::invalid_request, WcStatus::loc_qp_op_err};
}

// Whether this connection lets a peer do that at all.
RcResponder::Outcome RcResponder::check_access(const Qp& qp, const wire::RocePacket& p) const noexcept {
  const AccessFlags access = qp.attributes().access;
  bool allowed = true;
  switch (p.info().op) {
    case wire::Op::send: break;
    case wire::Op::write: allowed = access.has(Access::remote_write); break;
    case wire::Op::read_request: allowed = access.has(Access::remote_read); break;
    case wire::Op::cmp_swap:
    case wire::Op::fetch_add: allowed = access.has(Access::remote_atomic); break;
    default: allowed = false; break;  // FLUSH, ATOMIC WRITE: not spoken here
  }
  return allowed ? Outcome{} : Refusal{wire::Nak::invalid_request};
}

RcResponder::Outcome RcResponder::execute(Qp& qp, const wire::RocePacket& p, Context& c) {
  switch (p.info().op) {
    case wire::Op::send: return execute_send(qp, p, c);
    case wire::Op::write: return execute_write(qp, p, c);
    case wire::Op::read_request: return execute_read(qp, p, c);
    default: return execute_atomic(qp, p, c);
  }
}

void RcResponder::refuse(Qp& qp, const Refusal& r, Psn psn, Context& c) {
  finished_ = true;
  const auto syndrome = static_cast<std::uint8_t>(r.nak);
  c.counters.add(Counter::tx_error_naks);
  c.counters.add(Counter::responder_errors);
  owe_nak(qp, AnswerKind::hard_nak, syndrome, psn, c);
  if (in_receive_) fail_receive(qp, r.receive_status, psn, syndrome, c);
  c.events.on_event({r.nak == wire::Nak::remote_access ? AsyncEventType::qp_access_err : AsyncEventType::qp_req_err,
                     qp.qpn()});
  qp.enter_error(c, true);
}

void RcResponder::complete_receive(Qp& qp, const wire::RocePacket& p, WcOpcode opcode, std::uint32_t length, Context& c) {
  if (Completion* w = c.complete(qp.config().recv_lane, p.bth().solicited())) {
    w->wr_id = qp.rq().front()->wr_id;
    w->opcode = opcode;
    w->qpn = qp.qpn();
    w->byte_length = length;
    if (const auto* imm = p.ext<wire::Ext::imm_dt>()) {
      w->flags = WcFlag::with_imm;
      w->immediate = imm->data;
    } else if (const auto* ieth = p.ext<wire::Ext::ieth>()) {
      w->flags = WcFlag::with_inv;
      w->invalidated_rkey = ieth->rkey.get();
    }
  }
  in_receive_ = false;
  qp.rq().pop();
}

void RcResponder::fail_receive(Qp& qp, WcStatus status, Psn psn, std::uint8_t syndrome, Context& c) {
  if (Completion* w = c.complete(qp.config().recv_lane, true)) {
    w->wr_id = qp.rq().front()->wr_id;
    w->status = status;
    w->qpn = qp.qpn();
    w->psn = psn.value();
    w->syndrome = syndrome;
  }
  in_receive_ = false;
  qp.rq().pop();
}

void RcResponder::flush(Qp& qp, Context& c) {
  in_receive_ = false;
  message_ = Message::none;
  while (const RecvEntry* e = qp.rq().front()) {
    if (Completion* w = c.complete(qp.config().recv_lane, true)) {
      w->wr_id = e->wr_id;
      w->status = WcStatus::wr_flush_err;
      w->opcode = WcOpcode::recv;
      w->qpn = qp.qpn();
    }
    qp.rq().pop();
  }
}

}  // namespace uroce::transport
