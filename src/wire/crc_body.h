// SPDX-License-Identifier: BSD-3-Clause
// The body that the carry-less multiplication kernels share (crc_math.h has the mathematics). Each kernel's file
// defines UROCE_CRC_TARGET, the instruction sets it may use, and includes this once: everything here is compiled
// for that target alone, hence the unnamed namespace.
//
// A source byte may change at any time, so what goes into the CRC must be the register that is stored. opaque() keeps
// the compiler from loading a second time. The odd end is taken first, as a whole last block that reaches back over
// bytes of the block before: its surplus is cut out of the CRC, and in the copy it is overwritten by the loads that
// count.
#pragma once
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wire/crc_kernels.h"
#include "wire/crc_math.h"

#define UROCE_CRC_INLINE __attribute__((always_inline, target(UROCE_CRC_TARGET))) inline

namespace uroce::wire {
namespace {

template <std::size_t Width>
struct alignas(64) Ends {
  constexpr Ends() noexcept {
    for (std::size_t i = Width; i < 2 * Width; ++i) bytes[i] = 0xff;
  }
  std::uint8_t bytes[2 * Width]{};
};

// Ones in the last `kept` bytes of a block begin here.
template <std::size_t Width>
inline constexpr Ends<Width> kEnds{};

struct Xmm {
  using Block = __m128i;
  static constexpr std::size_t kWidth = 16;

  UROCE_CRC_INLINE static Block opaque(Block b) noexcept {
    asm("" : "+x"(b));
    return b;
  }
  UROCE_CRC_INLINE static Block load(const std::uint8_t* p) noexcept {
    return opaque(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  UROCE_CRC_INLINE static void store(std::uint8_t* p, Block b) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), b);
  }
  UROCE_CRC_INLINE static Block zero() noexcept { return _mm_setzero_si128(); }
  UROCE_CRC_INLINE static Block low(std::uint32_t crc) noexcept {
    return _mm_cvtsi32_si128(static_cast<int>(crc));
  }
  UROCE_CRC_INLINE static Block pair(crc_math::Pair k) noexcept {
    return _mm_set_epi64x(static_cast<long long>(k.second), static_cast<long long>(k.first));
  }
  UROCE_CRC_INLINE static Block broadcast(crc_math::Pair k) noexcept { return pair(k); }
  UROCE_CRC_INLINE static Block add(Block a, Block b) noexcept { return _mm_xor_si128(a, b); }
  // Both halves by their constants, plus `b`.
  UROCE_CRC_INLINE static Block multiply_add(Block a, Block k, Block b) noexcept {
    return add(_mm_clmulepi64_si128(a, k, 0x11), add(_mm_clmulepi64_si128(a, k, 0x00), b));
  }
  UROCE_CRC_INLINE static Block weights(const std::uint64_t* w) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(w));
  }
  UROCE_CRC_INLINE static Block keep_last(Block b, std::size_t kept) noexcept {
    return _mm_and_si128(b, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kEnds<kWidth>.bytes + kept)));
  }
  UROCE_CRC_INLINE static __m128i narrow(Block b) noexcept { return b; }
};

// The remainder of a polynomial of degree 95 at most, that is with 32 zero bits in front.
UROCE_CRC_INLINE std::uint32_t reduce(__m128i sum) noexcept {
  constexpr crc_math::Pair kReduction = crc_math::reduction();
  const __m128i k = Xmm::pair(kReduction);
  const __m128i high = _mm_srli_si128(sum, 4);  // sum div x^32 in the first half, the rest in the third 32 bits
  const __m128i quotient = _mm_clmulepi64_si128(high, k, 0x00);
  const __m128i product = _mm_clmulepi64_si128(quotient, k, 0x10);
  return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(high, product), 2));
}

// Whether the bytes are copied on the way; without, `to` is not looked at.
enum class Copying : bool { no, yes };

