// SPDX-License-Identifier: BSD-3-Clause
// When a flow of a given rate may send its next frame. Time is kept in 2^-16 ns, so that no rate up to 400 Gb/s is
// rounded by more than one in 80 000 even for the smallest frame.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace uroce::congestion {

class Pacer {
 public:
  // How much of the time it was late to wake up a flow may catch up with, in one burst.
  static constexpr base::Duration kCatchUp = base::Duration::micros(16);

  [[nodiscard]] bool may_send(base::Instant now) const noexcept { return now >= next_; }
  // Rounded down to a nanosecond; the rest goes to the next gap.
  [[nodiscard]] base::Instant next() const noexcept { return next_; }
  // There is more to send, at next().
  void wait() noexcept { waiting_ = true; }
  // There is nothing to send: the time until there is again is not to be caught up with.
  void rest() noexcept { waiting_ = false; }

  void sent(std::uint32_t bytes, std::uint64_t rate_bps, base::Instant now) noexcept {
    const base::Instant oldest = waiting_ ? now - kCatchUp : now;
    if (next_ < oldest) {
      next_ = oldest;
      fraction_ = 0;
    }
    // bytes < 2^13, 8e9 < 2^33: below 2^62.
    const std::uint64_t gap = (std::uint64_t{bytes} * 8'000'000'000u << 16) / rate_bps + fraction_;
    next_ = next_ + base::Duration::nanos(static_cast<std::int64_t>(gap >> 16));
    fraction_ = static_cast<std::uint32_t>(gap & 0xffffu);
  }

 private:
  base::Instant next_{INT64_MIN / 2};
  std::uint32_t fraction_ = 0;  // 2^-16 ns, still to be waited after next_
  bool waiting_ = false;
};

}  // namespace uroce::congestion
