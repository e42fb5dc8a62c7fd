// SPDX-License-Identifier: BSD-3-Clause
// The time stamp counter as nanoseconds. A read costs about 10 ns, so it is made once a turn.
#pragma once
#include <rte_cycles.h>

#include "engine/clock.h"

namespace uroce::platform {

class TscClock final : public engine::Clock {
 public:
  TscClock() noexcept : start_(rte_rdtsc()), ns_a_tick_((std::uint64_t{1'000'000'000} << 32) / rte_get_tsc_hz()) {}
  [[nodiscard]] base::Instant now() const noexcept override {
    // ns a tick as a 32.32 fixed-point number, instead of a division: 128 bits do not overflow, and the rounding of the
    // factor is under 1 ns a second.
    const unsigned __int128 ticks = rte_rdtsc() - start_;
    return {static_cast<std::int64_t>(static_cast<std::uint64_t>(ticks * ns_a_tick_ >> 32))};
  }

 private:
  std::uint64_t start_, ns_a_tick_;
};

}  // namespace uroce::platform
