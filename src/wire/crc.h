// SPDX-License-Identifier: BSD-3-Clause
// CRC-32, alone, with a copy, and as the ICRC, by the fastest instructions of the CPU at hand.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/crc_kernels.h"

namespace uroce::wire {

// By what a CPU offers, slowest first.
enum class CrcKernel : std::uint8_t {
  portable,    // ISA-L, which chooses for itself; memcpy before it
  pclmul,      // 128 bits at a time: SSE4.1, PCLMULQDQ
  vpclmul256,  // 256 bits: AVX2, VPCLMULQDQ
  vpclmul512,  // 512 bits: AVX-512 F, BW, VL, VPCLMULQDQ
};
inline constexpr std::array kCrcKernels{CrcKernel::portable, CrcKernel::pclmul, CrcKernel::vpclmul256,
                                        CrcKernel::vpclmul512};

std::string_view name(CrcKernel kernel) noexcept;

// Whether this CPU and its operating system run the kernel.
bool available(CrcKernel kernel) noexcept;

// The one that is used here: the last one available.
CrcKernel crc_kernel() noexcept;

// A given kernel, which must be available.
const CrcOps& crc_ops(CrcKernel kernel) noexcept;

namespace detail {
extern std::atomic<const CrcOps*> chosen_crc;  // constant-initialised to null; the first call puts the kernel in
const CrcOps& choose_crc() noexcept;
}  // namespace detail

inline const CrcOps& crc_ops() noexcept {
  const CrcOps* ops = detail::chosen_crc.load(std::memory_order_relaxed);
  return ops != nullptr ? *ops : detail::choose_crc();
}

// CRC-32 as zlib defines it: crc32(crc32(0, a), b) is the CRC of a followed by b.
inline std::uint32_t crc32(std::uint32_t crc, const void* data, std::size_t length) noexcept {
  return crc_ops().crc(data, length, crc);
}

// Copies `length` bytes and continues `crc` over them. The ranges must not overlap; no byte outside them is read or
// written. While another thread writes to the source the copy may be any mix of old and new bytes, but the result is
// always the CRC of exactly the bytes that are in the copy at the end.
inline std::uint32_t copy_crc(void* to, const void* from, std::size_t length, std::uint32_t crc) noexcept {
  return crc_ops().copy_crc(to, from, length, crc);
}

}  // namespace uroce::wire
