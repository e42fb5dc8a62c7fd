// SPDX-License-Identifier: BSD-3-Clause
// What an address is good for, and the addresses and MACs that follow from another.
#pragma once
#include <algorithm>
#include <bit>

#include "wire/ethernet.h"
#include "wire/ip.h"

namespace uroce::net {

using wire::IpAddress;
using wire::MacAddress;

inline constexpr IpAddress kAllNodes{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};  // RFC 4291 section 2.7.1
inline constexpr IpAddress kUnspecifiedV4 = IpAddress::v4(0, 0, 0, 0);
inline constexpr IpAddress kUnspecifiedV6{};

// May be a station's own: neither group, broadcast, nor zero.
constexpr bool is_station(const MacAddress& m) noexcept {
  return !m.is_multicast() && m != MacAddress{};
}

// May be one host's address on a link: not unspecified, loopback, multicast, or IPv4's reserved top (RFC 1122 3.2.1.3).
constexpr bool is_host(const IpAddress& a) noexcept {
  if (a.is_v4()) return a.bytes[12] != 0 && a.bytes[12] != 127 && a.bytes[12] < 224;
  constexpr IpAddress kLoopback{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  return a != kUnspecifiedV6 && a != kLoopback && !a.is_multicast();
}

// fe80::/10 (RFC 4291 section 2.5.6).
constexpr bool is_link_local(const IpAddress& a) noexcept {
  return a.bytes[0] == 0xfe && (a.bytes[1] & 0xc0u) == 0x80u;
}

// ff01:: and ff02::, and the like with flags: groups that end at the interface or at the link (RFC 4291 section 2.7).
constexpr bool is_link_scope_group(const IpAddress& a) noexcept {
  return a.bytes[0] == 0xff && (a.bytes[1] & 0x0fu) <= 2u;
}

// How many leading bits of the two are the same, as IPv6 addresses.
constexpr unsigned common_prefix(const IpAddress& a, const IpAddress& b) noexcept {
  for (std::size_t i = 0; i < 16; ++i) {
    const auto differs = static_cast<std::uint8_t>(a.bytes[i] ^ b.bytes[i]);
    if (differs != 0) return static_cast<unsigned>(i) * 8 + static_cast<unsigned>(std::countl_zero(differs));
  }
  return 128;
}

// RFC 1112 section 6.4 and RFC 2464 section 7.
constexpr MacAddress group_mac(const IpAddress& group) noexcept {
  const auto& b = group.bytes;
  if (group.is_v4()) return {{0x01, 0x00, 0x5e, static_cast<std::uint8_t>(b[13] & 0x7f), b[14], b[15]}};
  return {{0x33, 0x33, b[12], b[13], b[14], b[15]}};
}

// ff02::1:ffXX:XXXX (RFC 4291 section 2.7.1).
constexpr IpAddress solicited_node(const IpAddress& a) noexcept {
  return {{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a.bytes[13], a.bytes[14], a.bytes[15]}};
}

// fe80:: with the MAC's modified EUI-64 (RFC 4291 appendix A, RFC 2464 section 5).
constexpr IpAddress link_local_of(const MacAddress& m) noexcept {
  const auto& b = m.bytes;
  return {
      {0xfe, 0x80, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(b[0] ^ 2u), b[1], b[2], 0xff, 0xfe, b[3], b[4], b[5]}};
}

}  // namespace uroce::net
