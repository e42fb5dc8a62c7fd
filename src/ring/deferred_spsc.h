// SPDX-License-Identifier: BSD-3-Clause
// A single-producer single-consumer ring whose producer decides when its entries become visible: push() writes,
// publish() shows everything written so far. Boost's spsc_queue publishes at each push, so it can't hold back a
// completion until its ACK has left. Storage is the caller's.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/assert.h"

namespace uroce::ring {

template <class T>
class DeferredSpsc {
 public:
  DeferredSpsc() = default;
  // `slots` has `count` elements, a power of two, and outlives the ring; it holds at most `limit` <= count entries.
  void init(T* slots, std::uint32_t count, std::uint32_t limit) noexcept {
    UROCE_ASSERT(count != 0 && (count & (count - 1)) == 0 && limit <= count);
    slots_ = slots;
    mask_ = count - 1;
    limit_ = limit;
  }

  // Producer. The next slot, to be filled in before publish(), or nullptr when full; the consumer's progress is looked at
  // only then. It holds what an earlier entry left there.
  T* append() noexcept {
    if (written_ - seen_head_ >= limit_) {
      // Acquire: the consumer has finished reading the slots it gave back.
      seen_head_ = head_.load(std::memory_order_acquire);
      if (written_ - seen_head_ >= limit_) return nullptr;
    }
    return &slots_[written_++ & mask_];
  }
  bool push(const T& v) noexcept {
    T* slot = append();
    if (slot == nullptr) return false;
    *slot = v;
    return true;
  }
  // Release: the slots are written before the tail that shows them.
  void publish() noexcept { tail_.store(written_, std::memory_order_release); }
  [[nodiscard]] bool has_unpublished() const noexcept {
    return written_ != tail_.load(std::memory_order_relaxed);
  }

  // Consumer. The oldest published entry, or nullptr; it stays until drop_front().
  const T* front() noexcept {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    if (head == seen_tail_) {
      seen_tail_ = tail_.load(std::memory_order_acquire);
      if (head == seen_tail_) return nullptr;
    }
    return &slots_[head & mask_];
  }
  // Release: the slot has been read before the producer may write it again.
  void drop_front() noexcept { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  bool pop(T& out) noexcept {
    const T* entry = front();
    if (entry == nullptr) return false;
    out = *entry;
    drop_front();
    return true;
  }

  // Consumer: f(T&) for each published entry that was not popped.
  template <class F>
  void for_each_waiting(F&& f) noexcept {
    const std::uint32_t tail = tail_.load(std::memory_order_acquire);
    for (std::uint32_t i = head_.load(std::memory_order_relaxed); i != tail; ++i) f(slots_[i & mask_]);
  }

  // Either side, or a third: a moment's value.
  [[nodiscard]] std::uint32_t size() const noexcept {
    return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }

 private:
  T* slots_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t limit_ = 0;
  alignas(64) std::uint32_t written_ = 0;  // producer's own
  std::uint32_t seen_head_ = 0;
  std::atomic<std::uint32_t> tail_{0};
  alignas(64) std::atomic<std::uint32_t> head_{0};
  std::uint32_t seen_tail_ = 0;  // consumer's own
};

}  // namespace uroce::ring
