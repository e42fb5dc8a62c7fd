// SPDX-License-Identifier: BSD-3-Clause
// One worker's lane into one completion queue. A queue that several workers feed has a lane for each.
#pragma once
#include <cstdint>

#include <uroce/types.h>

#include "ring/deferred_spsc.h"

namespace uroce::transport {

struct LaneEntry {
  Completion completion;
  bool solicited = false;  // wakes a queue armed for solicited events
};

class CompletionLane {
 public:
  // `cq` names the queue in events.
  void init(LaneEntry* slots, std::uint32_t count, std::uint32_t limit, std::uint32_t cq) noexcept {
    ring_.init(slots, count, limit);
    cq_ = cq;
  }
  // Worker. False once the queue has overflowed: the entry is lost, what is stored stays.
  bool push(const Completion& c, bool solicited) noexcept {
    if (!overflowed_ && ring_.push({c, solicited})) return true;
    overflowed_ = true;
    return false;
  }
  void publish() noexcept { ring_.publish(); }
  // Application.
  bool pop(LaneEntry& out) noexcept { return ring_.pop(out); }

  [[nodiscard]] std::uint32_t size() const noexcept { return ring_.size(); }
  [[nodiscard]] std::uint32_t cq() const noexcept { return cq_; }
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
  bool overflow_reported = false;  // worker: CQ_ERR is raised once
  CompletionLane* next_dirty = nullptr;  // worker: lanes to publish at the end of the turn
  bool dirty = false;

 private:
  ring::DeferredSpsc<LaneEntry> ring_;
  std::uint32_t cq_ = 0;
  bool overflowed_ = false;
};

}  // namespace uroce::transport
