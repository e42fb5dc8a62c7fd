// SPDX-License-Identifier: BSD-3-Clause
#include "world.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "args.h"

namespace uroce::script {
namespace {

constexpr base::Instant kStart{1'000'000'000};  // not 0: an age counted from the clock's start would show

// `s` is the world's own.
transport::QpConfig make_config(const Options& s, transport::CompletionLane& send, transport::CompletionLane& recv) {
  transport::QpConfig c;
  c.qpn = World::kQpn;
  c.pd = World::kPd;
  c.send_lane = &send;
  c.recv_lane = s.shared_cq ? &send : &recv;
  c.send_depth = s.send_depth;
  c.recv_depth = s.recv_depth;
  c.max_sges = kMaxSges;
  c.max_inline = 256;
  c.signal_all = s.signal_all;
  c.window_packets = s.window;
  c.send_credits = s.credits;
  c.congestion = &s.congestion;
  return c;
}

PathMtu mtu_code(std::uint32_t bytes) {
  for (unsigned code = 1; code <= 5; ++code) {
    if (mtu_bytes(static_cast<PathMtu>(code)) == bytes) return static_cast<PathMtu>(code);
  }
  throw ScriptError("mtu " + std::to_string(bytes) + " is not 256, 512, 1024, 2048 or 4096");
}

}  // namespace

ScriptedPort::ScriptedPort() {
  for (int i = 0; i < 64; ++i) {
    buffers_.push_back(std::make_unique<std::uint8_t[]>(kFrameBytes));
    free_.push_back(buffers_.back().get());
  }
}

std::size_t ScriptedPort::rx_burst(std::span<engine::RxFrame> frames) {
  std::size_t n = 0;
  in_use_.clear();
  in_use_.reserve(frames.size());
  while (n < frames.size() && !arriving.empty()) {
    in_use_.push_back(std::move(arriving.front()));
    arriving.pop_front();
    frames[n] = {};
    frames[n].bytes = in_use_.back().bytes;
    frames[n++].l4 = in_use_.back().l4;
  }
  return n;
}

void ScriptedPort::rx_release(std::span<const engine::RxFrame>) {
  in_use_.clear();
}

std::size_t ScriptedPort::tx_alloc(std::span<engine::TxFrame> frames) {
  const std::size_t n = std::min(frames.size(), free_.size());
  for (std::size_t i = 0; i < n; ++i) {
    frames[i] = {free_.back(), 0, nullptr};
    free_.pop_back();
  }
  return n;
}

std::size_t ScriptedPort::tx_burst(std::span<engine::TxFrame> frames) {
  if (!open) return 0;
  for (const engine::TxFrame& f : frames) {
    if (f.length > kFrameBytes) throw ScriptError("a frame longer than its buffer was sent");
    if (on_sent) {
      on_sent({f.data, f.length});
    } else {
      sent.push_back({now, Buffer(f.data, f.data + f.length)});
    }
    free_.push_back(f.data);
  }
  return frames.size();
}

void ScriptedPort::tx_free(std::span<const engine::TxFrame> frames) {
  for (const engine::TxFrame& f : frames) free_.push_back(f.data);
}

World::World(const Options& s)
    : memory(64, 0x5eed), setup(s), send_slots_(std::bit_ceil(s.cq)), recv_slots_(std::bit_ceil(s.recv_cq)) {
  send_lane_.init(send_slots_.data(), std::bit_ceil(s.cq), s.cq, 1);
  recv_lane_.init(recv_slots_.data(), std::bit_ceil(s.recv_cq), s.recv_cq, 2);
  port.now = kStart;
  worker_.reset(new engine::Worker(port, memory, *this, kStart));  // make_unique does not see the private base
  qp_ = std::make_unique<transport::Qp>(make_config(setup, send_lane_, recv_lane_));
  worker_->add(*qp_);
  make_memory();

  path.source_mac = {{2, 0, 0, 0, 0, 1}};
  path.destination_mac = {{2, 0, 0, 0, 0, 2}};
  path.source = wire::IpAddress::v4(10, 0, 0, 1);
  path.destination = wire::IpAddress::v4(10, 0, 0, 2);
  peer_path = path;
  std::swap(peer_path.source_mac, peer_path.destination_mac);
  std::swap(peer_path.source, peer_path.destination);
  peer_path.udp_source_port = 0xd123;

  attributes.access = s.access;
  attributes.path = path;
  attributes.path_mtu = mtu_code(s.mtu);
  attributes.dest_qpn = kPeerQpn;
  attributes.rq_psn = s.rq_psn;
  attributes.sq_psn = s.sq_psn;
  attributes.timeout = s.timeout;
  attributes.retry_cnt = s.retry_cnt;
  attributes.rnr_retry = s.rnr_retry;
  attributes.min_rnr_timer = s.min_rnr_timer;
  attributes.max_rd_atomic = s.max_rd_atomic;
  attributes.max_dest_rd_atomic = s.max_dest_rd_atomic;
  if (const auto r = bring_up(s.state); !r) throw ScriptError(r.error().message);
}

World::~World() {
  worker_->remove(*qp_);
}

void World::make_memory() {
  using A = Access;
  static constexpr std::uint64_t kBases[] = {kTarget, kLocal, kSink, 0};
  static constexpr std::uint32_t kSizes[] = {kTargetBytes, kLocalBytes, kSinkBytes, 4096};
  for (std::size_t i = 0; i < regions_.size(); ++i) regions_[i] = {kBases[i], Buffer(kSizes[i])};
  for (std::uint32_t i = 0; i < kLocalBytes; ++i) regions_[1].bytes[i] = Pattern{'l', 0}.at(i);
  const auto add = [&](const char* name, std::size_t region, AccessFlags access, memory::PdNumber pd = kPd) {
    Region& r = regions_[region];
    keys[name] = memory.register_region({r.bytes.data(), r.bytes.size(), r.iova, access, pd}).value();
  };
  const AccessFlags all{A::local_write, A::remote_write, A::remote_read, A::remote_atomic};
  add("good", 0, all);
  add("readonly", 0, {A::local_write, A::remote_read});
  add("writeonly", 0, {A::local_write, A::remote_write});
  add("noatomic", 0, {A::local_write, A::remote_write, A::remote_read});
  add("otherpd", 0, all, kPd + 1);
  add("revocable", 0, {A::local_write, A::remote_read, A::remote_invalidate});
  add("localkey", 1, {});
  add("sinkkey", 2, A::local_write);
  add("zerobased", 3, all);
  std::uint32_t bad = 0xdeadbeef;
  memory::KeyFault why{};
  while (memory.translate(bad, kPd, kTarget, 1, {}, why) != nullptr) ++bad;
  keys["bad"] = bad;
}

std::uint8_t* World::bytes_at(std::uint64_t at, std::uint64_t length) {
  for (Region& r : regions_) {
    const std::uint64_t offset = at - r.iova;
    if (at >= r.iova && offset <= r.bytes.size() && length <= r.bytes.size() - offset) return r.bytes.data() + offset;
  }
  return nullptr;
}

void World::run() {
  for (int turn = 0; turn < 1'000'000; ++turn) {
    if (worker_->do_work(now()) == 0) return;
  }
  throw ScriptError("the worker never becomes idle");
}

// To the next deadline before or at `limit`; false when there is none.
bool World::step(base::Instant limit) {
  const base::Instant next = worker_->next_deadline();
  // 0: frames wait for a port that is closed; nothing but timers happens then, so look again each microsecond.
  const base::Instant at = std::max(next, now() + base::Duration::micros(1));
  if (next == base::kNever || at > limit) return false;
  port.now = at;
  run();
  return true;
}

void World::advance_to(base::Instant t) {
  while (step(t)) {
  }
  port.now = std::max(t, now());
}

bool World::advance_to_frame(base::Instant limit) {
  run();
  while (port.sent.empty() && step(limit)) {
  }
  if (port.sent.empty() && limit > now()) {
    port.now = limit;
    run();
  }
  return !port.sent.empty();
}

Result<void> World::modify(const transport::QpAttributes& a, QpAttrMask mask) {
  auto r = worker_->modify(*qp_, a, mask, now());
  run();
  return r;
}

Result<void> World::bring_up(QpState to) {
  using B = QpAttrBit;
  static constexpr QpState kWay[] = {QpState::init, QpState::rtr, QpState::rts};
  const QpAttrMask masks[] = {{B::pkey_index, B::port, B::access_flags},
                              {B::av, B::path_mtu, B::dest_qpn, B::rq_psn, B::max_dest_rd_atomic, B::min_rnr_timer},
                              {B::timeout, B::retry_cnt, B::rnr_retry, B::sq_psn, B::max_rd_atomic}};
  for (std::size_t i = 0; i < 3 && qp_->state() != to; ++i) {
    if (qp_->state() >= kWay[i]) continue;
    attributes.state = kWay[i];
    if (auto r = modify(attributes, masks[i] | B::state); !r) return r;
  }
  return {};
}

transport::PostError World::post(const SendWr& wr) {
  const auto e = qp_->sq().post(wr);
  worker_->ring_doorbell(*qp_);
  return e;
}

transport::PostError World::post(const RecvWr& wr) {
  const auto e = qp_->rq().post(wr);
  if (qp_->state() == QpState::err) worker_->ring_doorbell(*qp_);
  return e;
}

std::optional<Completion> World::poll_send() {
  transport::LaneEntry e;
  return send_lane_.pop(e) ? std::optional(e.completion) : std::nullopt;
}

std::optional<Completion> World::poll_recv() {
  if (setup.shared_cq) return poll_send();
  transport::LaneEntry e;
  return recv_lane_.pop(e) ? std::optional(e.completion) : std::nullopt;
}

}  // namespace uroce::script
