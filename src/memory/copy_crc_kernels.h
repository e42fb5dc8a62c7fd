// SPDX-License-Identifier: BSD-3-Clause
// The kernels behind copy_crc. A kernel may run only where available() says so.
#pragma once
#include <cstddef>
#include <cstdint>

namespace uroce::memory::detail {

std::uint32_t copy_crc_pclmul(void* to, const void* from, std::size_t length, std::uint32_t crc) noexcept;
std::uint32_t copy_crc_vpclmul256(void* to, const void* from, std::size_t length, std::uint32_t crc) noexcept;
std::uint32_t copy_crc_vpclmul512(void* to, const void* from, std::size_t length, std::uint32_t crc) noexcept;

}  // namespace uroce::memory::detail
