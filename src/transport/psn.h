// SPDX-License-Identifier: BSD-3-Clause
// Packet sequence numbers: 24 bits that wrap. "Before" and "after" are by signed distance, so they hold only between
// numbers less than 2^23 apart, which is what the window guarantees (IBTA 9.7.2).
#pragma once
#include <cstdint>

namespace uroce::transport {

class Psn {
 public:
  static constexpr std::uint32_t kMask = 0xffffff;
  constexpr Psn() noexcept = default;
  constexpr explicit Psn(std::uint32_t v) noexcept : v_(v & kMask) {}
  [[nodiscard]] constexpr std::uint32_t value() const noexcept { return v_; }
  friend constexpr bool operator==(Psn, Psn) noexcept = default;
  friend constexpr Psn operator+(Psn a, std::uint32_t n) noexcept { return Psn(a.v_ + n); }
  friend constexpr Psn operator-(Psn a, std::uint32_t n) noexcept { return Psn(a.v_ - n); }

 private:
  std::uint32_t v_ = 0;
};

// How far `to` lies ahead of `from`: negative when it is behind.
constexpr std::int32_t distance(Psn from, Psn to) noexcept {
  return static_cast<std::int32_t>((to.value() - from.value()) << 8) >> 8;
}
// The same as a count, when `to` is known not to lie behind: 0 .. 2^24 - 1.
constexpr std::uint32_t count_between(Psn from, Psn to) noexcept { return (to.value() - from.value()) & Psn::kMask; }
constexpr bool before(Psn a, Psn b) noexcept { return distance(a, b) > 0; }

// The most PSNs that may be unacknowledged, READ responses counted.
inline constexpr std::uint32_t kMaxOutstandingPsns = (1u << 23) - 1;

}  // namespace uroce::transport
