// SPDX-License-Identifier: BSD-3-Clause
// Nodes that loop back on themselves or lie at the ends of a cable, and queue pairs on them: what applications see of
// the engine.
#pragma once
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/node.h"
#include "wire/build.h"
#include "wire/frame.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define UROCE_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define UROCE_TEST_SANITIZED 1
#endif

namespace uroce::engine::test {

#ifdef UROCE_TEST_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

using namespace std::chrono_literals;
using transport::Qp;
using wire::IpAddress;
using Wall = std::chrono::steady_clock;

// How long a test in which threads race goes on: long enough to meet by chance, short enough for every run.
inline constexpr auto kRaceTime = kSanitized ? 500ms : 1200ms;

// Threads that race need a core each, or they only take turns. Where a core is missing, this does nothing.
class OnCore {
 public:
  explicit OnCore(unsigned nth) {
    pthread_getaffinity_np(pthread_self(), sizeof(before_), &before_);
    const auto count = static_cast<unsigned>(CPU_COUNT(&before_));
    cpu_set_t one;
    CPU_ZERO(&one);
    for (unsigned core = 0, seen = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &before_) && seen++ == nth % count) CPU_SET(core, &one);
    }
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
  }
  ~OnCore() { pthread_setaffinity_np(pthread_self(), sizeof(before_), &before_); }
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

 private:
  cpu_set_t before_;
};

