// SPDX-License-Identifier: BSD-3-Clause
// ICMPv6 as received: echo, solicitations and advertisements.
#include "net/interface.h"
#include "net/ndp.h"

namespace uroce::net {
namespace {

constexpr std::uint8_t kIpv6Fragment = 44;

template <wire::Header H>
const H& head(Bytes b) noexcept {
  return *reinterpret_cast<const H*>(b.data());
}

// The one option of this type, if any (RFC 4861 section 4.6). False: an option is broken, and the message with it.
bool find_option(Bytes options, std::uint8_t type, std::optional<MacAddress>& mac) noexcept {
  while (!options.empty()) {
    if (options.size() < 2) return false;
    const std::size_t length = std::size_t{options[1]} * 8;
    if (length == 0 || length > options.size()) return false;
    if (options[0] == type) {
      if (length != sizeof(LinkLayerOption)) return false;
      mac = head<LinkLayerOption>(options).mac;
    }
    options = options.subspan(length);
  }
  return true;
}

}  // namespace

void Interface::on_ipv6(const wire::Ethernet& ethernet, Bytes packet, base::Instant now) noexcept {
  if (packet.size() < sizeof(wire::Ipv6)) return drop(Counter::frame_truncated);
  const auto& ip = head<wire::Ipv6>(packet);
  const IpAddress source{ip.source}, destination{ip.destination};
  // ::ffff:a.b.c.d never travels in an IPv6 header, and here it would pass for an IPv4 host.
  if (ip.version_class_flow.get() >> 28 != 6 || source.is_v4() || destination.is_v4() || source.is_multicast()) {
    return drop(Counter::ip_malformed);
  }
  if (ip.next_header == kIpv6Fragment) return drop(Counter::ip_fragment);
  if (ip.next_header != kProtocolIcmpv6) return drop(Counter::other_protocol);
  if (ip.payload_length.get() > packet.size() - sizeof(wire::Ipv6)) return drop(Counter::frame_truncated);
  const Bytes datagram = packet.first(sizeof(wire::Ipv6) + ip.payload_length.get());
  const Message m{ethernet, ip, datagram.subspan(sizeof(wire::Ipv6))};
  if (m.bytes.size() < sizeof(IcmpEcho)) return drop(Counter::icmp_malformed);
  if (fold(word_sum(m.bytes) + pseudo_header_sum(ip, m.bytes.size(), kProtocolIcmpv6)) != 0xffff) {
    return drop(Counter::icmp_checksum);
  }
  const auto& icmp = head<Icmp>(m.bytes);
  switch (icmp.type) {
    case kIcmpv6EchoRequest:
      if (icmp.code != 0) return drop(Counter::icmp_malformed);
      return on_echo(ethernet, source, destination, datagram);
    case kNeighbourSolicitation:
      return on_solicitation(m, now);
    case kNeighbourAdvertisement:
      return on_advertisement(m, now);
    default:
      return drop(Counter::other_protocol);
  }
}

// What RFC 4861 asks of both messages (sections 7.1.1 and 7.1.2), but for options.
const NeighbourMessage* Interface::check_ndp(const Message& m) noexcept {
  if (m.ip.hop_limit != kNdpHopLimit) return drop(Counter::ndp_hop_limit), nullptr;
  if (m.bytes.size() < sizeof(NeighbourMessage)) return drop(Counter::ndp_malformed), nullptr;
  const auto& n = head<NeighbourMessage>(m.bytes);
  const IpAddress target{n.target};
  if (n.head.code != 0 || !is_host(target) || target.is_v4()) return drop(Counter::ndp_malformed), nullptr;
  return &n;
}

void Interface::on_solicitation(const Message& m, base::Instant now) noexcept {
  const NeighbourMessage* n = check_ndp(m);
  if (n == nullptr) return;
  std::optional<MacAddress> mac;
  if (!find_option(m.bytes.subspan(sizeof(NeighbourMessage)), kOptionSourceMac, mac) ||
      (mac && (!is_station(*mac) || *mac == mac_))) {
    return drop(Counter::ndp_bad_option);
  }
  const IpAddress source = m.source(), target{n->target};
  const bool probe = source == kUnspecifiedV6;  // RFC 4862 section 5.4: the asker would like the address
  if (!probe && !is_host(source)) return drop(Counter::ndp_malformed);
  // From nobody: to the target's group only, and without a MAC (section 7.1.1).
  if (probe && (mac || m.destination() != solicited_node(target))) return drop(Counter::ndp_malformed);
  if (owns(source)) return drop(Counter::address_conflicts);
  const auto own = gids().find(target);
  if (!own) return drop(Counter::ndp_other_target);
  if (m.destination() != target && m.destination() != solicited_node(target)) return drop(Counter::other_station);
  counters_.add(Counter::rx_solicitations);
  if (mac) learn(source, *mac, now);
  // Without its option, a neighbour that asks us alone has the MAC its frame came from.
  owe_reply({static_cast<std::uint8_t>(*own), !probe, mac.value_or(m.ethernet.source), source});
}

void Interface::on_advertisement(const Message& m, base::Instant now) noexcept {
  const NeighbourMessage* n = check_ndp(m);
  if (n == nullptr) return;
  std::optional<MacAddress> mac;
  if (!find_option(m.bytes.subspan(sizeof(NeighbourMessage)), kOptionTargetMac, mac) ||
      (mac && (!is_station(*mac) || *mac == mac_))) {
    return drop(Counter::ndp_bad_option);
  }
  const std::uint32_t flags = n->flags.get();
  const bool solicited = (flags & kAdvertSolicited) != 0;
  // Nobody asks on behalf of a group (section 7.1.2).
  if (!is_host(m.source()) || (solicited && m.destination().is_multicast())) return drop(Counter::ndp_malformed);
  const IpAddress target{n->target};
  if (owns(target)) return drop(Counter::address_conflicts);
  if (!m.destination().is_multicast() && !owns(m.destination())) return drop(Counter::other_station);
  counters_.add(Counter::rx_advertisements);
  neighbours_.on_advertised(target, mac, solicited, (flags & kAdvertOverride) != 0, now);
}

}  // namespace uroce::net
