// SPDX-License-Identifier: BSD-3-Clause
// The time stamp counter as nanoseconds. A read costs about 10 ns, so it is made once a turn.
#pragma once
#include <rte_cycles.h>

#include "engine/clock.h"

namespace uroce::platform {

class TscClock final : public engine::Clock {
 public:
  TscClock() noexcept : start_(rte_rdtsc()), hz_(rte_get_tsc_hz()) {}
  [[nodiscard]] base::Instant now() const noexcept override {
    // 128 bits: no overflow for as long as the machine lives.
    const unsigned __int128 ticks = rte_rdtsc() - start_;
    return {static_cast<std::int64_t>(static_cast<std::uint64_t>(ticks * 1'000'000'000u / hz_))};
  }

 private:
  std::uint64_t start_, hz_;
};

}  // namespace uroce::platform
