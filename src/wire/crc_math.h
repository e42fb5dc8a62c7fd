// SPDX-License-Identifier: BSD-3-Clause
// The constants of the carry-less multiplication kernels, computed by the compiler.
//
// Bytes are a polynomial over GF(2), the first bit sent the highest power. CRC-32 sends the least significant bit of a
// byte first, so a little-endian load of N bits has x^(N-1) in bit 0 and x^0 in bit N-1. The CRC of a message M is
// M * x^32 mod P once the running CRC has been added to (XORed into) its first 32 bits; the CRC is inverted before and
// after.
//
// A carry-less product of two such 64-bit numbers has 127 bits, read as 128: it stands for a * b * x. Every constant
// below is therefore x^(n-1) where the text says "times x^n". A power of x reduced mod P has degree below 32 and sits
// in the upper half of its 64-bit number; a * b * x with 64 bits has degree 95 at most.
//
// Fold: a 128-bit block is A * x^64 + B. The same block D bits earlier in the message is worth
// A * x^(D+64) + B * x^D, which mod P are two products, added to the block that stands there.
//
// Weight: what a half block adds to the CRC depends only on its distance from the end. When its first byte is i bytes
// from the end it is half * x^(8*i - 64), and with the CRC's own x^32, half * x^(8*i - 32). So the last few hundred
// bytes need no chain of folds: weigh each half, add them all up. x has an inverse mod P, thus negative powers are as
// good: a half may reach past the end, with zeros there.
//
// Reduce: the sum S has degree 95 at most. With Q = S div x^32 (degree 63) and mu = x^95 div P (degree 63), S div P is
// exactly Q * mu div x^63. Only the lowest 32 powers of S - (S div P) * P are not zero; x^32 in P doesn't reach them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace uroce::wire::crc_math {

// P without x^32, bit 31 for x^0.
inline constexpr std::uint32_t kPolynomial = 0xedb88320;

constexpr std::uint32_t times_x(std::uint32_t r) noexcept { return r >> 1 ^ ((r & 1) != 0 ? kPolynomial : 0); }

// P has the term 1: adding P when r has it as well makes the sum divisible by x, and P's x^32 becomes x^31.
constexpr std::uint32_t over_x(std::uint32_t r) noexcept {
  return (r >> 31) != 0 ? (r ^ kPolynomial) << 1 | 1 : r << 1;
}

// x^n mod P for any n, in the upper half of a reflected 64-bit number.
constexpr std::uint64_t power(int n) noexcept {
  std::uint32_t r = 0x80000000;
  for (; n > 0; --n) r = times_x(r);
  for (; n < 0; ++n) r = over_x(r);
  return static_cast<std::uint64_t>(r) << 32;
}

// For the first and second half of a 128-bit block.
struct Pair {
  std::uint64_t first, second;
};

constexpr Pair fold_by(int bytes) noexcept { return {power(8 * bytes + 64 - 1), power(8 * bytes - 1)}; }

// mu, and P without x^32 moved up by 31, so that the product's lowest 32 powers fall into the third 32 bits.
constexpr Pair reduction() noexcept {
  std::uint64_t mu = 0;  // long division: bit i for x^(63-i)
  std::uint32_t r = 0x80000000;
  for (int n = 1; n <= 95; ++n) {  // r = x^n mod P; a carry out at step n is a 1 in the quotient at x^(95-n)
    if ((r & 1) != 0) mu |= std::uint64_t{1} << (63 - (95 - n));
    r = times_x(r);
  }
  return {mu, static_cast<std::uint64_t>(kPolynomial) << 1};
}

// The weights of neighbouring half blocks lie side by side: a row for each distance mod 8, the farthest first.
class Weights {
 public:
  static constexpr int kFarthest = 512;  // two strides of four 512-bit blocks

  constexpr Weights() noexcept {
    for (int row = 0; row < kRows; ++row) {
      std::uint64_t w = power(8 * (kFarthest + row) - 32 - 1);
      for (auto& entry : weight_[static_cast<std::size_t>(row)]) {
        entry = w;
        auto r = static_cast<std::uint32_t>(w >> 32);
        for (int i = 0; i < 64; ++i) r = over_x(r);
        w = static_cast<std::uint64_t>(r) << 32;
      }
    }
  }

  // For the half block whose first byte is `distance` (1 to kFarthest) bytes from the end, then for its followers.
  constexpr const std::uint64_t* at(std::size_t distance) const noexcept {
    return weight_[distance % kRows].data() + (kFarthest / kRows - distance / kRows);
  }

 private:
  static constexpr int kRows = 8;
  // A 512-bit block at distance 1 reaches down to -55.
  alignas(64) std::array<std::array<std::uint64_t, kFarthest / kRows + 8>, kRows> weight_{};
};

inline constexpr Weights kWeights{};

}  // namespace uroce::wire::crc_math
