// SPDX-License-Identifier: BSD-3-Clause
#include "sim/peer.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace uroce::sim {
namespace {

transport::QpConfig make_config(std::uint32_t number, const Scenario& s, const congestion::Profile& congestion,
                                transport::CompletionLane& send, transport::CompletionLane& recv) {
  transport::QpConfig c;
  c.qpn = 0x100 + number * 0x1011;  // over several pages of the table
  c.pd = number + 1;
  c.send_lane = &send;
  c.recv_lane = &recv;
  c.send_depth = c.recv_depth = s.depth;
  c.max_sges = 4;
  c.max_inline = 128;
  c.window_packets = s.window_packets;
  c.send_credits = s.credits;
  c.congestion = &congestion;
  return c;
}

std::uint32_t lane_slots(const Scenario& s) { return std::bit_ceil(4 * s.depth); }

wire::IpAddress address(std::uint32_t host, bool v6) {
  const auto h = static_cast<std::uint8_t>(host + 1);
  if (!v6) return wire::IpAddress::v4(10, 0, 0, h);
  return {{0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, h}};
}

}  // namespace

Peer::Peer(Host& host, std::uint32_t host_number, std::uint32_t number, const Scenario& s,
           const congestion::Profile& congestion, std::uint64_t seed, std::string& failure)
    : host_(host),
      host_number_(host_number),
      number_(number),
      scenario_(s),
      rng_(seed),
      failure_(failure),
      send_slots_(lane_slots(s)),
      recv_slots_(lane_slots(s)),
      qp_(make_config(number, s, congestion, send_lane_, recv_lane_)),
      remote_(2 * s.max_message),
      // Data to send, a sink for each outstanding request (twice, as unsignaled ones are looked at late), receives.
      local_(std::size_t{s.max_message} * (1 + 2 * s.depth + s.depth) + 8),
      model_(s.max_message) {
  send_lane_.init(send_slots_.data(), lane_slots(s), lane_slots(s), 2 * number);
  recv_lane_.init(recv_slots_.data(), lane_slots(s), lane_slots(s), 2 * number + 1);
  for (std::uint32_t i = area(); i < 2 * area(); ++i) remote_[i] = static_cast<std::uint8_t>(rng_.next());
  for (std::uint32_t i = 0; i < area(); ++i) local_[i] = static_cast<std::uint8_t>(rng_.next());
  using A = Access;
  auto& m = host_.memory();
  const auto pd = qp_.config().pd;
  remote_key_ = m.register_region({remote_.data(), remote_.size(), iova(), {A::local_write, A::remote_write, A::remote_read}, pd}).value();
  counter_key_ = m.register_region({reinterpret_cast<std::uint8_t*>(counters_), sizeof(counters_), iova() + 0x6000'0000,
                                    {A::local_write, A::remote_atomic}, pd}).value();
  local_key_ = m.register_region({local_.data(), local_.size(), local_iova(), A::local_write, pd}).value();
  for (int i = 0; i < 4; ++i) {
    spare_keys_.push_back(m.register_region({remote_.data(), remote_.size(), iova(), {A::remote_read, A::remote_invalidate}, pd}).value());
  }
  host_.worker().add(qp_);
}

void Peer::connect(Peer& a, Peer& b) {
  const auto up = [](Peer& me, Peer& it) {
    const Scenario& s = me.scenario_;
    using B = QpAttrBit;
    transport::QpAttributes q;
    q.access = {Access::remote_write, Access::remote_read, Access::remote_atomic};
    q.path.source_mac = me.host_.port().mac();
    q.path.destination_mac = it.host_.port().mac();
    q.path.source = address(me.host_number_, s.ipv6);
    q.path.destination = address(it.host_number_, s.ipv6);
    q.path_mtu = static_cast<PathMtu>(s.path_mtu_code);
    q.dest_qpn = it.qp_.qpn();
    q.sq_psn = s.first_psn + me.number_ * 7919;
    q.rq_psn = s.first_psn + it.number_ * 7919;
    q.timeout = static_cast<std::uint8_t>(s.timeout_code);
    q.retry_cnt = q.rnr_retry = 7;
    q.min_rnr_timer = 3;
    q.max_rd_atomic = q.max_dest_rd_atomic = static_cast<std::uint8_t>(s.max_rd_atomic);
    const auto go = [&](QpState to, QpAttrMask mask) {
      q.state = to;
      const auto r = me.host_.worker().modify(me.qp_, q, mask | B::state, me.host_.now());
      if (!r) me.fail(r.error().message);
    };
    go(QpState::init, {B::pkey_index, B::port, B::access_flags});
    go(QpState::rtr, {B::av, B::path_mtu, B::dest_qpn, B::rq_psn, B::max_dest_rd_atomic, B::min_rnr_timer});
    go(QpState::rts, {B::timeout, B::retry_cnt, B::rnr_retry, B::sq_psn, B::max_rd_atomic});
  };
  a.other_ = &b;
  b.other_ = &a;
  up(a, b);
  up(b, a);
}

