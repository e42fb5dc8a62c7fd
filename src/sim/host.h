// SPDX-License-Identifier: BSD-3-Clause
// A host in virtual time: the engine's worker on a simulated port. Work takes no time; the links do.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/worker.h"
#include "memory/memory_table.h"
#include "sim/event_queue.h"
#include "sim/network.h"

namespace uroce::sim {

class Host final : private transport::EventSink {
 public:
  Host(Network& network, const wire::MacAddress& mac, const LinkConfig& link, std::uint64_t seed);

  // Runs the worker until it is idle, then lets `application` look at completions and post; again while that has work.
  // Called by the network on arrivals, by timers, and by the owner after posts.
  void run();
  std::function<bool()> application;  // true: it did something

  [[nodiscard]] engine::Worker& worker() noexcept { return worker_; }
  [[nodiscard]] memory::MemoryTable& memory() noexcept { return memory_; }
  [[nodiscard]] SimPort& port() noexcept { return port_; }
  [[nodiscard]] base::Instant now() const noexcept { return events_.now(); }
  std::vector<AsyncEvent> async_events;

 private:
  void on_event(const AsyncEvent& e) override { async_events.push_back(e); }
  void schedule();
  EventQueue& events_;
  SimPort port_;
  memory::MemoryTable memory_;
  engine::Worker worker_;
  base::Instant wake_at_ = base::kNever;
  bool running_ = false;
};

}  // namespace uroce::sim
