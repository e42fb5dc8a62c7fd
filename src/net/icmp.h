// SPDX-License-Identifier: BSD-3-Clause
// ICMP (RFC 792) and ICMPv6 (RFC 4443): the common head, and echo, which looks the same in both.
#pragma once
#include "wire/big_endian.h"

namespace uroce::net {

struct Icmp {
  std::uint8_t type;
  std::uint8_t code;
  wire::be16 checksum;  // over the message; ICMPv6 (RFC 4443 section 2.3): over a pseudo header before it too
};
static_assert(wire::Header<Icmp> && sizeof(Icmp) == 4);

struct IcmpEcho {
  Icmp head;
  wire::be16 identifier;
  wire::be16 sequence;
};
static_assert(wire::Header<IcmpEcho> && sizeof(IcmpEcho) == 8);

inline constexpr std::uint8_t kProtocolIcmp = 1;
inline constexpr std::uint8_t kProtocolIcmpv6 = 58;

inline constexpr std::uint8_t kIcmpEchoReply = 0;
inline constexpr std::uint8_t kIcmpEchoRequest = 8;
inline constexpr std::uint8_t kIcmpv6EchoRequest = 128;
inline constexpr std::uint8_t kIcmpv6EchoReply = 129;

}  // namespace uroce::net
