// SPDX-License-Identifier: BSD-3-Clause
#include "frame_verdict.h"

#include "wire/icrc.h"

namespace uroce::tools {
namespace {

using wire::Bytes;
using wire::Drop;

std::optional<unsigned> read16(Bytes b, std::size_t offset) {
  if (b.size() < offset + 2) return std::nullopt;
  return static_cast<unsigned>(b[offset] << 8 | b[offset + 1]);
}

// The headers as far as they can be read, nothing about them believed.
struct Loose {
  bool v6 = false;
  Bytes ip;
};

std::optional<Loose> find_ip(Bytes frame) {
  std::size_t offset = 12;
  auto type = read16(frame, offset);
  if (type == wire::kEtherVlan) type = read16(frame, offset += sizeof(wire::VlanTag));
  if (type != wire::kEtherIpv4 && type != wire::kEtherIpv6) return std::nullopt;
  return Loose{type == wire::kEtherIpv6, frame.subspan(offset + 2)};
}

std::size_t ihl_bytes(Bytes ip) {
  return ip.empty() ? 0 : std::size_t{ip[0] & 15u} * 4;
}

bool claims_roce_port(const Loose& l) {
  const std::size_t protocol_offset = l.v6 ? 6 : 9;
  if (l.ip.size() <= protocol_offset || l.ip[protocol_offset] != wire::kProtocolUdp) return false;
  const auto port_at = [&](std::size_t udp) { return read16(l.ip, udp + 2) == wire::kRocePort; };
  // The header length may be what is broken, so its usual value counts too.
  return l.v6 ? port_at(sizeof(wire::Ipv6)) : port_at(sizeof(wire::Ipv4)) || port_at(ihl_bytes(l.ip));
}

// RFC 1071 over the header with its options, which ipv4_header_sum() does not take.
bool ipv4_checksum_right(Bytes ip) {
  const std::size_t length = ihl_bytes(ip);
  if (length < sizeof(wire::Ipv4) || ip.size() < length) return false;
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < length; i += 2) sum += *read16(ip, i);
  while ((sum >> 16) != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

// Whether a frame that can't be located was meant to be one, and is therefore damaged. Fragments and IPv4 options are
// refused by choice, not because they are damaged.
bool is_damaged(Bytes frame, Drop reason) {
  const auto loose = find_ip(frame);
  if (!loose || !claims_roce_port(*loose)) return false;
  if (reason == Drop::ip_fragment) return false;
  return reason != Drop::ip_options || !ipv4_checksum_right(loose->ip);
}

// A cut frame that still shows its UDP port.
bool is_for_another_port(Bytes frame) {
  const auto loose = find_ip(frame);
  return loose && read16(loose->ip, (loose->v6 ? sizeof(wire::Ipv6) : sizeof(wire::Ipv4)) + 2) &&
         !claims_roce_port(*loose);
}

}  // namespace

Verdict judge(const CapturedFrame& frame) {
  Drop why = Drop::count;
  const auto datagram = wire::Datagram::locate(frame.bytes, why);
  if (!datagram) {
    if (why == Drop::frame_truncated && frame.cut()) {
      if (is_for_another_port(frame.bytes)) return {Judgement::dropped, Drop::not_roce_port, std::nullopt};
      return {Judgement::cut, why, std::nullopt};
    }
    return {is_damaged(frame.bytes, why) ? Judgement::bad : Judgement::dropped, why, std::nullopt};
  }
  const bool right = wire::icrc_matches(*datagram);
  const auto packet = wire::RocePacket::parse(*datagram, why);
  if (!right) {
    const bool too_short = datagram->transport().size() < sizeof(wire::Bth) + wire::kIcrcLength;
    return {Judgement::bad, too_short ? Drop::bth_truncated : Drop::bad_icrc, packet};
  }
  if (!packet) return {Judgement::malformed, why, std::nullopt};
  return {Judgement::good, Drop::count, packet};
}

}  // namespace uroce::tools
