// SPDX-License-Identifier: BSD-3-Clause
// Virtual time: what happens next, in order of time and, at equal times, of scheduling. Nothing else orders it, so a run
// is the same on every machine.
#pragma once
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/time.h"

namespace uroce::sim {

class EventQueue {
 public:
  using Action = std::function<void()>;
  [[nodiscard]] base::Instant now() const noexcept { return now_; }
  void at(base::Instant t, Action a) { queue_.push({t < now_ ? now_ : t, next_++, std::move(a)}); }
  // Runs the next event; false when there is none.
  bool step() {
    if (queue_.empty()) return false;
    Entry e = queue_.top();
    queue_.pop();
    now_ = e.time;
    ++executed_;
    e.action();
    return true;
  }
  [[nodiscard]] std::uint64_t executed() const noexcept { return executed_; }

 private:
  struct Entry {
    base::Instant time;
    std::uint64_t sequence;
    Action action;
    bool operator<(const Entry& o) const noexcept {  // priority_queue puts the greatest first
      return time != o.time ? time > o.time : sequence > o.sequence;
    }
  };
  std::priority_queue<Entry> queue_;
  base::Instant now_{};
  std::uint64_t next_ = 0;
  std::uint64_t executed_ = 0;
};

}  // namespace uroce::sim
