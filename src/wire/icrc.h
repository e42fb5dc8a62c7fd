// SPDX-License-Identifier: BSD-3-Clause
// The invariant CRC (IBTA 7.8.1, annex A17.3.3): CRC-32 (polynomial 0x04C11DB7, reflected) over 8 bytes of ones and the
// IP datagram without the ICRC itself, with the fields that routers may change replaced by ones: IPv4 TOS, TTL and
// header checksum; IPv6 traffic class, flow label and hop limit; the UDP checksum; BTH byte 4. Sent least significant
// byte first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wire/crc.h"
#include "wire/frame.h"

namespace uroce::wire {

// The ICRC of a located datagram, whatever its trailer says. The datagram must hold a BTH and a trailer (16 bytes).
inline std::uint32_t icrc(const Datagram& d) noexcept {
  const Bytes ip = d.ip();
  const std::size_t length = ip.size() - kIcrcLength;
  return d.is_v6() ? crc_ops().icrc_v6(ip.data(), length) : crc_ops().icrc_v4(ip.data(), length);
}

inline void store_icrc(std::uint8_t* trailer, std::uint32_t crc) noexcept {
  trailer[0] = static_cast<std::uint8_t>(crc);
  trailer[1] = static_cast<std::uint8_t>(crc >> 8);
  trailer[2] = static_cast<std::uint8_t>(crc >> 16);
  trailer[3] = static_cast<std::uint8_t>(crc >> 24);
}

// Whether the trailer is right; false for a datagram too short to carry one.
inline bool icrc_matches(const Datagram& d) noexcept {
  const Bytes t = d.transport();
  if (t.size() < sizeof(Bth) + kIcrcLength) return false;
  std::uint8_t expected[kIcrcLength];
  store_icrc(expected, icrc(d));
  return std::memcmp(expected, t.data() + t.size() - kIcrcLength, kIcrcLength) == 0;
}

}  // namespace uroce::wire
