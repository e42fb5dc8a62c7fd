// SPDX-License-Identifier: BSD-3-Clause
// A hierarchical timing wheel driven by `now`: O(1) to arm, to disarm and to expire, no allocation (nodes are part of
// what they time), no clock. A timer never fires early and at most one tick late. Six levels of 64 slots reach 2^36
// ticks; later deadlines are re-filed. Ticks of 1 us are for timeouts, of which the longest is 8 796 s, those of 16 ns
// for pacing. One thread.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/time.h"

namespace uroce::timer {

template <std::int64_t kTickNs>
class BasicWheel;

// Embedded in the object it times, and knows it. Not armed when fresh; must not move or die while armed.
template <std::int64_t kTickNs>
class BasicNode {
 public:
  explicit BasicNode(void* owner) noexcept : owner_(owner) {}
  BasicNode(const BasicNode&) = delete;
  BasicNode& operator=(const BasicNode&) = delete;
  [[nodiscard]] void* owner() const noexcept { return owner_; }
  [[nodiscard]] bool armed() const noexcept { return slot_ != kNoSlot; }
  [[nodiscard]] base::Instant deadline() const noexcept { return {static_cast<std::int64_t>(tick_) * kTickNs}; }

 private:
  friend class BasicWheel<kTickNs>;
  static constexpr std::uint16_t kNoSlot = 0xffff;
  BasicNode* next_ = nullptr;
  BasicNode* prev_ = nullptr;
  void* owner_;
  std::uint64_t tick_ = 0;
  std::uint16_t slot_ = kNoSlot;
};

template <std::int64_t kTickNs>
class BasicWheel {
 public:
  using Node = BasicNode<kTickNs>;
  explicit BasicWheel(base::Instant start) noexcept : now_(floor_tick(start)) {}

  // Arms or re-arms. A deadline in the past fires at the next expire().
  void arm(Node& n, base::Instant deadline) noexcept;
  void disarm(Node& n) noexcept;

  // False: expire() would do nothing.
  [[nodiscard]] bool due(base::Instant now) const noexcept { return now.ns >= earliest_ns_; }

  // Takes expired nodes, oldest slot first, at most `limit`; calls fire(Node&) with the node disarmed. Returns how
  // many fired. `fire` may arm and disarm any node.
  template <class F>
  int expire(base::Instant now, int limit, F&& fire) {
    if (!due(now)) return 0;
    int fired = 0;
    const std::uint64_t target = floor_tick(now);
    while (fired < limit) {
      Node* n = next_expired(target);
      if (n == nullptr) break;
      disarm(*n);
      fire(*n);
      ++fired;
    }
    earliest_ns_ = next_work().ns;
    return fired;
  }

  // No timer fires before this; kNever without timers. May be earlier than the first deadline (a cascade).
  // While expire() has nothing to do the slots are not moved, so they may promise less than is known.
  [[nodiscard]] base::Instant next_deadline() const noexcept { return std::max(next_work(), base::Instant{earliest_ns_}); }

 private:
  static constexpr unsigned kBits = 6, kSlots = 1u << kBits, kLevels = 6;
  static constexpr unsigned kBeyond = kLevels;  // one more list: deadlines in another turn of the highest level
  static std::uint64_t floor_tick(base::Instant t) noexcept { return t.ns < 0 ? 0 : static_cast<std::uint64_t>(t.ns) / static_cast<std::uint64_t>(kTickNs); }
  static std::uint64_t ceil_tick(base::Instant t) noexcept { return floor_tick({t.ns < 0 ? 0 : t.ns + kTickNs - 1}); }
  [[nodiscard]] base::Instant next_work() const noexcept;
  void file(Node& n) noexcept;
  Node* next_expired(std::uint64_t target) noexcept;
  void cascade() noexcept;
  std::uint64_t now_;  // every slot before this tick is empty
  std::int64_t earliest_ns_ = base::kNever.ns;  // nothing is due before
  std::array<std::uint64_t, kLevels + 1> occupied_{};
  std::array<Node*, (kLevels + 1) * kSlots> slots_{};
};

using Node = BasicNode<1000>;
using Wheel = BasicWheel<1000>;
using FineNode = BasicNode<16>;
using FineWheel = BasicWheel<16>;
extern template class BasicWheel<1000>;
extern template class BasicWheel<16>;

}  // namespace uroce::timer
