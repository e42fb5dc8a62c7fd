// SPDX-License-Identifier: BSD-3-Clause
// What a kernel offers. A kernel may run only where available() says so.
#pragma once
#include <cstddef>
#include <cstdint>

namespace uroce::wire {

struct CrcOps {
  std::uint32_t (*crc)(const void* data, std::size_t length, std::uint32_t crc) noexcept;
  std::uint32_t (*copy_crc)(void* to, const void* from, std::size_t length, std::uint32_t crc) noexcept;
  // The ICRC of an IP datagram from its first byte to before the ICRC: at least IP header, UDP header and BTH.
  std::uint32_t (*icrc_v4)(const std::uint8_t* ip, std::size_t length) noexcept;
  std::uint32_t (*icrc_v6)(const std::uint8_t* ip, std::size_t length) noexcept;
};

extern const CrcOps kCrcPortable;
#if defined(__x86_64__)
extern const CrcOps kCrcPclmul, kCrcVpclmul256, kCrcVpclmul512;
#endif

// What is OR-ed over the IP, UDP and BTH headers before they enter the CRC.
template <std::size_t IpLength>
struct IcrcMask {
  static constexpr std::size_t kLength = IpLength + 8 + 12;
  std::uint8_t bytes[kLength]{};
};
inline constexpr IcrcMask<20> kIcrcMaskV4 = [] {
  IcrcMask<20> m;
  m.bytes[1] = 0xff;                         // TOS
  m.bytes[8] = 0xff;                         // TTL
  m.bytes[10] = m.bytes[11] = 0xff;          // header checksum
  m.bytes[20 + 6] = m.bytes[20 + 7] = 0xff;  // UDP checksum
  m.bytes[28 + 4] = 0xff;                    // FECN, BECN, reserved
  return m;
}();
inline constexpr IcrcMask<40> kIcrcMaskV6 = [] {
  IcrcMask<40> m;
  m.bytes[0] = 0x0f;  // traffic class and flow label, the version stays
  m.bytes[1] = m.bytes[2] = m.bytes[3] = 0xff;
  m.bytes[7] = 0xff;  // hop limit
  m.bytes[40 + 6] = m.bytes[40 + 7] = 0xff;
  m.bytes[48 + 4] = 0xff;
  return m;
}();

// crc32(0, eight bytes of ones), which every ICRC begins with.
inline constexpr std::uint32_t kIcrcStart = 0x2144df1c;

}  // namespace uroce::wire
