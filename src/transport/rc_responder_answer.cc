// SPDX-License-Identifier: BSD-3-Clause
// The answers a responder owes, in request order.
#include "transport/qp.h"
#include "transport/rc_responder.h"

namespace uroce::transport {

void RcResponder::owe(Qp& qp, const Answer& a, Context& c) {
  Answer* last = last_answer();
  // An answer with a later PSN acknowledges what came before it, so an ACK right before it need not leave; nor need a
  // NAK whose gap has just been filled.
  if (!a.again && last != nullptr && (last->kind == AnswerKind::ack || last->kind == AnswerKind::soft_nak)) {
    *last = a;
  } else {
    UROCE_DASSERT(answer_tail_ - answer_head_ <= answer_mask_);
    answer(answer_tail_++) = a;
  }
  c.host.enlist_answers(qp);
}

// `progress`: a new request was executed; otherwise a duplicate is told again where we stand.
void RcResponder::owe_ack(Qp& qp, Context& c, bool progress) {
  const Answer a{AnswerKind::ack, 0, 0, false, expected_ - 1, msn_, {}};
  Answer* last = last_answer();
  if (last != nullptr && last->kind == AnswerKind::ack) {
    *last = a;
  } else if (last != nullptr && last->kind == AnswerKind::soft_nak) {
    if (progress) *last = a;  // what the NAK asked for has come; else the NAK says all that an ACK would
  } else {
    owe(qp, a, c);
  }
}

void RcResponder::owe_nak(Qp& qp, AnswerKind kind, std::uint8_t syndrome, Psn psn, Context& c) {
  owe(qp, {kind, syndrome, 0, false, psn, msn_, {}}, c);
}

std::optional<std::uint8_t> RcResponder::take_slot() noexcept {
  if (replay_count_ == 0) return std::nullopt;
  const auto slot = static_cast<std::uint8_t>(replay_next_);
  if (const Answer* pending = find_answer(slot)) {
    // The peer asks for more although this was never answered: it has too many outstanding. An answer to a duplicate is
    // no such sign, and gives way.
    if (!pending->again) return std::nullopt;
    withdraw(*pending);
  }
  replay_next_ = replay_next_ + 1 == replay_count_ ? 0 : replay_next_ + 1;
  return slot;
}

// Takes an answer out of the queue. Of two acknowledgements that become neighbours one stays, so that the queue holds at
// most an answer a slot, an acknowledgement between each two, and a NAK.
void RcResponder::withdraw(const Answer& gone) noexcept {
  std::uint32_t at = answer_head_;
  while (&answer(at) != &gone) ++at;
  const auto erase = [this](std::uint32_t i) {
    for (; i + 1 != answer_tail_; ++i) answer(i) = answer(i + 1);
    --answer_tail_;
  };
  erase(at);
  if (at == answer_head_ || at == answer_tail_) return;
  const Answer &older = answer(at - 1), &newer = answer(at);
  if (!acknowledges(older) || !acknowledges(newer)) return;
  erase(says_as_much(older, newer) ? at : at - 1);
}

// Newest first: PSNs come round, and an old request must not stand for a new one.
RcResponder::Replay* RcResponder::find_replay(Psn psn, std::uint8_t& slot) noexcept {
  for (std::uint32_t i = 0, at = replay_next_; i < replay_count_; ++i) {
    at = at == 0 ? replay_count_ - 1 : at - 1;
    Replay& r = replays_[at];
    if (r.count != 0 && count_between(r.first, psn) < r.count) return slot = static_cast<std::uint8_t>(at), &r;
  }
  return nullptr;
}

RcResponder::Answer* RcResponder::find_answer(std::uint8_t slot) noexcept {
  for (std::uint32_t i = answer_head_; i != answer_tail_; ++i) {
    Answer& a = answer(i);
    if ((a.kind == AnswerKind::read || a.kind == AnswerKind::atomic) && a.slot == slot) return &a;
  }
  return nullptr;
}

bool RcResponder::transmit(Qp& qp, Context& c, TxBatch& batch, unsigned budget) {
  while (owes()) {
    if (budget == 0 || batch.full()) return true;
    Answer& a = answer(answer_head_);
    bool done = true;
    switch (a.kind) {
      case AnswerKind::read: {
        if (!qp.may_send(c)) return false;
        const std::size_t before = batch.used();
        done = send_read_response(qp, c, batch, a);
        if (batch.used() != before) qp.sent_data(batch, c);
        break;
      }
      case AnswerKind::atomic:
        send_atomic_response(qp, batch, a);
        c.counters.add(Counter::tx_packets);
        break;
      default:
        send_acknowledge(qp, batch, a);
        c.counters.add(Counter::tx_packets);
        break;
    }
    if (done) ++answer_head_;
    --budget;
  }
  return false;
}

void RcResponder::send_acknowledge(Qp& qp, TxBatch& batch, const Answer& a) {
  wire::FrameWriter w(qp.frame_template(), batch.room(), wire::opcode::kAcknowledge, 0, qp.bth_numbers(a.psn));
  auto& aeth = w.ext<wire::Ext::aeth>();
  aeth.syndrome = a.kind == AnswerKind::ack ? ack_syndrome(qp) : a.syndrome;
  aeth.msn.set(a.msn);
  std::uint8_t* const frame = batch.room();
  batch.commit(w.finish());
  if (qp.flow.controlled()) qp.set_control_class(frame);
}

std::uint8_t RcResponder::ack_syndrome(Qp& qp) const noexcept {
  return qp.config().send_credits ? wire::credit_code(qp.rq().size()) : wire::kNoCredits;
}

}  // namespace uroce::transport
