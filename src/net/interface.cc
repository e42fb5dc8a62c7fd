// SPDX-License-Identifier: BSD-3-Clause
// What a destination resolves to, and what received frames are: ARP and IPv4. IPv6 is in interface_v6.cc.
#include "net/interface.h"

#include "net/arp.h"
#include "net/icmp.h"

namespace uroce::net {
namespace {

template <wire::Header H>
const H& head(Bytes b) noexcept {
  return *reinterpret_cast<const H*>(b.data());
}

}  // namespace

std::optional<MacAddress> Interface::resolve(const IpAddress& destination) noexcept {
  if (destination.is_multicast()) return group_mac(destination);
  if (owns(destination)) return mac_;
  const auto hop = next_hop(destination);
  if (!hop) {
    drop(Counter::no_route);
    return std::nullopt;
  }
  return neighbours_.resolve(*hop);
}

Resolution Interface::resolution(const IpAddress& destination) const noexcept {
  if (destination.is_multicast() || owns(destination)) return Resolution::resolved;
  const auto hop = next_hop(destination);
  return hop ? neighbours_.resolution(*hop) : Resolution::no_route;
}

bool Interface::hold(const IpAddress& destination) noexcept {
  if (destination.is_multicast() || owns(destination)) return true;
  const auto hop = next_hop(destination);
  if (!hop) drop(Counter::no_route);
  return hop && neighbours_.hold(*hop);
}

void Interface::release(const IpAddress& destination) noexcept {
  if (destination.is_multicast() || owns(destination)) return;
  if (const auto hop = next_hop(destination)) neighbours_.release(*hop);
}

bool Interface::accepts(const MacAddress& destination) const noexcept {
  if (destination == mac_ || destination == wire::kBroadcastMac) return true;
  const auto groups = multicast_groups();
  return std::find(groups.begin(), groups.end(), destination) != groups.end();
}

void Interface::on_frame(Bytes frame, base::Instant now) noexcept {
  if (frame.size() < sizeof(wire::Ethernet)) return drop(Counter::frame_truncated);
  const auto& ethernet = head<wire::Ethernet>(frame);
  if (!is_station(ethernet.source)) return drop(Counter::bad_source_mac);
  if (ethernet.source == mac_) return drop(Counter::own_frames);
  if (!accepts(ethernet.destination)) return drop(Counter::other_station);
  const Bytes packet = frame.subspan(sizeof(wire::Ethernet));
  switch (ethernet.ether_type.get()) {
    case wire::kEtherArp:
      return on_arp(packet, now);
    case wire::kEtherIpv4:
      return on_ipv4(ethernet, packet);
    case wire::kEtherIpv6:
      return on_ipv6(ethernet, packet, now);
    default:
      return drop(Counter::other_protocol);
  }
}

// An address of another link would only take up room: nothing is ever sent to it directly.
void Interface::learn(const IpAddress& neighbour, const MacAddress& mac, base::Instant now) noexcept {
  if (!routes_.on_link(neighbour)) return drop(Counter::neighbour_off_link);
  neighbours_.on_solicited_by(neighbour, mac, now);
}

void Interface::owe_reply(const Reply& r) noexcept {
  if (reply_count_ == kMaxReplies) return drop(Counter::reply_queue_full);
  replies_[(reply_first_ + reply_count_++) % kMaxReplies] = r;
}

void Interface::on_arp(Bytes packet, base::Instant now) noexcept {
  if (packet.size() < sizeof(Arp)) return drop(Counter::frame_truncated);
  const auto& arp = head<Arp>(packet);
  const bool request = arp.operation.get() == kArpRequest;
  if (arp.hardware_type.get() != kArpHardwareEthernet || arp.protocol_type.get() != wire::kEtherIpv4 ||
      arp.hardware_length != sizeof(MacAddress) || arp.protocol_length != 4 ||
      (!request && arp.operation.get() != kArpReply)) {
    return drop(Counter::arp_malformed);
  }
  const IpAddress sender = IpAddress::v4(arp.sender), target = IpAddress::v4(arp.target);
  const bool probe = request && sender == kUnspecifiedV4;  // RFC 5227 section 1.1: the asker would like the address
  if (!is_station(arp.sender_mac) || arp.sender_mac == mac_ || (!probe && !is_host(sender))) {
    return drop(Counter::arp_bad_sender);
  }
  if (owns(sender)) return drop(Counter::address_conflicts);
  const auto own = gids().find(target);
  if (!own && (probe || target != sender)) return drop(Counter::arp_other_target);
  counters_.add(request ? Counter::rx_arp_requests : Counter::rx_arp_replies);
  // An announcement, gratuitous ARP (RFC 5944 section 4.6): a request or a reply for the sender's own address.
  if (!own) return neighbours_.on_advertised(sender, arp.sender_mac, false, true, now);
  if (!request) return neighbours_.on_advertised(sender, arp.sender_mac, true, true, now);
  if (!probe) learn(sender, arp.sender_mac, now);
  owe_reply({static_cast<std::uint8_t>(*own), !probe, arp.sender_mac, sender});
}

void Interface::on_ipv4(const wire::Ethernet& ethernet, Bytes packet) noexcept {
  if (packet.size() < sizeof(wire::Ipv4)) return drop(Counter::frame_truncated);
  const auto& ip = head<wire::Ipv4>(packet);
  const unsigned words = ip.version_ihl & 15u;  // of the header
  if (ip.version_ihl >> 4 != 4 || words < 5 || ip.total_length.get() < 4 * words) return drop(Counter::ip_malformed);
  if (ip.protocol != kProtocolIcmp) return drop(Counter::other_protocol);
  if (words > 5) return drop(Counter::ip_options);
  if (wire::ipv4_header_sum(ip) != 0xffff) return drop(Counter::ip_checksum);
  if ((ip.flags_fragment.get() & (wire::kIpv4MoreFragments | wire::kIpv4FragmentOffset)) != 0) {
    return drop(Counter::ip_fragment);
  }
  if (ip.total_length.get() > packet.size()) return drop(Counter::frame_truncated);
  const Bytes datagram = packet.first(ip.total_length.get());
  const Bytes message = datagram.subspan(sizeof(wire::Ipv4));
  if (message.size() < sizeof(IcmpEcho)) return drop(Counter::icmp_malformed);
  if (fold(word_sum(message)) != 0xffff) return drop(Counter::icmp_checksum);
  const auto& icmp = head<Icmp>(message);
  if (icmp.type != kIcmpEchoRequest) return drop(Counter::other_protocol);
  if (icmp.code != 0) return drop(Counter::icmp_malformed);
  on_echo(ethernet, IpAddress::v4(ip.source), IpAddress::v4(ip.destination), datagram);
}

// Only what one host sent to one host: an answer to a group's echo would help whoever forges sources.
void Interface::on_echo(const wire::Ethernet& ethernet, const IpAddress& from, const IpAddress& to,
                        Bytes datagram) noexcept {
  if (!owns(to) && is_host(to)) return drop(Counter::other_station);
  if (!owns(to) || ethernet.destination != mac_ || !is_host(from) || owns(from)) {
    return drop(Counter::echo_bad_address);
  }
  if (datagram.size() > echoes_.mtu()) return drop(Counter::echo_too_long);
  counters_.add(Counter::rx_echo_requests);
  // Back to the MAC it came from, router or neighbour: an echo needs no entry in the table.
  if (!echoes_.push(ethernet.source, datagram)) drop(Counter::echo_queue_full);
}

}  // namespace uroce::net
