// SPDX-License-Identifier: BSD-3-Clause
// 512 bits at a time; fewer than 64 bytes by one masked load and store.
#include "memory/copy_crc_kernels.h"

#if defined(__x86_64__)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc 12 warns of its own AVX-512 header
#endif
#define UROCE_COPY_CRC_TARGET "avx512f,avx512bw,avx512vl,vpclmulqdq,pclmul"
#include "memory/copy_crc_body.h"

namespace uroce::memory {
namespace {

struct Zmm {
  using Block = __m512i;
  static constexpr std::size_t kWidth = 64;

  UROCE_COPY_CRC_INLINE static Block opaque(Block b) noexcept {
    asm("" : "+v"(b));
    return b;
  }
  UROCE_COPY_CRC_INLINE static Block load(const std::uint8_t* p) noexcept { return opaque(_mm512_loadu_si512(p)); }
  UROCE_COPY_CRC_INLINE static void store(std::uint8_t* p, Block b) noexcept { _mm512_storeu_si512(p, b); }
  UROCE_COPY_CRC_INLINE static Block zero() noexcept { return _mm512_setzero_si512(); }
  UROCE_COPY_CRC_INLINE static Block low(std::uint32_t crc) noexcept { return _mm512_zextsi128_si512(Xmm::low(crc)); }
  UROCE_COPY_CRC_INLINE static Block broadcast(crc_math::Pair k) noexcept {
    return _mm512_broadcast_i32x4(Xmm::pair(k));
  }
  UROCE_COPY_CRC_INLINE static Block add(Block a, Block b) noexcept { return _mm512_xor_si512(a, b); }
  UROCE_COPY_CRC_INLINE static Block multiply_add(Block a, Block k, Block b) noexcept {
    constexpr int kXorOfThree = 0x96;
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(a, k, 0x11), _mm512_clmulepi64_epi128(a, k, 0x00), b,
                                     kXorOfThree);
  }
  UROCE_COPY_CRC_INLINE static Block weights(const std::uint64_t* w) noexcept { return _mm512_loadu_si512(w); }
  UROCE_COPY_CRC_INLINE static Block keep_last(Block b, std::size_t kept) noexcept {
    return _mm512_maskz_mov_epi8(~__mmask64{0} << (kWidth - kept), b);
  }
  UROCE_COPY_CRC_INLINE static __m128i narrow(Block b) noexcept {
    const __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(b), _mm512_extracti64x4_epi64(b, 1));
    return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  }
};

// 1 to 63 bytes in front of zeros. Masked bytes are not accessed: no fault, no write.
UROCE_COPY_CRC_INLINE std::uint32_t copy_crc_masked(std::uint8_t* to, const std::uint8_t* from, std::size_t length,
                                                    std::uint32_t crc) noexcept {
  const __mmask64 mask = ~__mmask64{0} >> (Zmm::kWidth - length);
  const __m512i block = Zmm::opaque(_mm512_maskz_loadu_epi8(mask, from));
  _mm512_mask_storeu_epi8(to, mask, block);
  const __m512i weights = Zmm::weights(crc_math::kWeights.at(length));
  return ~reduce(Zmm::narrow(Zmm::multiply_add(Zmm::add(block, Zmm::low(~crc)), weights, Zmm::zero())));
}

}  // namespace

namespace detail {

__attribute__((target(UROCE_COPY_CRC_TARGET))) std::uint32_t copy_crc_vpclmul512(void* to, const void* from,
                                                                                 std::size_t length,
                                                                                 std::uint32_t crc) noexcept {
  auto* t = static_cast<std::uint8_t*>(to);
  const auto* f = static_cast<const std::uint8_t*>(from);
  if (length >= Zmm::kWidth) return copy_crc_blocks<Zmm>(t, f, length, crc);
  return length == 0 ? crc : copy_crc_masked(t, f, length, crc);
}

}  // namespace detail
}  // namespace uroce::memory
#endif
