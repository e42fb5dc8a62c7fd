// SPDX-License-Identifier: BSD-3-Clause
// Traffic class changes in a finished frame: by its sender for another class than the template's, by a switch for a mark.
// Neither DSCP and ECN nor the IPv4 checksum are under the ICRC.
#pragma once
#include <cstdint>
#include <span>

#include "wire/ethernet.h"
#include "wire/ip.h"

namespace uroce::wire {

// `ip`: a whole IPv4 or IPv6 header.
inline void set_traffic_class(std::uint8_t* ip, std::uint8_t traffic_class) noexcept {
  if (ip[0] >> 4 == 6) {
    auto& h = *reinterpret_cast<Ipv6*>(ip);
    h.version_class_flow.set((h.version_class_flow.get() & 0xf00fffffu) | std::uint32_t{traffic_class} << 20);
    return;
  }
  auto& h = *reinterpret_cast<Ipv4*>(ip);
  // RFC 1624, equation 3; only the low byte of the word changes.
  std::uint32_t sum = static_cast<std::uint16_t>(~h.checksum.get());
  sum += static_cast<std::uint16_t>(~std::uint32_t{h.tos}) + std::uint32_t{traffic_class};
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  h.checksum.set(static_cast<std::uint16_t>(~sum));
  h.tos = traffic_class;
}

// "Congestion experienced", as a switch does it: only when the sender says that it understands. True: the frame carries the
// mark now.
inline bool mark_ce(std::span<std::uint8_t> frame) noexcept {
  std::size_t at = sizeof(Ethernet);
  if (frame.size() < at + sizeof(VlanTag)) return false;
  std::uint16_t type = reinterpret_cast<const Ethernet*>(frame.data())->ether_type.get();
  if (type == kEtherVlan) {
    type = reinterpret_cast<const VlanTag*>(frame.data() + at)->ether_type.get();
    at += sizeof(VlanTag);
  }
  const bool v6 = type == kEtherIpv6;
  if ((!v6 && type != kEtherIpv4) || frame.size() < at + (v6 ? sizeof(Ipv6) : sizeof(Ipv4))) return false;
  std::uint8_t* ip = frame.data() + at;
  const std::uint8_t tc = v6 ? reinterpret_cast<const Ipv6*>(ip)->traffic_class() : reinterpret_cast<const Ipv4*>(ip)->tos;
  if (static_cast<Ecn>(tc & 3u) == Ecn::not_ect) return false;
  set_traffic_class(ip, tc | 3u);
  return true;
}

}  // namespace uroce::wire
