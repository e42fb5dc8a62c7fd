// SPDX-License-Identifier: BSD-3-Clause
// 256 bits at a time.
#include "wire/crc_kernels.h"

#if defined(__x86_64__)
#define UROCE_CRC_TARGET "avx2,vpclmulqdq,pclmul"
#include "wire/crc_body.h"

namespace uroce::wire {
namespace {

struct Ymm {
  using Block = __m256i;
  static constexpr std::size_t kWidth = 32;

  UROCE_CRC_INLINE static Block load(const std::uint8_t* p) noexcept {
    Block b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    asm("" : "+x"(b));
    return b;
  }
  UROCE_CRC_INLINE static void store(std::uint8_t* p, Block b) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), b);
  }
  UROCE_CRC_INLINE static Block zero() noexcept { return _mm256_setzero_si256(); }
  UROCE_CRC_INLINE static Block low(std::uint32_t crc) noexcept { return _mm256_zextsi128_si256(Xmm::low(crc)); }
  UROCE_CRC_INLINE static Block broadcast(crc_math::Pair k) noexcept {
    return _mm256_broadcastsi128_si256(Xmm::pair(k));
  }
  UROCE_CRC_INLINE static Block add(Block a, Block b) noexcept { return _mm256_xor_si256(a, b); }
  UROCE_CRC_INLINE static Block multiply_add(Block a, Block k, Block b) noexcept {
    return add(_mm256_clmulepi64_epi128(a, k, 0x11), add(_mm256_clmulepi64_epi128(a, k, 0x00), b));
  }
  UROCE_CRC_INLINE static Block weights(const std::uint64_t* w) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
  }
  UROCE_CRC_INLINE static Block keep_last(Block b, std::size_t kept) noexcept {
    return _mm256_and_si256(b, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kEnds<kWidth>.bytes + kept)));
  }
  UROCE_CRC_INLINE static __m128i narrow(Block b) noexcept {
    return _mm_xor_si128(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1));
  }
};

template <Copying kCopying>
UROCE_CRC_INLINE std::uint32_t run(std::uint8_t* to, const std::uint8_t* from, std::size_t length, std::uint32_t crc) noexcept {
  if (length >= Ymm::kWidth) return crc_blocks<Ymm, kCopying>(to, from, length, crc);
  return length < Xmm::kWidth ? crc_few<kCopying>(to, from, length, crc) : crc_blocks<Xmm, kCopying>(to, from, length, crc);
}

#include "wire/crc_entry.h"

}  // namespace

const CrcOps kCrcVpclmul256{crc, copy_crc, icrc_v4, icrc_v6};

}  // namespace uroce::wire
#endif
