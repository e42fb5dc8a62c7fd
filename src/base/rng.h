// SPDX-License-Identifier: BSD-3-Clause
// xoshiro256** (Blackman, Vigna; public domain algorithm), seeded through splitmix64. Deterministic: the same seed gives
// the same numbers on every compiler. Not for keys that must resist an attacker: those are drawn by
// memory::KeyGenerator from a seed of the operating system.
#pragma once
#include <bit>
#include <cstdint>

namespace uroce::base {

class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) noexcept {
    for (auto& word : state_) word = splitmix(seed);
  }

  constexpr std::uint64_t next() noexcept {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound), bound > 0: Lemire's multiply-shift; the bias is under 2^-32 for the bounds used here.
  constexpr std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

  // True with probability parts/kMillion.
  static constexpr std::uint32_t kMillion = 1'000'000;
  constexpr bool chance_ppm(std::uint32_t parts) noexcept { return parts != 0 && below(kMillion) < parts; }

 private:
  static constexpr std::uint64_t splitmix(std::uint64_t& x) noexcept {
    std::uint64_t z = (x += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_[4]{};
};

}  // namespace uroce::base
