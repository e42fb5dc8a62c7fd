// SPDX-License-Identifier: BSD-3-Clause
// Work requests, completions, attributes and events: the vocabulary of RDMA as IBTA and the verbs have it. Numbers are
// those of the verbs where the verbs number them. Lengths are bytes.
#pragma once
#include <uroce/flags.h>

#include <array>
#include <cstdint>
#include <span>

namespace uroce {

inline constexpr std::uint32_t kMaxMessageLength = 0x80000000;  // 2^31 bytes, one message
inline constexpr std::uint32_t kMaxSges = 16;                   // scatter/gather entries a work request
inline constexpr std::uint32_t kMaxInline = 1024;
inline constexpr std::uint32_t kMaxQueueDepth = 1u << 16;
inline constexpr std::uint32_t kMaxRdAtomic = 128;              // READs and ATOMICs outstanding a QP, each way

enum class Access : std::uint8_t {
  local_write, remote_write, remote_read, remote_atomic, mw_bind,
  zero_based,         // remote addresses count from the start of the region
  remote_invalidate,  // SEND with invalidate may kill the key
};
using AccessFlags = FlagSet<Access>;

enum class WrOpcode : std::uint8_t {
  rdma_write, rdma_write_with_imm, send, send_with_imm, rdma_read, cmp_swap, fetch_add, send_with_inv
};
enum class SendFlag : std::uint8_t { fence, signaled, solicited, inline_data };
using SendFlags = FlagSet<SendFlag>;

struct Sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;  // 0 means nothing, and the key is not looked at
  std::uint32_t lkey = 0;
};

// Immediate data as it lies in the packet: never byte-swapped.
using Immediate = std::array<std::uint8_t, 4>;

struct SendWr {
  std::uint64_t wr_id = 0;
  WrOpcode opcode = WrOpcode::send;
  SendFlags flags{};
  std::span<const Sge> sges{};  // data of SEND and WRITE; where READ and ATOMIC results go
  std::uint64_t remote_address = 0;
  std::uint32_t rkey = 0;
  Immediate immediate{};             // *_with_imm
  std::uint32_t invalidate_rkey = 0;  // send_with_inv
  std::uint64_t compare_add = 0;     // cmp_swap: compared; fetch_add: added
  std::uint64_t swap = 0;            // cmp_swap: stored when equal
};

struct RecvWr {
  std::uint64_t wr_id = 0;
  std::span<const Sge> sges{};
};

enum class WcStatus : std::uint8_t {
  success, loc_len_err, loc_qp_op_err, loc_eec_op_err, loc_prot_err, wr_flush_err, mw_bind_err, bad_resp_err,
  loc_access_err, rem_inv_req_err, rem_access_err, rem_op_err, retry_exc_err, rnr_retry_exc_err, loc_rdd_viol_err,
  rem_inv_rd_req_err, rem_abort_err, inv_eecn_err, inv_eec_state_err, fatal_err, resp_timeout_err, general_err
};
enum class WcOpcode : std::uint8_t {
  send, rdma_write, rdma_read, cmp_swap, fetch_add, bind_mw, local_inv, recv = 128, recv_rdma_with_imm = 129
};
enum class WcFlag : std::uint8_t { grh, with_imm, ip_csum_ok, with_inv };
using WcFlags = FlagSet<WcFlag>;

// On error only wr_id, status, qpn and the four diagnosis fields at the end are valid.
struct Completion {
  std::uint64_t wr_id = 0;
  WcStatus status = WcStatus::success;
  WcOpcode opcode = WcOpcode::send;
  WcFlags flags{};
  std::uint32_t byte_length = 0;
  std::uint32_t qpn = 0;
  Immediate immediate{};
  std::uint32_t invalidated_rkey = 0;
  std::uint32_t psn = 0;            // where it went wrong
  std::uint8_t syndrome = 0;        // AETH syndrome of a NAK; 0 without one
  std::uint8_t retries_used = 0;    // of the counter that mattered
  std::uint32_t last_ack_age_us = 0;  // since the peer last acknowledged anything
};

enum class QpState : std::uint8_t { reset, init, rtr, rts, sqd, sqe, err };
enum class PathMtu : std::uint8_t { mtu256 = 1, mtu512, mtu1024, mtu2048, mtu4096 };
constexpr std::uint32_t mtu_bytes(PathMtu m) noexcept { return 128u << static_cast<unsigned>(m); }

// What modify names; bit numbers as in the verbs.
enum class QpAttrBit : std::uint8_t {
  state = 0, cur_state = 1, en_sqd_async_notify = 2, access_flags = 3, pkey_index = 4, port = 5, qkey = 6, av = 7,
  path_mtu = 8, timeout = 9, retry_cnt = 10, rnr_retry = 11, rq_psn = 12, max_rd_atomic = 13, alt_path = 14,
  min_rnr_timer = 15, sq_psn = 16, max_dest_rd_atomic = 17, path_mig_state = 18, cap = 19, dest_qpn = 20
};
using QpAttrMask = FlagSet<QpAttrBit>;

enum class AsyncEventType : std::uint8_t {
  cq_err, qp_fatal, qp_req_err, qp_access_err, comm_est, sq_drained, path_mig, path_mig_err, device_fatal, port_active,
  port_err, lid_change, pkey_change, sm_change, srq_err, srq_limit_reached, qp_last_wqe_reached, client_reregister,
  gid_change
};
struct AsyncEvent {
  AsyncEventType type;
  std::uint32_t number = 0;  // QPN, CQ number or port, by type
};

// Who does the work of a device.
enum class Threading : std::uint8_t {
  single,     // one application thread makes every call; progress() does the work, without locks
  shared,     // any thread may call; progress() does the work, under a lock
  dedicated,  // a thread of the library does the work
};

// What a thread without work does: the library's own, or one that calls progress() (which never sleeps).
enum class Idle : std::uint8_t {
  spin,   // never gives the core away: lowest latency
  yield,  // lets others run after a while
  nap,    // sleeps at most 50 us at a time after a while
};

// Why a post was refused. Nothing of the refused request was taken.
enum class PostError : std::uint8_t {
  none, queue_full, too_many_sges, message_too_long, inline_too_long, bad_opcode, bad_state
};

const char* to_string(PostError e) noexcept;
const char* to_string(WcStatus s) noexcept;
const char* to_string(QpState s) noexcept;
const char* to_string(AsyncEventType t) noexcept;

}  // namespace uroce
