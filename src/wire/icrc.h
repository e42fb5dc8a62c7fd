// SPDX-License-Identifier: BSD-3-Clause
// The invariant CRC (IBTA 7.8.1, annex A17.3.3): CRC-32 (polynomial 0x04C11DB7, reflected) over 8 bytes of ones and the
// IP datagram without the ICRC itself, with the fields that routers may change replaced by ones: IPv4 TOS, TTL and
// header checksum; IPv6 traffic class, flow label and hop limit; the UDP checksum; BTH byte 4. Sent least significant
// byte first.
#pragma once
#include <cstddef>
#include <cstdint>

#include "wire/frame.h"

namespace uroce::wire {

// CRC-32 as zlib defines it: crc32(crc32(0, a), b) is the CRC of a followed by b. Runs at memory speed (ISA-L chooses
// PCLMULQDQ or AVX-512 at run time).
std::uint32_t crc32(std::uint32_t crc, const void* data, std::size_t length) noexcept;

// crc32(0, eight bytes of ones).
inline constexpr std::uint32_t kIcrcStart = 0x2144df1c;

// The ICRC of a located datagram, whatever its trailer says. The datagram must hold a BTH and a trailer (16 bytes).
std::uint32_t icrc(const Datagram& d) noexcept;

// Whether the trailer is right; false for a datagram too short to carry one.
bool icrc_matches(const Datagram& d) noexcept;

inline void store_icrc(std::uint8_t* trailer, std::uint32_t crc) noexcept {
  trailer[0] = static_cast<std::uint8_t>(crc);
  trailer[1] = static_cast<std::uint8_t>(crc >> 8);
  trailer[2] = static_cast<std::uint8_t>(crc >> 16);
  trailer[3] = static_cast<std::uint8_t>(crc >> 24);
}

}  // namespace uroce::wire
