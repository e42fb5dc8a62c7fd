// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.h"

#include <isa-l/crc.h>

#include <cstring>

namespace uroce::wire {
namespace {

// What is OR-ed over the IP, UDP and BTH headers before they enter the CRC.
template <std::size_t IpLength>
struct alignas(16) Mask {
  static constexpr std::size_t kLength = IpLength + sizeof(Udp) + sizeof(Bth);
  std::uint8_t bytes[(kLength + 15) / 16 * 16]{};
};

consteval auto ipv4_mask() {
  Mask<sizeof(Ipv4)> m;
  m.bytes[1] = 0xff;                     // TOS
  m.bytes[8] = 0xff;                     // TTL
  m.bytes[10] = m.bytes[11] = 0xff;      // header checksum
  m.bytes[20 + 6] = m.bytes[20 + 7] = 0xff;  // UDP checksum
  m.bytes[28 + 4] = 0xff;                // FECN, BECN, reserved
  return m;
}

consteval auto ipv6_mask() {
  Mask<sizeof(Ipv6)> m;
  m.bytes[0] = 0x0f;  // traffic class and flow label, the version stays
  m.bytes[1] = m.bytes[2] = m.bytes[3] = 0xff;
  m.bytes[7] = 0xff;  // hop limit
  m.bytes[40 + 6] = m.bytes[40 + 7] = 0xff;
  m.bytes[48 + 4] = 0xff;
  return m;
}

template <std::size_t IpLength>
std::uint32_t masked(Bytes ip, const Mask<IpLength>& mask) noexcept {
  constexpr std::size_t kLength = Mask<IpLength>::kLength;
  static_assert(kLength % 4 == 0);
  alignas(16) std::uint8_t head[kLength];
  for (std::size_t i = 0; i < kLength; i += 4) {  // becomes three or five vector ORs
    std::uint32_t word, ones;
    std::memcpy(&word, ip.data() + i, 4);
    std::memcpy(&ones, mask.bytes + i, 4);
    word |= ones;
    std::memcpy(head + i, &word, 4);
  }
  const std::uint32_t crc = crc32(kIcrcStart, head, kLength);
  return crc32(crc, ip.data() + kLength, ip.size() - kLength - kIcrcLength);
}

constexpr auto kIpv4Mask = ipv4_mask();
constexpr auto kIpv6Mask = ipv6_mask();

}  // namespace

std::uint32_t crc32(std::uint32_t crc, const void* data, std::size_t length) noexcept {
  return length == 0 ? crc : crc32_gzip_refl(crc, static_cast<const unsigned char*>(data), length);
}

std::uint32_t icrc(const Datagram& d) noexcept { return d.is_v6() ? masked(d.ip(), kIpv6Mask) : masked(d.ip(), kIpv4Mask); }

bool icrc_matches(const Datagram& d) noexcept {
  const Bytes t = d.transport();
  if (t.size() < sizeof(Bth) + kIcrcLength) return false;
  std::uint8_t expected[kIcrcLength];
  store_icrc(expected, icrc(d));
  return std::memcmp(expected, t.data() + t.size() - kIcrcLength, kIcrcLength) == 0;
}

}  // namespace uroce::wire
