// SPDX-License-Identifier: BSD-3-Clause
#include "wire/frame.h"

#include <cstring>

namespace uroce::wire {
namespace {

template <Header H>
const H& at(Bytes b, std::size_t offset) noexcept {
  return *reinterpret_cast<const H*>(b.data() + offset);
}

constexpr std::uint8_t kIpv6Fragment = 44;

#define UROCE_WIRE_INLINE __attribute__((always_inline)) inline

// RFC 1071: the sum of all 16-bit words, in whatever byte order, is all ones when the checksum is right.
UROCE_WIRE_INLINE bool ipv4_checksum_right(const Ipv4& h) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < sizeof(Ipv4); i += 4) {
    std::uint32_t word;
    std::memcpy(&word, reinterpret_cast<const std::uint8_t*>(&h) + i, 4);
    sum += word;
  }
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

// The IP part: what the header says the datagram's length is; false: why it is refused.
UROCE_WIRE_INLINE bool ipv4_length(Bytes ip, std::size_t& length, Drop& why) noexcept {
  const auto refuse = [&](Drop d) { return why = d, false; };
  if (ip.size() < sizeof(Ipv4)) return refuse(Drop::frame_truncated);
  const auto& h = at<Ipv4>(ip, 0);
  if ((h.version_ihl >> 4) != 4) return refuse(Drop::ip_version);
  if ((h.version_ihl & 15) != 5) return refuse(Drop::ip_options);
  if (!ipv4_checksum_right(h)) return refuse(Drop::ip_checksum);
  if ((h.flags_fragment.get() & (kIpv4MoreFragments | kIpv4FragmentOffset)) != 0) return refuse(Drop::ip_fragment);
  if (h.protocol != kProtocolUdp) return refuse(Drop::not_udp);
  length = h.total_length.get();
  return true;
}

UROCE_WIRE_INLINE bool ipv6_length(Bytes ip, std::size_t& length, Drop& why) noexcept {
  const auto refuse = [&](Drop d) { return why = d, false; };
  if (ip.size() < sizeof(Ipv6)) return refuse(Drop::frame_truncated);
  const auto& h = at<Ipv6>(ip, 0);
  if ((h.version_class_flow.get() >> 28) != 6) return refuse(Drop::ip_version);
  if (h.next_header == kIpv6Fragment) return refuse(Drop::ip_fragment);
  if (h.next_header != kProtocolUdp) return refuse(Drop::not_udp);
  length = sizeof(Ipv6) + h.payload_length.get();
  return true;
}

}  // namespace

// This and find_shape() are one function with parse_frame() after inlining, so that what they find stays in registers until
// the packet is made where the caller wants it: stored and copied about, each field would be waited for.
UROCE_WIRE_INLINE bool Datagram::find_extent(Bytes frame, Extent& out, Drop& why) noexcept {
  const auto refuse = [&](Drop d) { return why = d, false; };
  if (frame.size() < sizeof(Ethernet)) return refuse(Drop::frame_truncated);
  out.ip_offset = sizeof(Ethernet);
  std::uint16_t type = at<Ethernet>(frame, 0).ether_type.get();
  if (type == kEtherVlan) {
    if (frame.size() < sizeof(Ethernet) + sizeof(VlanTag)) return refuse(Drop::frame_truncated);
    type = at<VlanTag>(frame, sizeof(Ethernet)).ether_type.get();
    out.ip_offset += sizeof(VlanTag);
  }
  if (type == kEtherRoceV1) return refuse(Drop::roce_v1);
  if (type != kEtherIpv4 && type != kEtherIpv6) return refuse(Drop::not_ip);

  const bool v6 = type == kEtherIpv6;
  out.ip_header = v6 ? sizeof(Ipv6) : sizeof(Ipv4);
  const Bytes ip = frame.subspan(out.ip_offset);
  std::size_t length = 0;
  if (!(v6 ? ipv6_length(ip, length, why) : ipv4_length(ip, length, why))) return false;
  if (length < out.ip_header + sizeof(Udp)) return refuse(Drop::ip_length);
  if (length > ip.size()) return refuse(Drop::frame_truncated);

  const auto& udp = at<Udp>(ip, out.ip_header);
  if (udp.destination_port.get() != kRocePort) return refuse(Drop::not_roce_port);
  if (udp.length.get() != length - out.ip_header) return refuse(Drop::udp_length);
  out.end = out.ip_offset + length;
  return true;
}

std::optional<Datagram> Datagram::locate(Bytes frame, Drop& why) noexcept {
  Extent e;
  if (!find_extent(frame, e, why)) return std::nullopt;
  return Datagram(frame, e);
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

UROCE_WIRE_INLINE bool RocePacket::find_shape(Bytes b, Shape& out, Drop& why) noexcept {
  const auto refuse = [&](Drop d) { return why = d, false; };
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
  out = {&info, static_cast<std::uint32_t>(payload)};
  return true;
}

std::optional<RocePacket> RocePacket::parse(const Datagram& d, Drop& why) noexcept {
  const Bytes b = d.transport();
  Shape s;
  if (!find_shape(b, s, why)) return std::nullopt;
  return RocePacket(d, b.data(), s);
}

std::optional<RocePacket> parse_frame(Bytes frame, Drop& why) noexcept {
  Datagram::Extent e;
  if (!Datagram::find_extent(frame, e, why)) return std::nullopt;
  const std::size_t bth = e.ip_offset + e.ip_header + sizeof(Udp);
  RocePacket::Shape s;
  if (!RocePacket::find_shape(frame.first(e.end).subspan(bth), s, why)) return std::nullopt;
  return RocePacket(Datagram(frame, e), frame.data() + bth, s);
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