// At least V::kWidth bytes: four chains of folds while there is more than a stride, then sums.
template <class V, Copying kCopying>
UROCE_CRC_INLINE std::uint32_t crc_blocks(std::uint8_t* to, const std::uint8_t* from, std::size_t left, std::uint32_t crc) noexcept {
  using Block = typename V::Block;
  constexpr std::size_t kWidth = V::kWidth, kStride = 4 * kWidth;
  static_assert(2 * kStride <= crc_math::Weights::kFarthest);

  Block last = V::load(from + left - kWidth);
  if constexpr (kCopying == Copying::yes) V::store(to + left - kWidth, last);
  last = V::keep_last(last, (left - 1) % kWidth + 1);

  Block start = V::low(~crc), sum = V::zero();
  const auto next = [&]() __attribute__((always_inline, target(UROCE_CRC_TARGET))) {
    const Block b = V::load(from);
    if constexpr (kCopying == Copying::yes) {
      V::store(to, b);
      to += kWidth;
    }
    from += kWidth;
    left -= kWidth;
    return b;
  };
  if (left > kStride) {  // a whole stride in front of the last block
    Block a = next(), b = next(), c = next(), d = next();
    a = V::add(a, start);
    start = V::zero();
    constexpr crc_math::Pair kFold = crc_math::fold_by(kStride);
    const Block k = V::broadcast(kFold);
    while (left > kStride) {
      a = V::multiply_add(a, k, next());
      b = V::multiply_add(b, k, next());
      c = V::multiply_add(c, k, next());
      d = V::multiply_add(d, k, next());
    }
    const std::uint64_t* w = crc_math::kWeights.at(left + kStride);
    sum = V::multiply_add(a, V::weights(w), V::multiply_add(b, V::weights(w + kWidth / 8), sum));
    w += kWidth / 4;
    sum = V::multiply_add(c, V::weights(w), V::multiply_add(d, V::weights(w + kWidth / 8), sum));
  }
  const std::uint64_t* w = crc_math::kWeights.at(left);
  while (left > kWidth) {
    sum = V::multiply_add(V::add(next(), start), V::weights(w), sum);
    start = V::zero();
    w += kWidth / 8;
  }
  sum = V::multiply_add(V::add(last, start), V::weights(crc_math::kWeights.at(kWidth)), sum);
  return ~reduce(V::narrow(sum));
}

template <class T>
UROCE_CRC_INLINE T take(const std::uint8_t* p) noexcept {
  T v;
  std::memcpy(&v, p, sizeof v);
  asm("" : "+r"(v));
  return v;
}

// Fewer than 16 bytes: two loads that meet or overlap; the first one counts where they do.
template <Copying kCopying>
UROCE_CRC_INLINE std::uint32_t crc_few(std::uint8_t* to, const std::uint8_t* from, std::size_t length,
                                       std::uint32_t crc) noexcept {
  const auto keep = [](std::uint8_t* at, auto v) __attribute__((always_inline, target(UROCE_CRC_TARGET))) {
    if constexpr (kCopying == Copying::yes) std::memcpy(at, &v, sizeof v);
  };
  std::uint64_t first, second = 0;
  if (length == 12) {  // a BTH, as write_masked_bth() stores it
    first = take<std::uint64_t>(from);
    const auto back = take<std::uint32_t>(from + 8);
    keep(to, first);
    keep(to + 8, back);
    second = back;
  } else if (length > 8) {
    first = take<std::uint64_t>(from);
    second = take<std::uint64_t>(from + length - 8);
    keep(to + length - 8, second);
    keep(to, first);
    second >>= 8 * (16 - length);
  } else if (length >= 4) {
    const auto front = take<std::uint32_t>(from);
    const auto back = take<std::uint32_t>(from + length - 4);
    keep(to + length - 4, back);
    keep(to, front);
    first = static_cast<std::uint64_t>(back) >> 8 * (8 - length) << 32 | front;
  } else if (length >= 2) {
    const auto front = take<std::uint16_t>(from);
    const auto back = take<std::uint8_t>(from + length - 1);
    keep(to + length - 1, back);
    keep(to, front);
    first = length == 2 ? front : static_cast<std::uint64_t>(back) << 16 | front;
  } else if (length == 1) {
    const auto only = take<std::uint8_t>(from);
    keep(to, only);
    first = only;
  } else {
    return crc;
  }
  // Below 4 bytes the running CRC reaches past the end, where the weights are as right as before it.
  const __m128i block = Xmm::add(Xmm::pair({first, second}), Xmm::low(~crc));
  const __m128i weights = Xmm::weights(crc_math::kWeights.at(length));
  return ~reduce(Xmm::multiply_add(block, weights, Xmm::zero()));
}

// The CRC of the first headers of a datagram, masked in registers: N bytes, 16 at a time, the last ones as a block that
// reaches back. Every distance from the end is a constant.
template <std::size_t IpLength>
UROCE_CRC_INLINE std::uint32_t icrc_head(const std::uint8_t* ip, const IcrcMask<IpLength>& mask) noexcept {
  constexpr std::size_t kLength = IcrcMask<IpLength>::kLength, kWidth = Xmm::kWidth;
  constexpr std::size_t kLastKept = (kLength - 1) % kWidth + 1;
  const auto masked = [&](std::size_t at) __attribute__((always_inline, target(UROCE_CRC_TARGET))) {
    return _mm_or_si128(Xmm::load(ip + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(mask.bytes + at)));
  };
  __m128i block = Xmm::add(masked(0), Xmm::low(~kIcrcStart));
  __m128i sum = Xmm::zero();
  std::size_t at = 0;
  for (; at + kWidth < kLength; at += kWidth) {
    sum = Xmm::multiply_add(block, Xmm::weights(crc_math::kWeights.at(kLength - at)), sum);
    if (at + 2 * kWidth < kLength) block = masked(at + kWidth);
  }
  block = Xmm::keep_last(masked(kLength - kWidth), kLastKept);
  sum = Xmm::multiply_add(block, Xmm::weights(crc_math::kWeights.at(kWidth)), sum);
  return ~reduce(sum);
}

}  // namespace
}  // namespace uroce::wire
