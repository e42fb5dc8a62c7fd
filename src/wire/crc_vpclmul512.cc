// SPDX-License-Identifier: BSD-3-Clause
// 512 bits at a time; fewer than 64 bytes by one masked load and store.
#include "wire/crc_kernels.h"

#if defined(__x86_64__)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc 12 warns of its own AVX-512 header
#endif
#define UROCE_CRC_TARGET "avx512f,avx512bw,avx512vl,vpclmulqdq,pclmul"
#include "wire/crc_body.h"

namespace uroce::wire {
namespace {

struct Zmm {
  using Block = __m512i;
  static constexpr std::size_t kWidth = 64;

  UROCE_CRC_INLINE static Block opaque(Block b) noexcept {
    asm("" : "+v"(b));
    return b;
  }
  UROCE_CRC_INLINE static Block load(const std::uint8_t* p) noexcept { return opaque(_mm512_loadu_si512(p)); }
  UROCE_CRC_INLINE static void store(std::uint8_t* p, Block b) noexcept { _mm512_storeu_si512(p, b); }
  UROCE_CRC_INLINE static Block zero() noexcept { return _mm512_setzero_si512(); }
  UROCE_CRC_INLINE static Block low(std::uint32_t crc) noexcept { return _mm512_zextsi128_si512(Xmm::low(crc)); }
  UROCE_CRC_INLINE static Block broadcast(crc_math::Pair k) noexcept {
    return _mm512_broadcast_i32x4(Xmm::pair(k));
  }
  UROCE_CRC_INLINE static Block add(Block a, Block b) noexcept { return _mm512_xor_si512(a, b); }
  UROCE_CRC_INLINE static Block multiply_add(Block a, Block k, Block b) noexcept {
    constexpr int kXorOfThree = 0x96;
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(a, k, 0x11), _mm512_clmulepi64_epi128(a, k, 0x00), b,
                                     kXorOfThree);
  }
  UROCE_CRC_INLINE static Block weights(const std::uint64_t* w) noexcept { return _mm512_loadu_si512(w); }
  UROCE_CRC_INLINE static Block keep_last(Block b, std::size_t kept) noexcept {
    return _mm512_maskz_mov_epi8(~__mmask64{0} << (kWidth - kept), b);
  }
  UROCE_CRC_INLINE static __m128i narrow(Block b) noexcept {
    const __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(b), _mm512_extracti64x4_epi64(b, 1));
    return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  }
};

// 1 to 63 bytes in front of zeros. Masked bytes are not accessed: no fault, no write.
template <Copying kCopying>
UROCE_CRC_INLINE std::uint32_t crc_masked(std::uint8_t* to, const std::uint8_t* from, std::size_t length,
                                          std::uint32_t crc) noexcept {
  const __mmask64 mask = ~__mmask64{0} >> (Zmm::kWidth - length);
  const __m512i block = Zmm::opaque(_mm512_maskz_loadu_epi8(mask, from));
  if constexpr (kCopying == Copying::yes) _mm512_mask_storeu_epi8(to, mask, block);
  const __m512i weights = Zmm::weights(crc_math::kWeights.at(length));
  return ~reduce(Zmm::narrow(Zmm::multiply_add(Zmm::add(block, Zmm::low(~crc)), weights, Zmm::zero())));
}

template <Copying kCopying>
UROCE_CRC_INLINE std::uint32_t run(std::uint8_t* to, const std::uint8_t* from, std::size_t length, std::uint32_t crc) noexcept {
  if (length >= Zmm::kWidth) return crc_blocks<Zmm, kCopying>(to, from, length, crc);
  return length == 0 ? crc : crc_masked<kCopying>(to, from, length, crc);
}

#include "wire/crc_entry.h"

}  // namespace

const CrcOps kCrcVpclmul512{crc, copy_crc, icrc_v4, icrc_v6};

}  // namespace uroce::wire
#endif