void Peer::fail(const std::string& what) {
  if (failure_.empty()) failure_ = "qp " + std::to_string(qp_.qpn()) + ": " + what;
}

std::string Peer::describe() const {
  return "qp " + std::to_string(qp_.config().qpn) + ": posted " + std::to_string(posted_) + ", unfinished " +
         std::to_string(expected_.size()) + ", to arrive " + std::to_string(arriving_.size()) + ", receives " +
         std::to_string(receives_.size());
}

bool Peer::turn() {
  if (!failure_.empty()) return false;
  bool any = poll_sends();
  any |= poll_receives();
  any |= post_receives();
  for (int i = 0; i < 8 && post_request(); ++i) any = true;
  return any;
}

bool Peer::poll_sends() {
  transport::LaneEntry entry;
  bool any = false;
  while (send_lane_.pop(entry)) {
    any = true;
    const Completion& w = entry.completion;
    if (w.status != WcStatus::success) {
      fail(std::string("request ended in ") + to_string(w.status) + " at psn " + std::to_string(w.psn) + " syndrome " +
           std::to_string(w.syndrome));
      return false;
    }
    for (;;) {
      if (expected_.empty()) return fail("a completion too many"), false;
      const Expected e = std::move(expected_.front());
      expected_.pop_front();
      if (!e.result.empty() && std::memcmp(local_.data() + e.sink, e.result.data(), e.result.size()) != 0) {
        return fail("READ or ATOMIC " + std::to_string(e.wr_id) + " of " + std::to_string(e.length) + " brought wrong bytes"), false;
      }
      if (e.wr_id == w.wr_id) {
        if (!e.signaled || e.opcode != w.opcode) return fail("completion of another kind than posted"), false;
        break;
      }
      if (e.signaled) return fail("request " + std::to_string(e.wr_id) + " never completed"), false;
    }
  }
  return any;
}

bool Peer::poll_receives() {
  transport::LaneEntry entry;
  bool any = false;
  while (recv_lane_.pop(entry)) {
    any = true;
    const Completion& w = entry.completion;
    if (w.status != WcStatus::success) return fail(std::string("receive ended in ") + to_string(w.status)), false;
    if (arriving_.empty() || receives_.empty()) return fail("a receive too many"), false;
    const Message m = std::move(arriving_.front());
    arriving_.pop_front();
    const Receive r = receives_.front();
    receives_.pop_front();
    const bool imm_right = w.flags.has(WcFlag::with_imm) == m.with_imm && (!m.with_imm || w.immediate == m.immediate);
    const bool inv_right = w.flags.has(WcFlag::with_inv) == m.with_inv && (!m.with_inv || w.invalidated_rkey == m.key);
    if (w.wr_id != r.wr_id || w.opcode != m.opcode || !imm_right || !inv_right || w.byte_length != m.data.size()) {
      return fail("receive " + std::to_string(r.wr_id) + " does not match its message"), false;
    }
    if (m.opcode == WcOpcode::recv && !m.data.empty() &&
        std::memcmp(local_.data() + r.buffer, m.data.data(), m.data.size()) != 0) {
      return fail("receive " + std::to_string(r.wr_id) + " has wrong bytes"), false;
    }
  }
  return any;
}

