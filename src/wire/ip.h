// SPDX-License-Identifier: BSD-3-Clause
// IPv4 (RFC 791) and IPv6 (RFC 8200) base headers, and one address type for both.
#pragma once
#include <array>
#include <compare>
#include <cstring>

#include "wire/big_endian.h"

namespace uroce::wire {

// An IPv6 address, or an IPv4 one as ::ffff:a.b.c.d: exactly the GID that RoCEv2 makes of it.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};

  static constexpr IpAddress v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) noexcept {
    return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}};
  }
  static constexpr IpAddress v4(const std::array<std::uint8_t, 4>& b) noexcept { return v4(b[0], b[1], b[2], b[3]); }
  [[nodiscard]] constexpr std::array<std::uint8_t, 4> v4_bytes() const noexcept {
    return {bytes[12], bytes[13], bytes[14], bytes[15]};
  }
  [[nodiscard]] constexpr bool is_v4() const noexcept {
    for (int i = 0; i < 10; ++i) {
      if (bytes[static_cast<std::size_t>(i)] != 0) return false;
    }
    return bytes[10] == 0xff && bytes[11] == 0xff;
  }
  [[nodiscard]] constexpr bool is_multicast() const noexcept {
    return is_v4() ? (bytes[12] & 0xf0u) == 0xe0u : bytes[0] == 0xff;
  }
  friend constexpr auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

struct Ipv4 {
  std::uint8_t version_ihl;
  std::uint8_t tos;  // DSCP 7:2, ECN 1:0
  be16 total_length; // header, UDP and everything up to and with the ICRC
  be16 identification;
  be16 flags_fragment;
  std::uint8_t ttl;
  std::uint8_t protocol;
  be16 checksum;
  std::array<std::uint8_t, 4> source;
  std::array<std::uint8_t, 4> destination;
};
static_assert(Header<Ipv4> && sizeof(Ipv4) == 20);

struct Ipv6 {
  be32 version_class_flow;
  be16 payload_length;
  std::uint8_t next_header;
  std::uint8_t hop_limit;
  std::array<std::uint8_t, 16> source;
  std::array<std::uint8_t, 16> destination;
  [[nodiscard]] constexpr std::uint8_t traffic_class() const noexcept {
    return static_cast<std::uint8_t>(version_class_flow.get() >> 20);
  }
};
static_assert(Header<Ipv6> && sizeof(Ipv6) == 40);

inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::uint16_t kIpv4DontFragment = 0x4000;
inline constexpr std::uint16_t kIpv4MoreFragments = 0x2000;
inline constexpr std::uint16_t kIpv4FragmentOffset = 0x1fff;

enum class Ecn : std::uint8_t { not_ect = 0, ect1 = 1, ect0 = 2, ce = 3 };

// One's complement sum of 16-bit words (RFC 1071). A header whose checksum field is right sums to 0xffff.
constexpr std::uint16_t ipv4_header_sum(const Ipv4& h) noexcept {
  std::uint32_t sum = static_cast<std::uint32_t>(h.version_ihl << 8 | h.tos) + h.total_length.get() +
                      h.identification.get() + h.flags_fragment.get() +
                      static_cast<std::uint32_t>(h.ttl << 8 | h.protocol) + h.checksum.get();
  for (std::size_t i = 0; i < 4; i += 2) {
    sum += static_cast<std::uint32_t>(h.source[i] << 8 | h.source[i + 1]);
    sum += static_cast<std::uint32_t>(h.destination[i] << 8 | h.destination[i + 1]);
  }
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

}  // namespace uroce::wire
