// SPDX-License-Identifier: BSD-3-Clause
// A switch's port towards one host: store and forward, first in first out, with marks by RED on the queue's length at the
// moment a frame leaves it.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "sim/event_queue.h"

namespace uroce::sim {

using Frame = std::vector<std::uint8_t>;

struct QueueConfig {
  std::uint64_t rate_bps = 100'000'000'000;
  base::Duration delay = base::Duration::micros(1);  // of the link behind
  // No marks below kmin; between, a share that grows to pmax; every frame above kmax. kmin == kmax == 0: no marks at all.
  std::uint64_t kmin_bytes = 0, kmax_bytes = 0;
  std::uint32_t pmax_ppm = 0;
  bool linear_extended = false;  // the slope goes on above kmax, as fluid models have it
  std::uint64_t limit_bytes = UINT64_MAX;  // what does not fit is dropped
};

// How long the queue was how long: exact, so that no sampling interval has a say.
class QueueHistogram {
 public:
  static constexpr std::uint64_t kBin = 1000;  // bytes
  // Only what lies in [from, to) counts.
  void watch(base::Instant from, base::Instant to) {
    from_ = from;
    to_ = to;
  }
  // The queue held `bytes` from `since` to `until`.
  void add(std::uint64_t bytes, base::Instant since, base::Instant until);
  [[nodiscard]] double mean() const;
  [[nodiscard]] double standard_deviation() const;
  // The shortest length (bytes, rounded up to a bin) that was not exceeded for `percent` of the time.
  [[nodiscard]] std::uint64_t percentile(std::uint32_t percent) const;
  [[nodiscard]] std::uint64_t most() const { return most_; }

 private:
  base::Instant from_{base::kNever}, to_{base::kNever};
  std::vector<std::int64_t> ns_;  // by bin
  std::int64_t total_ns_ = 0;
  __extension__ __int128 byte_ns_ = 0, square_ns_ = 0;
  std::uint64_t most_ = 0;
};

class EgressQueue {
 public:
  EgressQueue(EventQueue& events, const QueueConfig& config, std::uint64_t seed, std::function<void(Frame)> deliver)
      : events_(events), config_(config), rng_(seed), deliver_(std::move(deliver)) {}
  EgressQueue(const EgressQueue&) = delete;
  EgressQueue& operator=(const EgressQueue&) = delete;

  void push(Frame f);
  QueueHistogram histogram;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t marked() const noexcept { return marked_; }
  [[nodiscard]] std::uint64_t forwarded() const noexcept { return forwarded_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  void send_next();
  void change(std::uint64_t bytes);
  bool draw_mark();
  EventQueue& events_;
  QueueConfig config_;
  base::Rng rng_;
  std::function<void(Frame)> deliver_;
  std::deque<Frame> frames_;
  std::uint64_t bytes_ = 0;
  base::Instant changed_{};
  bool busy_ = false;
  std::uint64_t marked_ = 0, forwarded_ = 0, dropped_ = 0;
};

}  // namespace uroce::sim