bool Peer::post_receives() {
  bool any = false;
  while (receives_.size() < scenario_.depth) {
    if (scenario_.slow_receiver && rng_.below(3) == 0) break;
    const std::uint64_t buffer = std::uint64_t{area()} * (1 + 2 * scenario_.depth + receives_posted_ % scenario_.depth);
    // One piece or three, one of them empty with a key that means nothing.
    const std::uint64_t at = local_iova() + buffer;
    const std::uint32_t cut = rng_.below(area() + 1);
    const Sge pieces[] = {{at, cut, local_key_}, {0xdead, 0, 0xbeef}, {at + cut, area() - cut, local_key_}};
    const Sge whole[] = {{at, area(), local_key_}};
    const RecvWr wr{receives_posted_, rng_.below(2) == 0 ? std::span<const Sge>(pieces) : std::span<const Sge>(whole)};
    if (qp_.rq().post(wr) != transport::PostError::none) break;
    receives_.push_back({receives_posted_++, buffer});
    any = true;
  }
  return any;
}

std::uint32_t Peer::draw_length() {
  const std::uint32_t mtu = qp_.mtu();
  std::uint32_t n = 0;
  switch (rng_.below(6)) {
    case 0: n = rng_.below(4); break;
    case 1: n = rng_.below(130); break;
    case 2: n = mtu * rng_.below(4); break;
    case 3: n = mtu * (1 + rng_.below(3)) + rng_.below(3) - 1; break;
    default: n = rng_.below(area() + 1); break;
  }
  return std::min(n, area());
}

// Bytes from the static part of local_, in one to three pieces.
Peer::Bytes Peer::draw_data(std::uint32_t length, bool inlined, std::vector<Sge>& sges) {
  Bytes data;
  std::uint32_t left = length;
  const std::uint32_t count = 1 + rng_.below(3);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t n = i + 1 == count ? left : rng_.below(left + 1);
    const std::uint32_t offset = rng_.below(area() - n + 1);
    sges.push_back({inlined ? reinterpret_cast<std::uint64_t>(local_.data()) + offset : local_iova() + offset, n,
                    inlined || n == 0 ? 0x12345678 : local_key_});
    data.insert(data.end(), local_.begin() + offset, local_.begin() + offset + n);
    left -= n;
  }
  return data;
}

bool Peer::post_request() {
  if (posted_ == scenario_.operations || expected_.size() >= 2 * scenario_.depth || !qp_.sq().ring().has_room()) return false;
  SendWr wr;
  std::vector<Sge> sges;
  Expected e{posted_, false, WcOpcode::send, 0, {}, 0};
  // The last one and every fourth are signaled, so that nothing waits unseen; and whatever fills the queue.
  e.signaled = posted_ % 4 == 3 || posted_ + 1 == scenario_.operations || scenario_.depth < 8 || rng_.below(2) == 0;
  e.sink = std::uint64_t{area()} * (1 + posted_ % (2 * scenario_.depth));
  wr.wr_id = posted_;
  if (e.signaled) wr.flags |= SendFlag::signaled;
  if (rng_.below(8) == 0) wr.flags |= SendFlag::fence;
  if (rng_.below(4) == 0) wr.flags |= SendFlag::solicited;
  static constexpr WrOpcode kOpcodes[] = {
      WrOpcode::send,      WrOpcode::send_with_imm, WrOpcode::send_with_inv, WrOpcode::rdma_write, WrOpcode::rdma_write,
      WrOpcode::rdma_write_with_imm, WrOpcode::rdma_read, WrOpcode::rdma_read, WrOpcode::cmp_swap, WrOpcode::fetch_add};
  wr.opcode = kOpcodes[rng_.below(std::size(kOpcodes))];
  if (wr.opcode == WrOpcode::send_with_inv && other_->spare_keys_.empty()) wr.opcode = WrOpcode::send;
  switch (wr.opcode) {
    case WrOpcode::rdma_read: post_read(wr, sges, e); break;
    case WrOpcode::cmp_swap:
    case WrOpcode::fetch_add: post_atomic(wr, sges, e); break;
    case WrOpcode::rdma_write:
    case WrOpcode::rdma_write_with_imm: post_data(wr, WcOpcode::rdma_write, sges, e); break;
    default: post_data(wr, WcOpcode::send, sges, e); break;
  }
  wr.sges = sges;
  if (const auto error = qp_.sq().post(wr); error != transport::PostError::none) {
    return fail("post refused: " + std::to_string(static_cast<int>(error))), false;
  }
  ++posted_;
  expected_.push_back(std::move(e));
  host_.worker().ring_doorbell(qp_);
  return true;
}

