// SPDX-License-Identifier: BSD-3-Clause
// Neighbour discovery for IPv6 (RFC 4861), the two messages that resolve addresses; Ethernet's options (RFC 2464).
#pragma once
#include "net/icmp.h"
#include "wire/ethernet.h"

namespace uroce::net {

// A solicitation or an advertisement (sections 4.3 and 4.4); options follow.
struct NeighbourMessage {
  Icmp head;
  wire::be32 flags;  // reserved in a solicitation
  std::array<std::uint8_t, 16> target;
};
static_assert(wire::Header<NeighbourMessage> && sizeof(NeighbourMessage) == 24);

// Section 4.6.1. The length of every option is in units of 8 bytes.
struct LinkLayerOption {
  std::uint8_t type;
  std::uint8_t length;
  wire::MacAddress mac;
};
static_assert(wire::Header<LinkLayerOption> && sizeof(LinkLayerOption) == 8);

inline constexpr std::uint8_t kNeighbourSolicitation = 135;
inline constexpr std::uint8_t kNeighbourAdvertisement = 136;
inline constexpr std::uint8_t kOptionSourceMac = 1;
inline constexpr std::uint8_t kOptionTargetMac = 2;
inline constexpr std::uint32_t kAdvertSolicited = 1u << 30;
inline constexpr std::uint32_t kAdvertOverride = 1u << 29;
// What a router would have lowered (section 7.1): a message with another hop limit came from beyond the link.
inline constexpr std::uint8_t kNdpHopLimit = 255;

}  // namespace uroce::net
