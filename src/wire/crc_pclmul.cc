// SPDX-License-Identifier: BSD-3-Clause
// 128 bits at a time.
#include "wire/crc_kernels.h"

#if defined(__x86_64__)
#define UROCE_CRC_TARGET "sse4.1,pclmul"
#include "wire/crc_body.h"

namespace uroce::wire {
namespace {

template <Copying kCopying>
UROCE_CRC_INLINE std::uint32_t run(std::uint8_t* to, const std::uint8_t* from, std::size_t length, std::uint32_t crc) noexcept {
  return length < Xmm::kWidth ? crc_few<kCopying>(to, from, length, crc) : crc_blocks<Xmm, kCopying>(to, from, length, crc);
}

#include "wire/crc_entry.h"

}  // namespace

const CrcOps kCrcPclmul{crc, copy_crc, icrc_v4, icrc_v6};

}  // namespace uroce::wire
#endif
