// SPDX-License-Identifier: BSD-3-Clause
// The life of a queue pair: which moves exist and which attributes each must and may carry (IBTA 10.3.1 and 11.2.5.2;
// the same table as the verbs' ibv_modify_qp). Rows for RC; other services add theirs.
#pragma once
#include <span>

#include <uroce/types.h>

namespace uroce::transport {

struct QpTransition {
  QpState from, to;
  QpAttrMask required, optional;
};

namespace detail {
using A = QpAttrBit;
inline constexpr QpAttrMask kInit{A::pkey_index, A::port, A::access_flags};
inline constexpr QpAttrMask kToRtsOptional{A::cur_state, A::alt_path, A::access_flags, A::min_rnr_timer,
                                           A::path_mig_state};
inline constexpr QpTransition kRcTransitions[] = {
    {QpState::reset, QpState::init, kInit, {}},
    {QpState::init, QpState::init, {}, kInit},
    {QpState::init, QpState::rtr,
     {A::av, A::path_mtu, A::dest_qpn, A::rq_psn, A::max_dest_rd_atomic, A::min_rnr_timer},
     {A::alt_path, A::access_flags, A::pkey_index}},
    {QpState::rtr, QpState::rts, {A::timeout, A::retry_cnt, A::rnr_retry, A::sq_psn, A::max_rd_atomic}, kToRtsOptional},
    {QpState::rts, QpState::rts, {}, kToRtsOptional},
    {QpState::rts, QpState::sqd, {}, A::en_sqd_async_notify},
    {QpState::sqd, QpState::rts, {}, kToRtsOptional},
    {QpState::sqd, QpState::sqd, {},
     {A::port, A::av, A::timeout, A::retry_cnt, A::rnr_retry, A::max_rd_atomic, A::max_dest_rd_atomic, A::alt_path,
      A::access_flags, A::pkey_index, A::min_rnr_timer, A::path_mig_state}},
    {QpState::init, QpState::err, {}, {}},
    {QpState::rtr, QpState::err, {}, {}},
    {QpState::rts, QpState::err, {}, {}},
    {QpState::sqd, QpState::err, {}, {}},
    {QpState::sqe, QpState::err, {}, {}},  // RC never enters SQE; any state may be left for ERR and RESET all the same
    {QpState::err, QpState::err, {}, {}},
    {QpState::reset, QpState::reset, {}, {}},
    {QpState::init, QpState::reset, {}, {}},
    {QpState::rtr, QpState::reset, {}, {}},
    {QpState::rts, QpState::reset, {}, {}},
    {QpState::sqd, QpState::reset, {}, {}},
    {QpState::sqe, QpState::reset, {}, {}},
    {QpState::err, QpState::reset, {}, {}},
};
}  // namespace detail

inline constexpr std::span<const QpTransition> kRcTransitions{detail::kRcTransitions};

// nullptr when there is no such move.
constexpr const QpTransition* find_transition(std::span<const QpTransition> table, QpState from, QpState to) noexcept {
  for (const QpTransition& t : table) {
    if (t.from == from && t.to == to) return &t;
  }
  return nullptr;
}

// What a state allows.
constexpr bool may_post_recv(QpState s) noexcept { return s != QpState::reset; }
constexpr bool may_post_send(QpState s) noexcept {
  return s == QpState::rts || s == QpState::sqd || s == QpState::sqe || s == QpState::err;
}
constexpr bool accepts_requests(QpState s) noexcept {
  return s == QpState::rtr || s == QpState::rts || s == QpState::sqd || s == QpState::sqe;
}
constexpr bool accepts_responses(QpState s) noexcept { return s == QpState::rts || s == QpState::sqd; }

}  // namespace uroce::transport
