// SPDX-License-Identifier: BSD-3-Clause
// One worker's lane into one completion queue. A queue that several workers feed has a lane for each.
#pragma once
#include <atomic>
#include <cstdint>

#include <uroce/types.h>

#include "ring/deferred_spsc.h"

namespace uroce::transport {

struct alignas(64) LaneEntry {
  Completion completion;
  bool solicited = false;  // wakes a queue armed for solicited events
  bool purged = false;     // its queue pair was destroyed before it was polled
};

// What the lanes of one queue share. Capacity counts over all of them.
struct CqState {
  explicit CqState(std::uint32_t entries) noexcept : capacity(entries) {}
  const std::uint32_t capacity;
  std::atomic<std::uint32_t> used{0};  // kept only when there are several lanes
  std::atomic<bool> overflowed{false};
  std::atomic<bool> reported{false};   // CQ_ERR is raised once
};

class CompletionLane {
 public:
  // `cq` names the queue in events. `shared`: for queues with several lanes; it outlives the lane.
  void init(LaneEntry* slots, std::uint32_t count, std::uint32_t limit, std::uint32_t cq, CqState* shared = nullptr) noexcept {
    ring_.init(slots, count, limit);
    cq_ = cq;
    shared_ = shared;
  }
  // Worker. A fresh completion, filled in where it lies; nullptr once the queue has overflowed: it is lost, what is stored
  // stays.
  Completion* append(bool solicited) noexcept {
    if (!overflowed_ && reserve()) {
      if (LaneEntry* e = ring_.append(); e != nullptr) {
        *e = LaneEntry{};
        e->solicited = solicited;
        solicited_ |= solicited;
        return &e->completion;
      }
      if (shared_ != nullptr) shared_->used.fetch_sub(1, std::memory_order_relaxed);
    }
    overflowed_ = true;
    if (shared_ != nullptr) shared_->overflowed.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  bool push(const Completion& c, bool solicited) noexcept {
    Completion* slot = append(solicited);
    if (slot == nullptr) return false;
    *slot = c;
    return true;
  }
  // Whether an entry that became visible is solicited or an error.
  bool publish() noexcept {
    ring_.publish();
    const bool s = solicited_;
    solicited_ = false;
    return s;
  }
  // Application. The oldest entry, or nullptr; it stays until pop().
  const LaneEntry* front() noexcept { return ring_.front(); }
  void pop() noexcept {
    ring_.drop_front();
    if (shared_ != nullptr) shared_->used.fetch_sub(1, std::memory_order_relaxed);
  }
  bool pop(LaneEntry& out) noexcept {
    const LaneEntry* e = front();
    if (e == nullptr) return false;
    out = *e;
    pop();
    return true;
  }
  // Application, while nobody polls: f(LaneEntry&) for each entry that waits.
  template <class F>
  void for_each_waiting(F&& f) noexcept {
    ring_.for_each_waiting(f);
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return ring_.size(); }
  [[nodiscard]] std::uint32_t cq() const noexcept { return cq_; }
  [[nodiscard]] bool overflowed() const noexcept {
    return overflowed_ || (shared_ != nullptr && shared_->overflowed.load(std::memory_order_relaxed));
  }
  // True for the first of all lanes that asks.
  bool claim_report() noexcept { return shared_ == nullptr || !shared_->reported.exchange(true); }

  void* queue = nullptr;                 // the engine's CompletionQueue
  bool notifies = false;                 // the queue has an event descriptor
  bool overflow_reported = false;        // worker: this lane's overflow was acted on
  CompletionLane* next_dirty = nullptr;  // worker: lanes to publish at the end of the turn
  bool dirty = false;

 private:
  bool reserve() noexcept {
    if (shared_ == nullptr) return true;
    if (shared_->overflowed.load(std::memory_order_relaxed)) return false;
    if (shared_->used.fetch_add(1, std::memory_order_relaxed) < shared_->capacity) return true;
    shared_->used.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  ring::DeferredSpsc<LaneEntry> ring_;
  CqState* shared_ = nullptr;
  std::uint32_t cq_ = 0;
  bool overflowed_ = false;
  bool solicited_ = false;  // since the last publish
};

}  // namespace uroce::transport
