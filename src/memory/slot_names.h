// SPDX-License-Identifier: BSD-3-Clause
// Slot numbers to names and back: a permutation of 24 bits that a secret chooses, so that one key tells nothing about the
// next. Two multiplications each way, as every packet with a key goes through it. It hides, it does not encrypt: the 8
// changing bits of a key and the end of the connection at the first wrong guess do the rest.
#pragma once
#include <cstdint>

namespace uroce::memory {

class SlotNames {
 public:
  SlotNames() = default;  // every slot is its own name
  // Four words of a secret.
  explicit constexpr SlotNames(const std::uint32_t (&secret)[4]) noexcept
      : before_(secret[0] & kMask),
        after_(secret[1] & kMask),
        first_(secret[2] | 1u),
        second_(secret[3] | 1u),
        first_inverse_(inverse(first_)),
        second_inverse_(inverse(second_)) {}

  [[nodiscard]] constexpr std::uint32_t name(std::uint32_t slot) const noexcept {
    const std::uint32_t x = fold(slot ^ before_) * first_ & kMask;
    return fold(fold(x) * second_ & kMask) ^ after_;
  }
  [[nodiscard]] constexpr std::uint32_t slot(std::uint32_t name) const noexcept {
    const std::uint32_t x = fold(fold(name ^ after_) * second_inverse_ & kMask);
    return fold(x * first_inverse_ & kMask) ^ before_;
  }

 private:
  static constexpr std::uint32_t kMask = 0xffffff;
  // Its own inverse: the upper half stays.
  static constexpr std::uint32_t fold(std::uint32_t x) noexcept { return x ^ x >> 12; }
  // Of an odd number mod 2^32, by Newton's iteration: each step doubles the right bits, 3 to begin with.
  static constexpr std::uint32_t inverse(std::uint32_t odd) noexcept {
    std::uint32_t r = odd;
    for (int i = 0; i < 4; ++i) r *= 2 - odd * r;
    return r;
  }
  std::uint32_t before_ = 0, after_ = 0, first_ = 1, second_ = 1, first_inverse_ = 1, second_inverse_ = 1;
};

}  // namespace uroce::memory
