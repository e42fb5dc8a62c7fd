// SPDX-License-Identifier: BSD-3-Clause
// Threads beside a node.
#pragma once
#include <thread>

#include "base/rng.h"
#include "node_rig.h"

namespace uroce::engine::test {

// Does the node's work until it dies, where no thread of the node's own does.
class Pump {
 public:
  explicit Pump(Node& node) : thread_([this, &node] { run(node); }) {}
  ~Pump() {
    stop_.store(true, std::memory_order_release);
    thread_.join();
  }
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

 private:
  void run(Node& node) {
    while (!stop_.load(std::memory_order_acquire)) {
      if (node.progress() == 0) sched_yield();
    }
  }
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

inline void pause_a_little(base::Rng& rng, std::uint32_t most) {
  for (std::uint32_t i = rng.below(most); i != 0; --i) __builtin_ia32_pause();
}

inline const char* name_of(Threading t) {
  return t == Threading::single ? "Single" : t == Threading::shared ? "Shared" : "Dedicated";
}
inline const char* name_of(Idle i) {
  return i == Idle::spin ? "Spin" : i == Idle::yield ? "Yield" : "Nap";
}

}  // namespace uroce::engine::test
