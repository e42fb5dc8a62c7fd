// SPDX-License-Identifier: BSD-3-Clause
// A reliable connection's queue pair as its worker sees it: what both halves share, the two halves, and the moves
// between states. Everything here belongs to one worker's thread, except the work queues' posting side and state().
#pragma once
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include <uroce/result.h>
#include <uroce/types.h>

#include "congestion/flow.h"
#include "timer/wheel.h"
#include "transport/context.h"
#include "transport/qp_state.h"
#include "transport/rc_requester.h"
#include "transport/rc_responder.h"
#include "transport/tx_batch.h"
#include "transport/work_queue.h"
#include "wire/build.h"
#include "wire/ecn.h"
#include "wire/frame.h"

namespace uroce::transport {

// What modify() sets, by QpAttrBit. P_Key index, port, alternate path and migration state have one legal value on RoCE
// and are not kept.
struct QpAttributes {
  QpState state = QpState::reset;
  AccessFlags access{};
  wire::Path path;                      // av
  bool loopback = false;                // av: the destination is one of our own addresses
  PathMtu path_mtu = PathMtu::mtu1024;
  std::uint32_t dest_qpn = 0;           // 24 bits
  std::uint32_t rq_psn = 0;             // 24 bits
  std::uint32_t sq_psn = 0;             // 24 bits
  std::uint8_t timeout = 14;            // 4.096 us * 2^timeout, 0..31; 0: no timer
  std::uint8_t retry_cnt = 7;           // 0..7
  std::uint8_t rnr_retry = 7;           // 0..7; 7: for ever
  std::uint8_t min_rnr_timer = 12;      // RNR timer code 0..31
  std::uint8_t max_rd_atomic = 16;      // 0..128, as requester
  std::uint8_t max_dest_rd_atomic = 16; // 0..128, as responder
  bool sqd_notify = false;
};

struct QpConfig {
  std::uint32_t qpn = 0;
  memory::PdNumber pd = 0;
  CompletionLane* send_lane = nullptr;
  CompletionLane* recv_lane = nullptr;
  std::uint32_t send_depth = 128;    // 1 .. kMaxQueueDepth
  std::uint32_t recv_depth = 128;
  std::uint32_t max_sges = 4;        // 1 .. kMaxSges, both queues
  std::uint32_t max_inline = 64;     // 0 .. kMaxInline
  bool signal_all = false;
  std::uint32_t window_packets = 256;  // unacknowledged PSNs, 2 .. kMaxWindow
  std::uint32_t ack_every = 0;         // AckReq at least every so many packets; 0: min(64, window / 2)
  bool send_credits = false;           // ACKs carry the receives posted instead of "none"
  const congestion::Profile* congestion = nullptr;  // outlives the queue pair; null: none
};
inline constexpr std::uint32_t kMaxWindow = 1u << 22;

class Qp {
 public:
  explicit Qp(const QpConfig& config);
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  // --- receive path -------------------------------------------------------------------------------------------
  // Whether the packet is for this connection: service, state, peer address, P_Key.
  [[nodiscard]] std::optional<wire::Drop> admit(const wire::RocePacket& p) const noexcept;
  void on_packet(const wire::RocePacket& p, Context& c) {
    if (p.ecn() == wire::Ecn::ce) on_marked(p, c);
    if (p.info().service == wire::Service::cnp) return on_cnp(c);
    p.info().request ? responder_.on_request(*this, p, c) : requester_.on_response(*this, p, c);
  }
  // --- transmit path: true when there was more than fitted -------------------------------------------------------
  bool transmit_answers(Context& c, TxBatch& batch, unsigned budget) {
    if (!path_ready) return false;
    if (flow.cnp_owed() && !send_cnp(c, batch)) return true;
    return responder_.transmit(*this, c, batch, budget);
  }
  bool transmit_requests(Context& c, TxBatch& batch, unsigned budget) {
    if (!path_ready && state() != QpState::err) return requester_.wait_for_path(*this, c), false;
    return requester_.transmit(*this, c, batch, budget);
  }
  void on_timer(Context& c) { requester_.on_timer(*this, c); }

  // --- control -------------------------------------------------------------------------------------------------
  // Errors: wrong_state, invalid_argument (missing or excess attributes, ranges); then nothing has changed.
  Result<void> modify(const QpAttributes& a, QpAttrMask mask, Context& c);
  // To the error state: everything posted completes, flushed. Answers already owed still leave when `answers_stay`.
  void enter_error(Context& c, bool answers_stay = false);
  // The application has destroyed the queue pair. Nothing completes any more; duplicates are answered for a while so
  // that the peer gets the acknowledgements it may have missed. Returns for how long, 0 when there is no need.
  base::Duration begin_linger(Context& c);
  [[nodiscard]] bool lingering() const noexcept { return lingering_; }
  // New receives and sends posted in the error state complete at once, flushed.
  void flush(Context& c);

