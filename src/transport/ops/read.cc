// SPDX-License-Identifier: BSD-3-Clause
// RDMA READ: the request and its restarts, the responses, and both ends of each.
#include <algorithm>

#include "memory/pieces.h"
#include "transport/ops/ops.h"
#include "transport/qp.h"
#include "wire/syndrome.h"

namespace uroce::transport {

// --- requester ---------------------------------------------------------------------------------------------------

bool RcRequester::send_read(Qp& qp, Context& c, TxBatch& batch, const SendEntry& e) {
  const std::uint32_t index = count_between(e.first_psn, next_);
  // A later part, or a restart in the middle: alone on the wire.
  if (index != 0 && una_ != next_) return false;
  const std::uint32_t part_end = std::min(e.psn_count, (index / ops::kReadPartPsns + 1) * ops::kReadPartPsns);
  const std::uint32_t offset = index * qp.mtu();
  const std::uint64_t to_part_end = std::uint64_t{part_end - index} * qp.mtu();

  wire::FrameWriter w(qp.frame_template(), batch.room(), wire::opcode::kReadRequest, 0, qp.bth_numbers(next_));
  auto& reth = w.ext<wire::Ext::reth>();
  reth.va.set(e.remote_address + offset);
  reth.rkey.set(e.rkey);
  reth.dma_length.set(static_cast<std::uint32_t>(std::min<std::uint64_t>(e.length - offset, to_part_end)));
  batch.commit(w.finish());
  since_ack_request_ = 0;
  // Where this READ was asked for again. Not where go_back() was: late responses may have moved una_ since.
  if (index != 0) restart_ = next_;
  sent(qp, c, part_end - index, part_end == e.psn_count, true);
  return true;
}

void RcRequester::on_read_response(Qp& qp, const wire::RocePacket& p, Psn psn, Context& c) {
  if (!acknowledge_before(qp, psn, c)) return on_response_missing(qp, c);
  const SendEntry& e = qp.sq().at(qp.sq().ring().head());
  if (!e.is_read()) return fail_head(qp, c, WcStatus::bad_resp_err, 0, 0);

  const std::uint32_t index = count_between(e.first_psn, psn);
  const std::uint32_t offset = index * qp.mtu();
  const std::uint32_t expected = std::min(qp.mtu(), e.length - offset);
  const bool part_start = index % ops::kReadPartPsns == 0;
  const bool part_end = index + 1 == e.psn_count || (index + 1) % ops::kReadPartPsns == 0;
  // The first response of a restarted READ is FIRST or ONLY from peers that see a new request, MIDDLE or LAST from
  // those that see the old one.
  const bool may_start = part_start || psn == restart_;
  const bool may_continue = !part_start;
  const wire::OpcodeInfo& info = p.info();
  const auto* aeth = p.ext<wire::Ext::aeth>();
  const bool positive = aeth == nullptr || wire::ack_kind(aeth->syndrome) == wire::AckKind::ack;
  if (!positive || info.ends() != part_end || (info.starts() ? !may_start : !may_continue) || p.payload().size() != expected ||
      !wire::payload_length_legal(p, qp.mtu())) {
    return fail_head(qp, c, WcStatus::bad_resp_err, aeth == nullptr ? 0 : aeth->syndrome, 0);
  }
  memory::Pieces pieces;
  if (!pieces.resolve(c.memory, qp.config().pd, e.sges(), offset, expected, Access::local_write)) {
    return fail_head(qp, c, WcStatus::loc_prot_err, 0, 0);
  }
  pieces.scatter(p.payload().data());
  advance_una(qp, psn + 1, c);
  if (index + 1 == e.psn_count) complete_head(qp, c);
}

// --- responder ---------------------------------------------------------------------------------------------------

RcResponder::Outcome RcResponder::execute_read(Qp& qp, const wire::RocePacket& p, Context& c) {
  const auto& reth = *p.ext<wire::Ext::reth>();
  const std::uint32_t length = reth.dma_length.get();
  if (length > kMaxMessageLength) return {Refusal{wire::Nak::invalid_request}};
  if (length != 0) {  // C9-88: a READ of nothing checks neither key nor address
    memory::KeyFault why;
    if (c.memory.translate(reth.rkey.get(), qp.config().pd, reth.va.get(), length, Access::remote_read, why) == nullptr) {
      return {Refusal{wire::Nak::remote_access}};
    }
  }
  const auto slot = take_slot();
  if (!slot) return {Refusal{wire::Nak::invalid_request}};
  const Psn psn{p.psn()};
  const std::uint32_t count = length == 0 ? 1 : (length - 1) / qp.mtu() + 1;
  replays_[*slot] = {psn, count, false, reth.rkey.get(), length, reth.va.get(), 0};
  expected_ = psn + count;
  msn_ = (msn_ + 1) & Psn::kMask;
  owe(qp, {AnswerKind::read, 0, *slot, false, psn, msn_, psn}, c);
  return {};
}

// A READ behind the expected PSN: answered again when it asks for the tail of one that is kept, from a packet boundary.
void RcResponder::repeat_read(Qp& qp, const wire::RocePacket& p, Psn psn, Context& c) {
  std::uint8_t slot = 0;
  const Replay* r = find_replay(psn, slot);
  const auto& reth = *p.ext<wire::Ext::reth>();
  const std::uint32_t offset = r == nullptr ? 0 : count_between(r->first, psn) * qp.mtu();
  if (r == nullptr || r->atomic || reth.va.get() != r->va + offset || reth.dma_length.get() != r->length - offset ||
      (r->length != 0 && reth.rkey.get() != r->rkey)) {
    return c.counters.add(Counter::duplicates_unanswered);
  }
  if (Answer* a = find_answer(slot)) {
    a->psn = a->begin = psn;  // still being answered: from here again, in its place
    a->msn = msn_;
    return;
  }
  owe(qp, {AnswerKind::read, 0, slot, true, psn, msn_, psn}, c);
}

bool RcResponder::send_read_response(Qp& qp, Context& c, TxBatch& batch, Answer& a) {
  const Replay& r = replays_[a.slot];
  const std::uint32_t index = count_between(r.first, a.psn);
  const std::uint32_t offset = index * qp.mtu();
  const std::uint32_t length = std::min(qp.mtu(), r.length - offset);
  const bool first = a.psn == a.begin, last = index + 1 == r.count;
  std::uint8_t* from = nullptr;
  if (length != 0) {
    // Looked up for each packet: the key may have died since the request came (IBTA 9.7.5.2.4).
    memory::KeyFault why;
    from = c.memory.translate(r.rkey, qp.config().pd, r.va + offset, length, Access::remote_read, why);
    if (from == nullptr) {
      if (qp.lingering()) return true;  // the memory went with the queue pair: no answer, and no harm
      a.kind = AnswerKind::hard_nak;
      a.syndrome = static_cast<std::uint8_t>(wire::Nak::remote_access);
      answer_tail_ = answer_head_ + 1;  // nothing that was to follow is answered
      finished_ = true;
      c.counters.add(Counter::tx_error_naks);
      c.counters.add(Counter::responder_errors);
      c.events.on_event({AsyncEventType::qp_access_err, qp.qpn()});
      qp.enter_error(c, true);
      return false;
    }
  }
  using namespace wire::opcode;
  const std::uint8_t opcode = first ? (last ? kReadResponseOnly : kReadResponseFirst)
                                    : (last ? kReadResponseLast : kReadResponseMiddle);
  wire::FrameWriter w(qp.frame_template(), batch.room(), opcode, length, qp.bth_numbers(a.psn));
  if (first || last) {
    auto& aeth = w.ext<wire::Ext::aeth>();
    aeth.syndrome = ack_syndrome(qp);
    aeth.msn.set(a.msn);
  }
  batch.commit(w.finish(wire::copy_crc(w.payload(), from, length, w.header_crc())));
  c.counters.add(Counter::tx_packets);
  a.psn = a.psn + 1;
  return last;
}

}  // namespace uroce::transport
