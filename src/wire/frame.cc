// SPDX-License-Identifier: BSD-3-Clause
#include "wire/frame.h"

namespace uroce::wire {
namespace {

std::optional<Datagram> fail(Drop& why, Drop reason) noexcept {
  why = reason;
  return std::nullopt;
}

template <Header H>
const H& at(Bytes b, std::size_t offset) noexcept {
  return *reinterpret_cast<const H*>(b.data() + offset);
}

constexpr std::uint8_t kIpv6Fragment = 44;

// The IP part: what the header says the datagram's length is, or why it is refused.
std::optional<std::size_t> ipv4_length(Bytes ip, Drop& why) noexcept {
  const auto refuse = [&](Drop d) { return why = d, std::nullopt; };
  if (ip.size() < sizeof(Ipv4)) return refuse(Drop::frame_truncated);
  const auto& h = at<Ipv4>(ip, 0);
  if ((h.version_ihl >> 4) != 4) return refuse(Drop::ip_version);
  if ((h.version_ihl & 15) != 5) return refuse(Drop::ip_options);
  if (ipv4_header_sum(h) != 0xffff) return refuse(Drop::ip_checksum);
  if ((h.flags_fragment.get() & (kIpv4MoreFragments | kIpv4FragmentOffset)) != 0) return refuse(Drop::ip_fragment);
  if (h.protocol != kProtocolUdp) return refuse(Drop::not_udp);
  return h.total_length.get();
}

std::optional<std::size_t> ipv6_length(Bytes ip, Drop& why) noexcept {
  const auto refuse = [&](Drop d) { return why = d, std::nullopt; };
  if (ip.size() < sizeof(Ipv6)) return refuse(Drop::frame_truncated);
  const auto& h = at<Ipv6>(ip, 0);
  if ((h.version_class_flow.get() >> 28) != 6) return refuse(Drop::ip_version);
  if (h.next_header == kIpv6Fragment) return refuse(Drop::ip_fragment);
  if (h.next_header != kProtocolUdp) return refuse(Drop::not_udp);
  return sizeof(Ipv6) + h.payload_length.get();
}

}  // namespace

std::optional<Datagram> Datagram::locate(Bytes frame, Drop& why) noexcept {
  if (frame.size() < sizeof(Ethernet)) return fail(why, Drop::frame_truncated);
  std::size_t ip_offset = sizeof(Ethernet);
  std::uint16_t type = at<Ethernet>(frame, 0).ether_type.get();
  if (type == kEtherVlan) {
    if (frame.size() < sizeof(Ethernet) + sizeof(VlanTag)) return fail(why, Drop::frame_truncated);
    type = at<VlanTag>(frame, sizeof(Ethernet)).ether_type.get();
    ip_offset += sizeof(VlanTag);
  }
  if (type == kEtherRoceV1) return fail(why, Drop::roce_v1);
  if (type != kEtherIpv4 && type != kEtherIpv6) return fail(why, Drop::not_ip);

  const bool v6 = type == kEtherIpv6;
  const std::size_t header = v6 ? sizeof(Ipv6) : sizeof(Ipv4);
  const Bytes ip = frame.subspan(ip_offset);
  const auto length = v6 ? ipv6_length(ip, why) : ipv4_length(ip, why);
  if (!length) return std::nullopt;
  if (*length < header + sizeof(Udp)) return fail(why, Drop::ip_length);
  if (*length > ip.size()) return fail(why, Drop::frame_truncated);

  const auto& udp = at<Udp>(ip, header);
  if (udp.destination_port.get() != kRocePort) return fail(why, Drop::not_roce_port);
  if (udp.length.get() != *length - header) return fail(why, Drop::udp_length);

  Datagram d;
  d.frame_ = frame.first(ip_offset + *length);
  d.ip_offset_ = static_cast<std::uint8_t>(ip_offset);
  d.ip_header_length_ = static_cast<std::uint8_t>(header);
  return d;
}

std::optional<std::uint16_t> Datagram::vlan_tci() const noexcept {
  if (ip_offset_ == sizeof(Ethernet)) return std::nullopt;
  return at<VlanTag>(frame_, sizeof(Ethernet)).tci.get();
}

IpAddress Datagram::source() const noexcept {
  return is_v6() ? IpAddress{ipv6().source} : IpAddress::v4(ipv4().source);
}

IpAddress Datagram::destination() const noexcept {
  return is_v6() ? IpAddress{ipv6().destination} : IpAddress::v4(ipv4().destination);
}

std::optional<RocePacket> RocePacket::parse(const Datagram& d, Drop& why) noexcept {
  const auto refuse = [&](Drop r) { return why = r, std::nullopt; };
  const Bytes b = d.transport();
  if (b.size() < sizeof(Bth) + kIcrcLength) return refuse(Drop::bth_truncated);
  // The opcode must be known before anything is looked up by it.
  const auto& bth = at<Bth>(b, 0);
  const OpcodeInfo& info = kOpcodes[bth.opcode];
  if (!info.known()) return refuse(Drop::unknown_opcode);
  const std::size_t overhead = std::size_t{info.header_length} + bth.pad() + kIcrcLength;
  if (b.size() < overhead) return refuse(Drop::bth_truncated);
  if (bth.version() != 0) return refuse(Drop::bth_version);
  const std::size_t payload = b.size() - overhead;
  if (bth.pad() != 0 && payload == 0) return refuse(Drop::bad_pad);
  return RocePacket(d, b.data(), info, static_cast<std::uint32_t>(payload));
}

std::optional<RocePacket> parse_frame(Bytes frame, Drop& why) noexcept {
  const auto d = Datagram::locate(frame, why);
  return d ? RocePacket::parse(*d, why) : std::nullopt;
}

bool payload_length_legal(const RocePacket& p, std::uint32_t path_mtu) noexcept {
  const auto n = static_cast<std::uint32_t>(p.payload().size());
  if ((n + p.bth().pad()) % 4 != 0) return false;
  switch (p.info().payload) {
    case PayloadRule::none: return n == 0;
    case PayloadRule::full: return n == path_mtu && p.bth().pad() == 0;
    case PayloadRule::last: return n >= 1 && n <= path_mtu;
    case PayloadRule::only: return n <= path_mtu;
    case PayloadRule::eight: return n == 8;
  }
  return false;
}

}  // namespace uroce::wire
