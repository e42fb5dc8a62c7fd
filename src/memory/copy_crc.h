// SPDX-License-Identifier: BSD-3-Clause
// Copy and CRC-32 in one pass, by the fastest instructions of the CPU at hand.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace uroce::memory {

// By what a CPU offers, slowest first.
enum class CopyCrcKernel : std::uint8_t {
  portable,    // memcpy, then ISA-L over the copy
  pclmul,      // 128 bits at a time: SSE4.1, PCLMULQDQ
  vpclmul256,  // 256 bits: AVX2, VPCLMULQDQ
  vpclmul512,  // 512 bits: AVX-512 F, BW, VL, VPCLMULQDQ
};
inline constexpr std::array kCopyCrcKernels{CopyCrcKernel::portable, CopyCrcKernel::pclmul, CopyCrcKernel::vpclmul256,
                                            CopyCrcKernel::vpclmul512};

std::string_view name(CopyCrcKernel kernel) noexcept;

// Whether this CPU and its operating system run the kernel.
bool available(CopyCrcKernel kernel) noexcept;

// The one that copy_crc uses here: the last one available.
CopyCrcKernel copy_crc_kernel() noexcept;

// copy_crc by a given kernel, which must be available.
std::uint32_t copy_crc_with(CopyCrcKernel kernel, void* to, const void* from, std::size_t length,
                            std::uint32_t crc) noexcept;

namespace detail {
using CopyCrc = std::uint32_t (*)(void*, const void*, std::size_t, std::uint32_t) noexcept;
extern std::atomic<CopyCrc> chosen_copy_crc;  // constant-initialised; the first call puts the kernel in
}  // namespace detail

// Copies `length` bytes and continues `crc` (as wire::crc32) over them. The ranges must not overlap; no byte outside
// them is read or written. While another thread writes to the source the copy may be any mix of old and new bytes, but
// the result is always the CRC of exactly the bytes that are in the copy at the end.
inline std::uint32_t copy_crc(void* to, const void* from, std::size_t length, std::uint32_t crc) noexcept {
  return detail::chosen_copy_crc.load(std::memory_order_relaxed)(to, from, length, crc);
}

}  // namespace uroce::memory
