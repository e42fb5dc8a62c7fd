// SPDX-License-Identifier: BSD-3-Clause
// Timers with a memory, for the wheel's tests.
#pragma once
#include <cstdint>
#include <ostream>
#include <vector>

#include "timer/wheel.h"

namespace uroce::base {
inline void PrintTo(Instant t, std::ostream* out) {
  *out << t.ns << " ns";
}
}  // namespace uroce::base

namespace uroce::timer::test {

using base::Duration;
using base::Instant;

constexpr Instant us(std::int64_t v) {
  return Instant{v * 1000};
}

struct Timer {
  Node node{this};
  std::vector<Instant> fired;
};

inline Timer& timer_of(Node& n) {
  return *static_cast<Timer*>(n.owner());
}

// Expires everything due at `now` and notes the time in each timer that fired.
inline int run(Wheel& wheel, Instant now, int limit = 1 << 30) {
  return wheel.expire(now, limit, [&](Node& n) { timer_of(n).fired.push_back(now); });
}

}  // namespace uroce::timer::test
