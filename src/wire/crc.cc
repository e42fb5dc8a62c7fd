// SPDX-License-Identifier: BSD-3-Clause
// The choice of a kernel, and the one that needs nothing of the CPU.
//
// Measured, ns a call: 2-core AMD Zen 3 VM (VPCLMULQDQ, no AVX-512), gcc 12 -O3, source and copy in the first-level
// cache, source aligned to a page, copy 58 bytes after one, each CRC continuing the one before; the least of 10 runs of
// the best of 15.
//
//   bytes                 16      64     256   1 024   4 096
//   memcpy               3.9     3.0     6.6    12.7    73.6
//   ISA-L CRC           11.0    18.0    24.5    87.1     341
//   memcpy, then ISA-L  11.1    17.5    27.0    95.9     404
//   portable            12.5    16.8    29.4    99.3     411
//   pclmul               8.9    10.7    24.8    87.1     351
//   vpclmul256           8.9    11.3    14.4    45.1     172
//
// One pass wins at every size, so no length goes to ISA-L instead, and the same kernels without the copy check what is
// received. vpclmul512 was checked in an emulator of Ice Lake
// and Tiger Lake and is not timed yet: until its figures stand here, that it beats vpclmul256 is an assumption.
#include "wire/crc.h"

#include <isa-l/crc.h>

#include <cstring>

#include "base/assert.h"
#include "base/copy.h"

namespace uroce::wire {
namespace {

std::uint32_t crc_portable(const void* data, std::size_t length, std::uint32_t crc) noexcept {
  return length == 0 ? crc : crc32_gzip_refl(crc, static_cast<const unsigned char*>(data), length);
}

// The CRC is taken of the copy, never of the source.
std::uint32_t copy_crc_portable(void* to, const void* from, std::size_t length, std::uint32_t crc) noexcept {
  constexpr std::size_t kChunk = 8192;  // the copy is still in the first-level cache when the CRC reads it
  auto* t = static_cast<std::uint8_t*>(to);
  const auto* f = static_cast<const std::uint8_t*>(from);
  for (; length > kChunk; length -= kChunk, t += kChunk, f += kChunk) {
    base::copy(t, f, kChunk);
    crc = crc_portable(t, kChunk, crc);
  }
  if (length == 0) return crc;  // the pointers may be null
  base::copy(t, f, length);
  return crc_portable(t, length, crc);
}

template <std::size_t IpLength>
std::uint32_t icrc_portable(const std::uint8_t* ip, std::size_t length, const IcrcMask<IpLength>& mask) noexcept {
  constexpr std::size_t kHead = IcrcMask<IpLength>::kLength;
  std::uint8_t head[kHead];
  for (std::size_t i = 0; i < kHead; ++i) head[i] = ip[i] | mask.bytes[i];
  return crc_portable(ip + kHead, length - kHead, crc_portable(head, kHead, kIcrcStart));
}
std::uint32_t icrc_v4_portable(const std::uint8_t* ip, std::size_t length) noexcept {
  return icrc_portable(ip, length, kIcrcMaskV4);
}
std::uint32_t icrc_v6_portable(const std::uint8_t* ip, std::size_t length) noexcept {
  return icrc_portable(ip, length, kIcrcMaskV6);
}

}  // namespace

const CrcOps kCrcPortable{crc_portable, copy_crc_portable, icrc_v4_portable, icrc_v6_portable};

namespace detail {

constinit std::atomic<const CrcOps*> chosen_crc{nullptr};

// Threads that come here at the same time store the same kernel.
const CrcOps& choose_crc() noexcept {
  const CrcOps& ops = crc_ops(crc_kernel());
  chosen_crc.store(&ops, std::memory_order_relaxed);
  return ops;
}

}  // namespace detail

bool available(CrcKernel kernel) noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();  // a caller may run before the C runtime's own constructors
  const bool pclmul = __builtin_cpu_supports("pclmul");
  const bool wide = pclmul && __builtin_cpu_supports("vpclmulqdq");
  switch (kernel) {
    case CrcKernel::portable: return true;
    case CrcKernel::pclmul: return pclmul && __builtin_cpu_supports("sse4.1");
    case CrcKernel::vpclmul256: return wide && __builtin_cpu_supports("avx2");
    case CrcKernel::vpclmul512:
      return wide && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl");
  }
  return false;
#else
  return kernel == CrcKernel::portable;
#endif
}

CrcKernel crc_kernel() noexcept {
  CrcKernel best = CrcKernel::portable;
  for (CrcKernel kernel : kCrcKernels) {
    if (available(kernel)) best = kernel;
  }
  return best;
}

std::string_view name(CrcKernel kernel) noexcept {
  switch (kernel) {
    case CrcKernel::portable: return "portable";
    case CrcKernel::pclmul: return "pclmul";
    case CrcKernel::vpclmul256: return "vpclmul256";
    case CrcKernel::vpclmul512: return "vpclmul512";
  }
  return "?";
}

const CrcOps& crc_ops(CrcKernel kernel) noexcept {
  UROCE_DASSERT(available(kernel));
  switch (kernel) {
#if defined(__x86_64__)
    case CrcKernel::pclmul: return kCrcPclmul;
    case CrcKernel::vpclmul256: return kCrcVpclmul256;
    case CrcKernel::vpclmul512: return kCrcVpclmul512;
#endif
    default: return kCrcPortable;
  }
}

}  // namespace uroce::wire
