// SPDX-License-Identifier: BSD-3-Clause
// Ethernet II and 802.1Q.
#pragma once
#include <array>
#include <compare>

#include "wire/big_endian.h"

namespace uroce::wire {

struct MacAddress {
  std::array<std::uint8_t, 6> bytes{};
  [[nodiscard]] constexpr bool is_multicast() const noexcept { return (bytes[0] & 1u) != 0; }  // broadcast too
  friend constexpr auto operator<=>(const MacAddress&, const MacAddress&) = default;
};
inline constexpr MacAddress kBroadcastMac{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

struct Ethernet {
  MacAddress destination;
  MacAddress source;
  be16 ether_type;
};
static_assert(Header<Ethernet> && sizeof(Ethernet) == 14);

struct VlanTag {  // follows ether_type 0x8100
  be16 tci;       // priority 3 bits, DEI 1 bit, VLAN id 12 bits
  be16 ether_type;
};
static_assert(Header<VlanTag> && sizeof(VlanTag) == 4);

inline constexpr std::uint16_t kEtherIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherArp = 0x0806;
inline constexpr std::uint16_t kEtherVlan = 0x8100;
inline constexpr std::uint16_t kEtherIpv6 = 0x86dd;
inline constexpr std::uint16_t kEtherRoceV1 = 0x8915;

inline constexpr std::size_t kMinEthernetFrame = 60;  // without FCS; shorter frames are padded by whoever sends them

constexpr std::uint16_t vlan_id(std::uint16_t tci) noexcept { return tci & 0x0fff; }

}  // namespace uroce::wire
