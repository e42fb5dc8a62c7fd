// SPDX-License-Identifier: BSD-3-Clause
// The allocating half of a queue pair: creation and moves between states.
#include <algorithm>
#include <bit>
#include <string>

#include "transport/qp.h"
#include "transport/qp_state.h"

namespace uroce::transport {
namespace {

std::string list_bits(QpAttrMask mask) {
  static constexpr const char* kNames[] = {
      "state", "cur_state", "en_sqd_async_notify", "access_flags", "pkey_index", "port", "qkey", "av", "path_mtu",
      "timeout", "retry_cnt", "rnr_retry", "rq_psn", "max_rd_atomic", "alt_path", "min_rnr_timer", "sq_psn",
      "max_dest_rd_atomic", "path_mig_state", "cap", "dest_qpn"};
  std::string out;
  for (unsigned i = 0; i < 32; ++i) {
    if (!mask.has(static_cast<QpAttrBit>(i))) continue;
    out += (out.empty() ? "" : ", ") + (i < std::size(kNames) ? std::string(kNames[i]) : "bit " + std::to_string(i));
  }
  return out;
}

}  // namespace

Qp::Qp(const QpConfig& config)
    : sq_(config.send_depth, config.max_sges, config.max_inline),
      rq_(config.recv_depth, config.max_sges),
      config_(config) {
  UROCE_ASSERT(config.max_sges >= 1 && config.max_sges <= kMaxSges && config.max_inline <= kMaxInline);
  UROCE_ASSERT(config.window_packets >= 2 && config.window_packets <= kMaxWindow);
  if (config.ack_every == 0) config_.ack_every = std::min(64u, config.window_packets / 2);
}

Result<void> Qp::check_ranges(const QpAttributes& a, QpAttrMask mask) const {
  using B = QpAttrBit;
  const auto bad = [&](const char* what, std::uint64_t value, const char* allowed) {
    return fail(ErrorCode::invalid_argument, "qp " + std::to_string(qpn()) + ": " + what + " " + std::to_string(value) +
                                                 " is not in " + allowed);
  };
  if (mask.has(B::path_mtu) && (a.path_mtu < PathMtu::mtu256 || a.path_mtu > PathMtu::mtu4096)) {
    return bad("path_mtu code", static_cast<unsigned>(a.path_mtu), "1 (256 bytes) .. 5 (4096 bytes)");
  }
  if (mask.has(B::dest_qpn) && a.dest_qpn > wire::kMaxQpn) return bad("dest_qpn", a.dest_qpn, "0 .. 16777215");
  if (mask.has(B::timeout) && a.timeout > 31) return bad("timeout code", a.timeout, "0 .. 31");
  if (mask.has(B::retry_cnt) && a.retry_cnt > 7) return bad("retry_cnt", a.retry_cnt, "0 .. 7");
  if (mask.has(B::rnr_retry) && a.rnr_retry > 7) return bad("rnr_retry", a.rnr_retry, "0 .. 7");
  if (mask.has(B::min_rnr_timer) && a.min_rnr_timer > 31) return bad("min_rnr_timer code", a.min_rnr_timer, "0 .. 31");
  if (mask.has(B::max_rd_atomic) && a.max_rd_atomic > kMaxRdAtomic) return bad("max_rd_atomic", a.max_rd_atomic, "0 .. 128");
  if (mask.has(B::max_dest_rd_atomic) && a.max_dest_rd_atomic > kMaxRdAtomic) {
    return bad("max_dest_rd_atomic", a.max_dest_rd_atomic, "0 .. 128");
  }
  if (mask.has(B::av) && a.path.source.is_v4() != a.path.destination.is_v4()) {
    return fail(ErrorCode::invalid_argument,
                "qp " + std::to_string(qpn()) + ": source and destination are of different IP versions");
  }
  return {};
}

Result<void> Qp::modify(const QpAttributes& a, QpAttrMask mask, Context& c) {
  using B = QpAttrBit;
  const QpState from = state(), to = mask.has(B::state) ? a.state : from;
  const std::string move = "qp " + std::to_string(qpn()) + ": " + to_string(from) + " to " + to_string(to);
  const QpTransition* t = find_transition(kRcTransitions, from, to);
  if (t == nullptr) return fail(ErrorCode::wrong_state, move + " is not a legal transition of a reliable connection");
  const QpAttrMask given = mask - B::state;
  if (!given.contains(t->required)) {
    return fail(ErrorCode::invalid_argument, move + ": missing " + list_bits(t->required - given));
  }
  if (!(t->required | t->optional).contains(given)) {
    return fail(ErrorCode::invalid_argument,
                move + ": not allowed here: " + list_bits(given - (t->required | t->optional)));
  }
  if (auto r = check_ranges(a, mask); !r) return r;

  if (to == QpState::err) return enter_error(c), Result<void>{};
  if (to == QpState::reset) {
    // Everything posted vanishes without completions.
    sq_.ring().set_head(sq_.ring().tail());
    rq_.clear();
    requester_.reset(Psn{}, sq_.ring().tail(), c.now);
    responder_.reset(Psn{}, 0);
    attributes_ = QpAttributes{};
    set_state(to);
    return {};
  }
  apply(a, mask);
  set_state(to);
  if (from == QpState::sqd && mask.has(B::max_dest_rd_atomic)) responder_.resize(attributes_.max_dest_rd_atomic);
  if (to == QpState::rtr && config_.congestion != nullptr) flow.start(*config_.congestion, c.now);
  if (to == QpState::rtr) responder_.reset(Psn(attributes_.rq_psn), attributes_.max_dest_rd_atomic);
  if (from == QpState::rtr && to == QpState::rts) requester_.reset(Psn(attributes_.sq_psn), sq_.ring().head(), c.now);
  if (mask.has(B::retry_cnt) || mask.has(B::rnr_retry)) {
    requester_.set_counters(attributes_.retry_cnt, attributes_.rnr_retry);
  }
  if (from == QpState::rts && to == QpState::sqd) {
    attributes_.sqd_notify = mask.has(B::en_sqd_async_notify) && a.sqd_notify;
    requester_.arm_drain();
    requester_.check_drained(*this, c);
  }
  if (to == QpState::rts) c.host.enlist_requests(*this);
  return {};
}

void Qp::apply(const QpAttributes& a, QpAttrMask mask) {
  using B = QpAttrBit;
  QpAttributes& mine = attributes_;
  if (mask.has(B::access_flags)) mine.access = a.access;
  if (mask.has(B::av)) {
    mine.path = a.path;
    loops_back_ = a.loopback || a.path.destination == a.path.source;
    if (config_.congestion != nullptr && config_.congestion->algorithm != nullptr) {
      mine.path.traffic_class = static_cast<std::uint8_t>((a.path.traffic_class & ~3u) | static_cast<unsigned>(wire::Ecn::ect0));
    }
    template_ = wire::FrameTemplate(mine.path);
  }
  if (mask.has(B::path_mtu)) {
    mine.path_mtu = a.path_mtu;
    mtu_ = mtu_bytes(a.path_mtu);
  }
  if (mask.has(B::dest_qpn)) mine.dest_qpn = a.dest_qpn;
  if (mask.has(B::rq_psn)) mine.rq_psn = a.rq_psn & Psn::kMask;
  if (mask.has(B::sq_psn)) mine.sq_psn = a.sq_psn & Psn::kMask;
  if (mask.has(B::timeout)) mine.timeout = a.timeout;
  if (mask.has(B::retry_cnt)) mine.retry_cnt = a.retry_cnt;
  if (mask.has(B::rnr_retry)) mine.rnr_retry = a.rnr_retry;
  if (mask.has(B::min_rnr_timer)) mine.min_rnr_timer = a.min_rnr_timer;
  if (mask.has(B::max_rd_atomic)) mine.max_rd_atomic = a.max_rd_atomic;
  if (mask.has(B::max_dest_rd_atomic)) mine.max_dest_rd_atomic = a.max_dest_rd_atomic;
}

// An answer for each slot, the ACKs between them, and one NAK.
void RcResponder::reset(Psn expected, std::uint32_t max_dest_rd_atomic) {
  *this = RcResponder{};
  expected_ = expected;
  replay_count_ = max_dest_rd_atomic;
  replays_ = std::make_unique<Replay[]>(max_dest_rd_atomic);
  const std::uint32_t answers = std::bit_ceil(2 * max_dest_rd_atomic + 4);
  answers_ = std::make_unique<Answer[]>(answers);
  answer_mask_ = answers - 1;
}

void RcResponder::resize(std::uint32_t max_dest_rd_atomic) {
  RcResponder fresh;
  fresh.reset(expected_, max_dest_rd_atomic);
  const std::uint32_t kept = std::min(replay_count_, max_dest_rd_atomic);
  // Oldest of the kept first: slot `replay_next_` is the oldest of all.
  for (std::uint32_t i = 0; i < kept; ++i) {
    fresh.replays_[i] = replays_[(replay_next_ + replay_count_ - kept + i) % replay_count_];
  }
  fresh.replay_next_ = max_dest_rd_atomic == 0 ? 0 : kept % max_dest_rd_atomic;
  const std::uint32_t dropped = replay_count_ - kept;
  for (std::uint32_t i = answer_head_; i != answer_tail_; ++i) {
    Answer a = answer(i);
    if (a.kind == AnswerKind::read || a.kind == AnswerKind::atomic) {
      const std::uint32_t age = (a.slot + replay_count_ - replay_next_) % replay_count_;  // 0: oldest
      if (age < dropped) continue;  // the peer asks again, and gets no answer: it was told of the smaller number
      a.slot = static_cast<std::uint8_t>(age - dropped);
    }
    // What stood between two acknowledgements may be gone: they become one, or the queue would not hold them.
    Answer* last = fresh.last_answer();
    if (last != nullptr && acknowledges(*last) && acknowledges(a)) {
      if (!says_as_much(*last, a)) *last = a;
    } else {
      fresh.answer(fresh.answer_tail_++) = a;
    }
  }
  replays_ = std::move(fresh.replays_);
  answers_ = std::move(fresh.answers_);
  replay_count_ = fresh.replay_count_;
  replay_next_ = fresh.replay_next_;
  answer_mask_ = fresh.answer_mask_;
  answer_head_ = fresh.answer_head_;
  answer_tail_ = fresh.answer_tail_;
}

}  // namespace uroce::transport
