// SPDX-License-Identifier: BSD-3-Clause
// 128 bits at a time.
#include "memory/copy_crc_kernels.h"

#if defined(__x86_64__)
#define UROCE_COPY_CRC_TARGET "sse4.1,pclmul"
#include "memory/copy_crc_body.h"

namespace uroce::memory::detail {

__attribute__((target(UROCE_COPY_CRC_TARGET))) std::uint32_t copy_crc_pclmul(void* to, const void* from,
                                                                             std::size_t length,
                                                                             std::uint32_t crc) noexcept {
  auto* t = static_cast<std::uint8_t*>(to);
  const auto* f = static_cast<const std::uint8_t*>(from);
  return length < Xmm::kWidth ? copy_crc_few(t, f, length, crc) : copy_crc_blocks<Xmm>(t, f, length, crc);
}

}  // namespace uroce::memory::detail
#endif
