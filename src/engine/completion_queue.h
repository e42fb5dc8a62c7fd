// SPDX-License-Identifier: BSD-3-Clause
// A completion queue: one lane for each worker that may feed it, merged at poll. Any thread may poll and arm, unless
// single-threaded use was promised, which saves the lock.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <uroce/types.h>

#include "transport/completion_lane.h"

namespace uroce::engine {

struct CompletionQueueConfig {
  std::uint32_t number = 0;        // names it in events
  std::uint32_t capacity = 256;    // 1 .. kMaxCapacity, over all lanes
  std::uint32_t workers = 1;
  bool single_threaded = false;    // one thread at a time polls and purges
  bool events = false;             // has a descriptor that becomes readable
};

class CompletionQueue {
 public:
  static constexpr std::uint32_t kMaxCapacity = 1u << 22;
  explicit CompletionQueue(const CompletionQueueConfig& config);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  [[nodiscard]] transport::CompletionLane& lane(std::uint32_t worker) noexcept { return lanes_[worker]; }

  // Takes up to out.size() completions, oldest first within a worker. Returns how many.
  std::size_t poll(std::span<Completion> out) noexcept;
  // The next completion (or the next solicited or failed one) makes the descriptor readable, once. "Next" wins over
  // "solicited". Poll again after arming: what came before does not count.
  void arm(bool solicited_only) noexcept;
  // The descriptor, an eventfd in nonblocking mode; -1 without one. Reading it gives the number of events.
  [[nodiscard]] int event_fd() const noexcept { return event_fd_; }

  // Worker, after it published. Writes the descriptor when armed for it.
  void on_published(bool solicited) noexcept;
  // Forgets what waits of a queue pair that is no more. Its worker has stopped completing for it.
  void purge(std::uint32_t qpn) noexcept;
  [[nodiscard]] std::uint32_t number() const noexcept { return config_.number; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return config_.capacity; }
  std::atomic<std::uint32_t> users{0};  // queue pairs that complete here

 private:
  class Lock;
  enum Armed : std::uint8_t { kNo, kSolicited, kNext };
  CompletionQueueConfig config_;
  std::unique_ptr<transport::CqState> shared_;
  std::vector<std::vector<transport::LaneEntry>> slots_;
  std::unique_ptr<transport::CompletionLane[]> lanes_;
  std::uint32_t next_lane_ = 0;
  int event_fd_ = -1;
  std::atomic<std::uint8_t> armed_{kNo};
  std::atomic_flag locked_ = ATOMIC_FLAG_INIT;
};

}  // namespace uroce::engine
