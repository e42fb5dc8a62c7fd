// SPDX-License-Identifier: BSD-3-Clause
// Address Resolution Protocol (RFC 826) for IPv4 over Ethernet.
#pragma once
#include "wire/ethernet.h"

namespace uroce::net {

struct Arp {
  wire::be16 hardware_type;
  wire::be16 protocol_type;
  std::uint8_t hardware_length;
  std::uint8_t protocol_length;
  wire::be16 operation;
  wire::MacAddress sender_mac;
  std::array<std::uint8_t, 4> sender;
  wire::MacAddress target_mac;
  std::array<std::uint8_t, 4> target;
};
static_assert(wire::Header<Arp> && sizeof(Arp) == 28);

inline constexpr std::uint16_t kArpHardwareEthernet = 1;
inline constexpr std::uint16_t kArpRequest = 1;
inline constexpr std::uint16_t kArpReply = 2;

}  // namespace uroce::net