void Peer::post_data(SendWr& wr, WcOpcode opcode, std::vector<Sge>& sges, Expected& e) {
  const std::uint32_t length = draw_length();
  const bool inlined = length <= qp_.config().max_inline && rng_.below(3) == 0;
  if (inlined) wr.flags |= SendFlag::inline_data;
  Bytes data = draw_data(length, inlined, sges);
  e.opcode = opcode;
  e.length = length;
  for (auto& b : wr.immediate) b = static_cast<std::uint8_t>(rng_.next());
  if (opcode == WcOpcode::rdma_write) {
    const std::uint32_t offset = rng_.below(area() - length + 1);
    if (read_of_target_open_) wr.flags |= SendFlag::fence;
    // C9-88: a WRITE of nothing needs no key.
    wr.remote_address = length == 0 ? 0xdead : other_->iova() + offset;
    wr.rkey = length == 0 ? 0xbeef : other_->remote_key_;
    std::copy(data.begin(), data.end(), model_.begin() + offset);
  }
  if (wr.flags.has(SendFlag::fence)) read_of_target_open_ = false;
  Message m{std::move(data), opcode == WcOpcode::send ? WcOpcode::recv : WcOpcode::recv_rdma_with_imm};
  if (wr.opcode == WrOpcode::send_with_inv) {
    m.with_inv = true;
    m.key = wr.invalidate_rkey = other_->spare_keys_.back();
    other_->spare_keys_.pop_back();
  } else if (wr.opcode != WrOpcode::send && wr.opcode != WrOpcode::rdma_write) {
    m.with_imm = true;
    m.immediate = wr.immediate;
  }
  if (wr.opcode != WrOpcode::rdma_write) other_->arriving_.push_back(std::move(m));
}

void Peer::post_read(SendWr& wr, std::vector<Sge>& sges, Expected& e) {
  const std::uint32_t length = draw_length();
  const std::uint32_t offset = rng_.below(area() - length + 1);
  const bool of_target = rng_.below(3) == 0;
  wr.remote_address = other_->iova() + offset + (of_target ? 0 : area());
  wr.rkey = other_->remote_key_;
  const Bytes& from = of_target ? model_ : other_->remote_;
  const std::uint32_t start = offset + (of_target ? 0 : area());
  e.result.assign(from.begin() + start, from.begin() + start + length);
  if (wr.flags.has(SendFlag::fence)) read_of_target_open_ = false;
  read_of_target_open_ |= of_target;
  const std::uint32_t cut = rng_.below(length + 1);
  sges = {{local_iova() + e.sink, cut, local_key_}, {local_iova() + e.sink + cut, length - cut, local_key_}};
  e.opcode = WcOpcode::rdma_read;
  e.length = length;
}

void Peer::post_atomic(SendWr& wr, std::vector<Sge>& sges, Expected& e) {
  const std::uint32_t which = rng_.below(kCounters);
  std::uint64_t& counter = model_counters_[which];
  wr.remote_address = other_->iova() + 0x6000'0000 + which * 8;
  wr.rkey = other_->counter_key_;
  e.result.resize(8);
  std::memcpy(e.result.data(), &counter, 8);
  e.length = 8;
  if (wr.flags.has(SendFlag::fence)) read_of_target_open_ = false;
  if (wr.opcode == WrOpcode::fetch_add) {
    e.opcode = WcOpcode::fetch_add;
    wr.compare_add = rng_.next();
    counter += wr.compare_add;
  } else {
    e.opcode = WcOpcode::cmp_swap;
    wr.compare_add = rng_.below(2) == 0 ? counter : rng_.next();
    wr.swap = rng_.next();
    if (wr.compare_add == counter) counter = wr.swap;
  }
  sges = {{local_iova() + e.sink, 8, local_key_}};
}

void Peer::check_memory() {
  if (std::memcmp(other_->remote_.data(), model_.data(), model_.size()) != 0) return fail("the peer's memory differs from the model");
  if (std::memcmp(other_->counters_, model_counters_, sizeof(model_counters_)) != 0) return fail("the peer's counters differ from the model");
  if (!arriving_.empty()) return fail("messages never arrived");
  transport::LaneEntry extra;
  if (send_lane_.pop(extra) || recv_lane_.pop(extra)) return fail("a completion after the end");
  for (const auto& event : host_.async_events) {
    if (event.type != AsyncEventType::comm_est) return fail(std::string("unexpected event ") + to_string(event.type));
  }
}

}  // namespace uroce::sim