class ManualClock final : public Clock {
 public:
  [[nodiscard]] base::Instant now() const noexcept override { return {ns_.load(std::memory_order_relaxed)}; }
  void pass(base::Duration d) noexcept { ns_.fetch_add(d.ns, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> ns_{1'000'000};
};

class WallClock final : public Clock {
 public:
  [[nodiscard]] base::Instant now() const noexcept override {
    return {std::chrono::nanoseconds(Wall::now().time_since_epoch()).count()};
  }
};

inline constexpr std::size_t kRoomyFrame = 4096 + wire::kMaxFrameOverhead;

// A port of which nothing is to be seen: what loops back never touches it.
class SilentPort final : public Port {
 public:
  std::size_t rx_burst(std::span<RxFrame>) override { return 0; }
  void rx_release(std::span<const RxFrame>) override {}
  std::size_t tx_alloc(std::span<TxFrame>) override { return 0; }
  std::size_t tx_burst(std::span<TxFrame> frames) override {
    ADD_FAILURE() << frames.size() << " frames left by the port";
    return 0;
  }
  void tx_free(std::span<const TxFrame>) override {}
  [[nodiscard]] std::size_t max_frame_bytes() const override { return kRoomyFrame; }
};

// One end of a cable. Any thread may hold either end.
class CableEnd final : public Port {
 public:
  using Frame = std::span<const std::uint8_t>;
  explicit CableEnd(CableEnd* other = nullptr) : other_(other) {
    if (other != nullptr) other->other_ = this;
  }
  ~CableEnd() override {
    for (const TxFrame& f : arrived_) delete[] f.data;
  }
  std::size_t rx_burst(std::span<RxFrame> frames) override {
    const std::lock_guard lock(mutex_);
    std::size_t n = 0;
    for (; n < frames.size() && !arrived_.empty(); ++n) {
      frames[n] = {};
      frames[n].bytes = {arrived_.front().data, arrived_.front().length};
      frames[n].owner = arrived_.front().data;
      arrived_.pop_front();
    }
    return n;
  }
  void rx_release(std::span<const RxFrame> frames) override {
    for (const RxFrame& f : frames) delete[] static_cast<std::uint8_t*>(f.owner);
  }
  std::size_t tx_alloc(std::span<TxFrame> frames) override {
    for (TxFrame& f : frames) f = {new std::uint8_t[kRoomyFrame], 0, nullptr};
    return frames.size();
  }
  std::size_t tx_burst(std::span<TxFrame> frames) override {
    const std::lock_guard lock(other_->mutex_);
    for (const TxFrame& f : frames) {
      ++sent;
      if (on_sent) on_sent({f.data, f.length});
      if (loses && loses({f.data, f.length})) {
        delete[] f.data;
      } else {
        other_->arrived_.push_back(f);
      }
    }
    return frames.size();
  }
  void tx_free(std::span<const TxFrame> frames) override {
    for (const TxFrame& f : frames) delete[] f.data;
  }
  [[nodiscard]] std::size_t max_frame_bytes() const override { return kRoomyFrame; }

  std::function<void(Frame)> on_sent;
  std::function<bool(Frame)> loses;
  std::uint64_t sent = 0;

 private:
  CableEnd* other_;
  std::mutex mutex_;
  std::deque<TxFrame> arrived_;
};

// The opcode's name, or "" for what is not RoCE.
inline std::string_view opcode_name(CableEnd::Frame f) {
  wire::Drop why{};
  const auto p = wire::parse_frame(f, why);
  return p ? p->info().name : std::string_view{};
}

inline const IpAddress kHere = IpAddress::v4(10, 0, 0, 1), kThere = IpAddress::v4(10, 0, 0, 2);

inline wire::MacAddress mac_of(const IpAddress& a) {
  return {{2, 0, 0, 0, 0, a.bytes[15]}};
}

// Everything allowed, path MTU 4096, the ack timeout 4.2 ms.
inline transport::QpAttributes attributes(const IpAddress& us, const IpAddress& them) {
  using A = Access;
  transport::QpAttributes a;
  a.access = {A::local_write, A::remote_write, A::remote_read, A::remote_atomic};
  a.path.source = us;
  a.path.destination = them;
  a.path.source_mac = mac_of(us);
  a.path.destination_mac = mac_of(them);
  a.path_mtu = PathMtu::mtu4096;
  a.timeout = 10;
  a.min_rnr_timer = 1;
  return a;
}

// From RESET up to `to`, at most RTS. False, and a failure, when a step is refused.
inline bool raise(Node& node, Qp& qp, transport::QpAttributes a, QpState to = QpState::rts) {
  using B = QpAttrBit;
  const std::pair<QpState, QpAttrMask> steps[] = {
      {QpState::init, {B::state, B::pkey_index, B::port, B::access_flags}},
      {QpState::rtr, {B::state, B::av, B::path_mtu, B::dest_qpn, B::rq_psn, B::max_dest_rd_atomic, B::min_rnr_timer}},
      {QpState::rts, {B::state, B::timeout, B::retry_cnt, B::rnr_retry, B::sq_psn, B::max_rd_atomic}}};
  for (const auto& [state, mask] : steps) {
    if (to == QpState::reset || state > to) break;
    a.state = state;
    if (const auto r = node.modify_qp(qp, a, mask); !r) {
      ADD_FAILURE() << r.error().message;
      return false;
    }
  }
  return true;
}

inline bool to_state(Node& node, Qp& qp, QpState s) {
  transport::QpAttributes a;
  a.state = s;
  const auto r = node.modify_qp(qp, a, QpAttrBit::state);
  EXPECT_TRUE(r) << r.error().message;
  return r.has_value();
}

// Two queue pairs, or one with itself: each the other's peer.
inline bool join(Node& node, Qp& a, Qp& b, transport::QpAttributes with = attributes(kHere, kHere)) {
  with.sq_psn = 0xfffff0;  // wraps on the way
  with.rq_psn = 0xfffff0;
  with.dest_qpn = b.qpn();
  if (!raise(node, a, with)) return false;
  with.dest_qpn = a.qpn();
  return &a == &b || raise(node, b, with);
}

inline transport::QpConfig queue_pair(std::uint32_t depth = 64) {
  transport::QpConfig c;
  c.send_depth = c.recv_depth = depth;
  return c;
}

inline Qp* make_qp(Node& node, CompletionQueue& send, CompletionQueue& recv,
                   const transport::QpConfig& c = queue_pair()) {
  const auto r = node.create_qp(c, send, recv);
  EXPECT_TRUE(r) << r.error().message;
  return r ? *r : nullptr;
}

// Memory that a node knows, readable and writable for everybody.
class Buffer {
 public:
  Buffer(Node& node, std::size_t size) : bytes(size), node_(node) {
    using A = Access;
    const auto k = node.register_region(
        {bytes.data(), size, iova(), {A::local_write, A::remote_write, A::remote_read, A::remote_atomic}, 0});
    EXPECT_TRUE(k) << k.error().message;
    key = k.value_or(0);
  }
  ~Buffer() {
    if (key != 0) deregister();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void deregister() {
    EXPECT_TRUE(node_.deregister(key));
    key = 0;
  }
  [[nodiscard]] std::uint64_t iova() const { return reinterpret_cast<std::uintptr_t>(bytes.data()); }
  [[nodiscard]] Sge sge(std::size_t offset, std::size_t length) const {
    return {iova() + offset, static_cast<std::uint32_t>(length), key};
  }
  void fill(std::uint32_t seed) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>((i * 2654435761u + seed * 40503u) >> 11);
    }
  }

  std::vector<std::uint8_t> bytes;
  std::uint32_t key = 0;

 private:
  Node& node_;
};

inline PostError send(Node& node, Qp& qp, const SendWr& wr) {
  const PostError e = qp.sq().post(wr);
  if (e == PostError::none) node.doorbell(qp);
  return e;
}
inline PostError receive(Qp& qp, std::uint64_t wr_id, std::span<const Sge> sges = {}) {
  return qp.rq().post({wr_id, sges});
}

inline std::vector<Completion> take(CompletionQueue& cq) {
  std::vector<Completion> all;
  std::array<Completion, 16> some;
  while (const std::size_t n = cq.poll(some)) all.insert(all.end(), some.begin(), some.begin() + n);
  return all;
}

// Works for whoever does not work by itself, until `done`. False when that takes longer than any machine should.
template <class Done>
bool until(std::initializer_list<Node*> nodes, Done&& done, std::chrono::milliseconds limit = 20s) {
  const auto end = Wall::now() + limit;
  while (!done()) {
    int work = 0;
    for (Node* n : nodes) work += n->progress();
    if (work == 0) sched_yield();
    if (Wall::now() > end) return false;
  }
  return true;
}

// `count` completions, in the order they came.
inline std::vector<Completion> collect(std::initializer_list<Node*> nodes, CompletionQueue& cq, std::size_t count,
                                       std::chrono::milliseconds limit = 20s) {
  std::vector<Completion> all;
  std::array<Completion, 16> some;
  EXPECT_TRUE(until(
      nodes,
      [&] {
        const std::size_t n = cq.poll(some);
        all.insert(all.end(), some.begin(), some.begin() + n);
        return all.size() >= count;
      },
      limit))
      << all.size() << " of " << count << " completions came";
  return all;
}

}  // namespace uroce::engine::test
