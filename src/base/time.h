// SPDX-License-Identifier: BSD-3-Clause
// Time as the core sees it: nanoseconds since an arbitrary start, handed in by whoever owns a clock. The core never
// reads one.
#pragma once
#include <compare>
#include <cstdint>

namespace uroce::base {

// A span of time in nanoseconds; up to +-292 years.
struct Duration {
  std::int64_t ns = 0;
  static constexpr Duration nanos(std::int64_t v) { return {v}; }
  static constexpr Duration micros(std::int64_t v) { return {v * 1000}; }
  static constexpr Duration millis(std::int64_t v) { return {v * 1000 * 1000}; }
  static constexpr Duration seconds(std::int64_t v) { return {v * 1000 * 1000 * 1000}; }
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
  friend constexpr Duration operator*(Duration a, std::int64_t k) { return {a.ns * k}; }
};

// A moment on the caller's clock. kNever sorts after every other.
struct Instant {
  std::int64_t ns = 0;
  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return {t.ns + d.ns}; }
  friend constexpr Instant operator-(Instant t, Duration d) { return {t.ns - d.ns}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return {a.ns - b.ns}; }
};
inline constexpr Instant kNever{INT64_MAX};

}  // namespace uroce::base
