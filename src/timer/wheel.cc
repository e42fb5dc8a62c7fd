// SPDX-License-Identifier: BSD-3-Clause
#include "timer/wheel.h"

#include <algorithm>

namespace uroce::timer {

template <std::int64_t kTickNs>
void BasicWheel<kTickNs>::arm(Node& n, base::Instant deadline) noexcept {
  disarm(n);
  n.tick_ = std::max(ceil_tick(deadline), now_);
  earliest_ns_ = std::min(earliest_ns_, n.deadline().ns);
  file(n);
}

template <std::int64_t kTickNs>
void BasicWheel<kTickNs>::file(Node& n) noexcept {
  // The level is that of the highest digit (base 64) in which the deadline differs from now.
  const std::uint64_t differs = n.tick_ ^ now_;
  const unsigned level =
      std::min(differs == 0 ? 0 : static_cast<unsigned>(std::bit_width(differs) - 1) / kBits, kBeyond);
  const unsigned digit = level == kBeyond ? 0 : static_cast<unsigned>(n.tick_ >> (level * kBits)) & (kSlots - 1);
  const unsigned slot = level * kSlots + digit;
  n.slot_ = static_cast<std::uint16_t>(slot);
  n.prev_ = nullptr;
  n.next_ = slots_[slot];
  if (n.next_ != nullptr) n.next_->prev_ = &n;
  slots_[slot] = &n;
  occupied_[level] |= std::uint64_t{1} << digit;
}

template <std::int64_t kTickNs>
void BasicWheel<kTickNs>::disarm(Node& n) noexcept {
  if (!n.armed()) return;
  if (n.prev_ != nullptr) {
    n.prev_->next_ = n.next_;
  } else {
    slots_[n.slot_] = n.next_;
    if (n.next_ == nullptr) occupied_[n.slot_ / kSlots] &= ~(std::uint64_t{1} << (n.slot_ % kSlots));
  }
  if (n.next_ != nullptr) n.next_->prev_ = n.prev_;
  n.slot_ = Node::kNoSlot;
}

// now_ has just reached a multiple of 64^k: the slots that begin here on the higher levels are spread over the lower.
template <std::int64_t kTickNs>
void BasicWheel<kTickNs>::cascade() noexcept {
  for (unsigned level = 1; level <= kBeyond; ++level) {
    const auto digit = level == kBeyond ? 0 : static_cast<unsigned>(now_ >> (level * kBits)) & (kSlots - 1);
    Node* n = slots_[level * kSlots + digit];
    slots_[level * kSlots + digit] = nullptr;
    occupied_[level] &= ~(std::uint64_t{1} << digit);
    while (n != nullptr) {
      Node* next = n->next_;
      file(*n);
      n = next;
    }
    if (digit != 0) break;
  }
}

template <std::int64_t kTickNs>
auto BasicWheel<kTickNs>::next_expired(std::uint64_t target) noexcept -> Node* {
  for (;;) {
    const auto digit = static_cast<unsigned>(now_) & (kSlots - 1);
    const std::uint64_t due = occupied_[0] >> digit;
    if (due != 0) {
      const std::uint64_t tick = now_ + static_cast<unsigned>(std::countr_zero(due));
      if (tick > target) {
        now_ = std::max(now_, target);
        return nullptr;
      }
      now_ = tick;
      return slots_[now_ & (kSlots - 1)];
    }
    if (now_ >= target) return nullptr;
    // Nothing left in this turn of level 0. Step to the next boundary at which any level has work.
    unsigned level = 0;
    std::uint64_t next = (now_ | (kSlots - 1)) + 1;
    for (level = 1; level < kLevels; ++level) {
      const auto d = static_cast<unsigned>(now_ >> (level * kBits)) & (kSlots - 1);
      const std::uint64_t later = d == kSlots - 1 ? 0 : occupied_[level] >> (d + 1);
      if (later != 0) {
        const unsigned shift = level * kBits;
        next = ((now_ >> shift) + 1 + static_cast<unsigned>(std::countr_zero(later))) << shift;
        break;
      }
      next = ((now_ >> ((level + 1) * kBits)) + 1) << ((level + 1) * kBits);
    }
    if (next > target) {
      now_ = target;
      return nullptr;
    }
    now_ = next;
    cascade();
  }
}

template <std::int64_t kTickNs>
base::Instant BasicWheel<kTickNs>::next_work() const noexcept {
  for (unsigned level = 0; level < kLevels; ++level) {
    const unsigned shift = level * kBits;
    const auto digit = static_cast<unsigned>(now_ >> shift) & (kSlots - 1);
    // Level 0 counts the current slot; on higher levels it has been spread already.
    const unsigned from = level == 0 ? digit : digit + 1;
    const std::uint64_t later = from >= kSlots ? 0 : occupied_[level] >> from;
    if (later != 0) {
      const std::uint64_t base_tick = (now_ >> shift) - digit + from;
      const std::uint64_t tick = (base_tick + static_cast<unsigned>(std::countr_zero(later))) << shift;
      return {static_cast<std::int64_t>(tick) * kTickNs};
    }
  }
  if (occupied_[kBeyond] != 0) {
    constexpr unsigned kReach = kLevels * kBits;
    return {static_cast<std::int64_t>(((now_ >> kReach) + 1) << kReach) * kTickNs};
  }
  return base::kNever;
}

template class BasicWheel<1000>;
template class BasicWheel<16>;

}  // namespace uroce::timer