  // --- what the halves share -----------------------------------------------------------------------------------
  [[nodiscard]] const QpConfig& config() const noexcept { return config_; }
  [[nodiscard]] std::uint32_t qpn() const noexcept { return config_.qpn; }
  [[nodiscard]] const QpAttributes& attributes() const noexcept { return attributes_; }
  [[nodiscard]] QpState state() const noexcept { return state_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t mtu() const noexcept { return mtu_; }
  [[nodiscard]] const wire::FrameTemplate& frame_template() const noexcept { return template_; }
  [[nodiscard]] wire::BthNumbers bth_numbers(Psn psn) const noexcept { return {attributes_.dest_qpn, psn.value()}; }
  void set_destination_mac(const wire::MacAddress& mac) noexcept {
    attributes_.path.destination_mac = mac;
    template_.set_destination_mac(mac);
  }
  [[nodiscard]] SendQueue& sq() noexcept { return sq_; }
  [[nodiscard]] RecvQueue& rq() noexcept { return rq_; }
  [[nodiscard]] RcRequester& requester() noexcept { return requester_; }
  [[nodiscard]] RcResponder& responder() noexcept { return responder_; }

  // Application: true when the worker must be told; false when it has been and has not looked yet.
  bool ring() noexcept { return !rung_.exchange(true, std::memory_order_acq_rel); }
  // Worker, before it looks at the queues: what is posted from now on rings again.
  void answer_ring() noexcept { rung_.exchange(false, std::memory_order_acq_rel); }
  // Whether packets go to one of our own addresses.
  [[nodiscard]] bool loops_back() const noexcept { return loops_back_; }
  // False until the destination's MAC address is known: nothing is sent, what is owed stays owed.
  bool path_ready = true;
  std::optional<wire::IpAddress> held_destination;  // the engine's, while it watches the next hop

  // Whether the flow's rate lets a frame leave; when not, the worker calls again in time.
  bool may_send(Context& c) {
    if (!flow.controlled() || flow.may_send(c.now)) return true;
    c.host.pace(*this, flow.next_send());
    return false;
  }
  // ACKs are of the connection's class, but their sender does not slow down: they don't claim to understand marks.
  void set_control_class(std::uint8_t* frame) const noexcept {
    wire::set_traffic_class(frame + template_.ip_offset(), attributes_.path.traffic_class & 0xfcu);
  }
  void sent_data(const TxBatch& batch, Context& c) {
    if (flow.controlled()) flow.sent(batch.last_length(), c.now);
  }
  congestion::Flow flow;

  // The worker's own bookkeeping: its timers and its place in the egress lists.
  timer::Node timer{this};
  timer::FineNode pacing{this};
  Qp* next_answering = nullptr;
  Qp* next_requesting = nullptr;
  bool answering = false;
  bool requesting = false;

 private:
  void on_marked(const wire::RocePacket& p, Context& c);
  void on_cnp(Context& c);
  bool send_cnp(Context& c, TxBatch& batch);
  Result<void> check_ranges(const QpAttributes& a, QpAttrMask mask) const;
  void apply(const QpAttributes& a, QpAttrMask mask);
  void set_state(QpState s) noexcept { state_.store(s, std::memory_order_relaxed); }

  std::atomic<QpState> state_{QpState::reset};
  std::atomic<bool> rung_{false};
  bool lingering_ = false;
  bool loops_back_ = false;
  std::uint32_t mtu_ = 0;
  RcRequester requester_;
  RcResponder responder_;
  SendQueue sq_;
  RecvQueue rq_;
  wire::FrameTemplate template_;
  QpConfig config_;
  QpAttributes attributes_;
};

// Here, because it is on every packet's way.
inline std::optional<wire::Drop> Qp::admit(const wire::RocePacket& p) const noexcept {
  using wire::Drop;
  const wire::OpcodeInfo& info = p.info();
  if (info.service != wire::Service::rc && info.service != wire::Service::cnp) return Drop::wrong_service;
  const QpState s = state();
  if (info.request ? !accepts_requests(s) : !accepts_responses(s)) return Drop::qp_state;
  // IBTA 10.9.3: the low 15 bits equal and not both limited members; ours is the default key, a full member.
  if ((p.bth().pkey.get() & 0x7fffu) != 0x7fffu) return Drop::pkey;
  // Constant lengths: compares of registers instead of a call.
  const std::uint8_t *expected = template_.received_addresses().data(), *seen = p.datagram().addresses().data();
  const bool v6 = template_.is_v6();
  if (p.datagram().is_v6() != v6 || std::memcmp(expected, seen, 8) != 0 ||
      (v6 && std::memcmp(expected + 8, seen + 8, 24) != 0)) {
    return Drop::wrong_address;
  }
  return std::nullopt;
}

}  // namespace uroce::transport
