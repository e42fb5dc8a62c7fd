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
// One pass wins at every size, so no length goes to ISA-L instead. vpclmul512 was checked in an emulator of Ice Lake
// and Tiger Lake and is not timed yet: until its figures stand here, that it beats vpclmul256 is an assumption.
#include "memory/copy_crc.h"

#include <cstring>

#include "base/assert.h"
#include "memory/copy_crc_kernels.h"
#include "wire/icrc.h"

namespace uroce::memory {
namespace detail {
namespace {

// The CRC is taken of the copy, never of the source.
std::uint32_t copy_crc_portable(void* to, const void* from, std::size_t length, std::uint32_t crc) noexcept {
  constexpr std::size_t kChunk = 8192;  // the copy is still in the first-level cache when the CRC reads it
  auto* t = static_cast<std::uint8_t*>(to);
  const auto* f = static_cast<const std::uint8_t*>(from);
  for (; length > kChunk; length -= kChunk, t += kChunk, f += kChunk) {
    std::memcpy(t, f, kChunk);
    crc = wire::crc32(crc, t, kChunk);
  }
  if (length == 0) return crc;  // the pointers may be null
  std::memcpy(t, f, length);
  return wire::crc32(crc, t, length);
}

CopyCrc function(CopyCrcKernel kernel) noexcept {
  switch (kernel) {
#if defined(__x86_64__)
    case CopyCrcKernel::pclmul: return copy_crc_pclmul;
    case CopyCrcKernel::vpclmul256: return copy_crc_vpclmul256;
    case CopyCrcKernel::vpclmul512: return copy_crc_vpclmul512;
#endif
    default: return copy_crc_portable;
  }
}

// The pointer's first value. Threads that come here at the same time store the same kernel.
std::uint32_t choose_and_copy(void* to, const void* from, std::size_t length, std::uint32_t crc) noexcept {
  const CopyCrc chosen = function(copy_crc_kernel());
  chosen_copy_crc.store(chosen, std::memory_order_relaxed);
  return chosen(to, from, length, crc);
}

}  // namespace

constinit std::atomic<CopyCrc> chosen_copy_crc{choose_and_copy};

}  // namespace detail

bool available(CopyCrcKernel kernel) noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();  // a caller may run before the C runtime's own constructors
  const bool pclmul = __builtin_cpu_supports("pclmul");
  const bool wide = pclmul && __builtin_cpu_supports("vpclmulqdq");
  switch (kernel) {
    case CopyCrcKernel::portable: return true;
    case CopyCrcKernel::pclmul: return pclmul && __builtin_cpu_supports("sse4.1");
    case CopyCrcKernel::vpclmul256: return wide && __builtin_cpu_supports("avx2");
    case CopyCrcKernel::vpclmul512:
      return wide && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl");
  }
  return false;
#else
  return kernel == CopyCrcKernel::portable;
#endif
}

CopyCrcKernel copy_crc_kernel() noexcept {
  CopyCrcKernel best = CopyCrcKernel::portable;
  for (CopyCrcKernel kernel : kCopyCrcKernels) {
    if (available(kernel)) best = kernel;
  }
  return best;
}

std::string_view name(CopyCrcKernel kernel) noexcept {
  switch (kernel) {
    case CopyCrcKernel::portable: return "portable";
    case CopyCrcKernel::pclmul: return "pclmul";
    case CopyCrcKernel::vpclmul256: return "vpclmul256";
    case CopyCrcKernel::vpclmul512: return "vpclmul512";
  }
  return "?";
}

std::uint32_t copy_crc_with(CopyCrcKernel kernel, void* to, const void* from, std::size_t length,
                            std::uint32_t crc) noexcept {
  UROCE_DASSERT(available(kernel));
  return detail::function(kernel)(to, from, length, crc);
}

}  // namespace uroce::memory
