// SPDX-License-Identifier: BSD-3-Clause
// CMP_SWAP and FETCH_ADD. They are CPU atomics on the registered memory: whole against other workers and against the
// application's own atomics.
#include <atomic>
#include <bit>

#include "memory/pieces.h"
#include "transport/ops/ops.h"
#include "transport/qp.h"
#include "wire/syndrome.h"

namespace uroce::transport {

// --- requester ---------------------------------------------------------------------------------------------------

void RcRequester::send_atomic(Qp& qp, Context& c, TxBatch& batch, const SendEntry& e) {
  const bool swap = e.opcode == WrOpcode::cmp_swap;
  wire::FrameWriter w(qp.frame_template(), batch.room(), swap ? wire::opcode::kCompareSwap : wire::opcode::kFetchAdd, 0,
                      qp.bth_numbers(next_));
  auto& eth = w.ext<wire::Ext::atomic_eth>();
  eth.va.set(e.remote_address);
  eth.rkey.set(e.rkey);
  eth.swap_or_add.set(swap ? e.operands()[1] : e.operands()[0]);
  eth.compare.set(swap ? e.operands()[0] : 0);
  batch.commit(w.finish());
  since_ack_request_ = 0;
  sent(qp, c, 1, true, true);
}

void RcRequester::on_atomic_response(Qp& qp, const wire::RocePacket& p, Psn psn, Context& c) {
  if (!acknowledge_before(qp, psn, c)) return on_response_missing(qp, c);
  const SendEntry& e = qp.sq().at(qp.sq().ring().head());
  const std::uint8_t syndrome = p.ext<wire::Ext::aeth>()->syndrome;
  if (!e.is_atomic() || !p.payload().empty() || wire::ack_kind(syndrome) != wire::AckKind::ack) return fail_head(qp, c, WcStatus::bad_resp_err, syndrome, 0);
  memory::Pieces pieces;
  if (!pieces.resolve(c.memory, qp.config().pd, e.sges(), 0, 8, Access::local_write)) {
    return fail_head(qp, c, WcStatus::loc_prot_err, 0, 0);
  }
  const std::uint64_t original = p.ext<wire::Ext::atomic_ack_eth>()->original.get();
  pieces.scatter(reinterpret_cast<const std::uint8_t*>(&original));  // in the host's order, as verbs has it
  advance_una(qp, psn + 1, c);
  complete_head(qp, c);
}

// --- responder ---------------------------------------------------------------------------------------------------

RcResponder::Outcome RcResponder::execute_atomic(Qp& qp, const wire::RocePacket& p, Context& c) {
  const auto& eth = *p.ext<wire::Ext::atomic_eth>();
  const std::uint64_t va = eth.va.get();
  if (va % 8 != 0) return {Refusal{wire::Nak::invalid_request}};
  memory::KeyFault why;
  std::uint8_t* at = c.memory.translate(eth.rkey.get(), qp.config().pd, va, 8, Access::remote_atomic, why);
  if (at == nullptr) return {Refusal{wire::Nak::remote_access}};
  // An aligned remote address can still lead to odd memory when iova and address differ.
  if (reinterpret_cast<std::uintptr_t>(at) % 8 != 0) return {Refusal{wire::Nak::remote_operational}};
  const auto slot = take_slot();
  if (!slot) return {Refusal{wire::Nak::invalid_request}};

  std::atomic_ref<std::uint64_t> target(*reinterpret_cast<std::uint64_t*>(at));
  std::uint64_t original;
  if (p.info().op == wire::Op::fetch_add) {
    original = target.fetch_add(eth.swap_or_add.get(), std::memory_order_acq_rel);
  } else {
    original = eth.compare.get();
    target.compare_exchange_strong(original, eth.swap_or_add.get(), std::memory_order_acq_rel);
  }
  const Psn psn{p.psn()};
  replays_[*slot] = {psn, 1, true, eth.rkey.get(), 8, va, original};
  expected_ = psn + 1;
  msn_ = (msn_ + 1) & Psn::kMask;
  owe(qp, {AnswerKind::atomic, 0, *slot, false, psn, msn_, psn}, c);
  return {};
}

// Never executed twice: the stored result again, with the current MSN as Linux sends it.
void RcResponder::repeat_atomic(Qp& qp, const wire::RocePacket& p, Psn psn, Context& c) {
  std::uint8_t slot = 0;
  const Replay* r = find_replay(psn, slot);
  const auto& eth = *p.ext<wire::Ext::atomic_eth>();
  if (r == nullptr || !r->atomic || r->va != eth.va.get() || r->rkey != eth.rkey.get()) {
    return c.counters.add(Counter::duplicates_unanswered);
  }
  if (find_answer(slot) != nullptr) return;  // on its way already
  owe(qp, {AnswerKind::atomic, 0, slot, true, psn, msn_, psn}, c);
}

void RcResponder::send_atomic_response(Qp& qp, TxBatch& batch, const Answer& a) {
  wire::FrameWriter w(qp.frame_template(), batch.room(), wire::opcode::kAtomicAcknowledge, 0, qp.bth_numbers(a.psn));
  auto& aeth = w.ext<wire::Ext::aeth>();
  aeth.syndrome = ack_syndrome(qp);
  aeth.msn.set(a.msn);
  w.ext<wire::Ext::atomic_ack_eth>().original.set(replays_[a.slot].original);
  batch.commit(w.finish());
}

}  // namespace uroce::transport
