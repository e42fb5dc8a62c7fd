// SPDX-License-Identifier: BSD-3-Clause
// From obligations to frames. Our own questions come first: there are few, and strangers can't make them more.
#include "base/assert.h"
#include "net/arp.h"
#include "net/interface.h"
#include "net/ndp.h"

namespace uroce::net {
namespace {

constexpr std::size_t kArpFrame = sizeof(wire::Ethernet) + sizeof(Arp);

struct NdpFrame {
  wire::Ethernet ethernet;
  wire::Ipv6 ip;
  NeighbourMessage message;
  LinkLayerOption option;
};
static_assert(wire::Header<NdpFrame> && sizeof(NdpFrame) == Interface::kControlFrameLength);

std::size_t pad(std::uint8_t* frame, std::size_t length) noexcept {
  if (length >= wire::kMinEthernetFrame) return length;
  std::memset(frame + length, 0, wire::kMinEthernetFrame - length);
  return wire::kMinEthernetFrame;
}

// MACs, addresses, type, flags, target and option are the caller's; this is the rest.
std::size_t seal(NdpFrame& f) noexcept {
  constexpr std::size_t kLength = sizeof(NeighbourMessage) + sizeof(LinkLayerOption);
  f.ethernet.ether_type.set(wire::kEtherIpv6);
  f.ip.version_class_flow.set(6u << 28);
  f.ip.payload_length.set(kLength);
  f.ip.next_header = kProtocolIcmpv6;
  f.ip.hop_limit = kNdpHopLimit;
  f.message.head.code = 0;
  f.message.head.checksum.set(0);
  f.option.length = sizeof(LinkLayerOption) / 8;
  const Bytes message(reinterpret_cast<const std::uint8_t*>(&f.message), kLength);
  const std::uint64_t sum = word_sum(message) + pseudo_header_sum(f.ip, kLength, kProtocolIcmpv6);
  f.message.head.checksum.set(static_cast<std::uint16_t>(~fold(sum)));
  return sizeof(NdpFrame);
}

}  // namespace

std::size_t Interface::poll_transmit(std::span<std::uint8_t> out, base::Instant now) noexcept {
  if (out.size() < kControlFrameLength) return 0;
  if (neighbours_.owes_solicit()) return send_solicit(out.data(), now);
  if (announcements_ != 0) return send_announcement(out.data());
  if (reply_count_ != 0) return send_reply(out.data());
  if (echoes_.empty()) return 0;
  const std::size_t length = echoes_.pop_reply(mac_, out);
  if (length == 0) return 0;
  counters_.add(Counter::tx_echo_replies);
  return pad(out.data(), length);
}

std::size_t Interface::write_arp(std::uint8_t* out, std::uint16_t operation, const IpAddress& sender,
                                 const IpAddress& target, const MacAddress& target_mac,
                                 const MacAddress& destination) noexcept {
  auto& ethernet = *reinterpret_cast<wire::Ethernet*>(out);
  ethernet.destination = destination;
  ethernet.source = mac_;
  ethernet.ether_type.set(wire::kEtherArp);
  auto& arp = *reinterpret_cast<Arp*>(out + sizeof(wire::Ethernet));
  arp.hardware_type.set(kArpHardwareEthernet);
  arp.protocol_type.set(wire::kEtherIpv4);
  arp.hardware_length = sizeof(MacAddress);
  arp.protocol_length = 4;
  arp.operation.set(operation);
  arp.sender_mac = mac_;
  arp.sender = sender.v4_bytes();
  arp.target_mac = target_mac;
  arp.target = target.v4_bytes();
  counters_.add(operation == kArpRequest ? Counter::tx_arp_requests : Counter::tx_arp_replies);
  return pad(out, kArpFrame);
}

std::size_t Interface::write_advertisement(std::uint8_t* out, const IpAddress& own, const IpAddress& to,
                                           const MacAddress& to_mac, std::uint32_t flags) noexcept {
  auto& f = *reinterpret_cast<NdpFrame*>(out);
  f.ethernet.destination = to_mac;
  f.ethernet.source = mac_;
  f.ip.source = own.bytes;
  f.ip.destination = to.bytes;
  f.message.head.type = kNeighbourAdvertisement;
  f.message.flags.set(flags | kAdvertOverride);
  f.message.target = own.bytes;
  f.option.type = kOptionTargetMac;
  f.option.mac = mac_;
  counters_.add(Counter::tx_advertisements);
  return seal(f);
}

std::size_t Interface::send_solicit(std::uint8_t* out, base::Instant now) noexcept {
  const auto ask = neighbours_.next_solicit(now);
  const IpAddress& target = ask->neighbour;
  const auto way = source_for(target);
  UROCE_DASSERT(way.has_value());  // only what is on link is asked for, and check() saw to an address for the gateway
  const IpAddress source = *way;
  if (target.is_v4()) {
    return write_arp(out, kArpRequest, source, target, MacAddress{}, ask->mac.value_or(wire::kBroadcastMac));
  }
  const IpAddress to = ask->mac ? target : solicited_node(target);
  auto& f = *reinterpret_cast<NdpFrame*>(out);
  f.ethernet.destination = ask->mac.value_or(group_mac(to));
  f.ethernet.source = mac_;
  f.ip.source = source.bytes;
  f.ip.destination = to.bytes;
  f.message.head.type = kNeighbourSolicitation;
  f.message.flags.set(0);
  f.message.target = target.bytes;
  f.option.type = kOptionSourceMac;
  f.option.mac = mac_;
  counters_.add(Counter::tx_solicitations);
  return seal(f);
}

// RFC 5227 section 3 (a request, which every stack updates its cache from) and RFC 4861 section 7.2.6.
std::size_t Interface::send_announcement(std::uint8_t* out) noexcept {
  const auto i = static_cast<std::size_t>(std::countr_zero(announcements_));
  announcements_ &= announcements_ - 1;
  const IpAddress& own = addresses()[i].address;
  if (own.is_v4()) return write_arp(out, kArpRequest, own, own, MacAddress{}, wire::kBroadcastMac);
  return write_advertisement(out, own, kAllNodes, group_mac(kAllNodes), 0);
}

// RFC 826 (packet reception) and RFC 4861 section 7.2.4.
std::size_t Interface::send_reply(std::uint8_t* out) noexcept {
  const Reply r = replies_[reply_first_];
  reply_first_ = (reply_first_ + 1) % kMaxReplies;
  --reply_count_;
  const IpAddress& own = addresses()[r.own].address;
  if (own.is_v4()) return write_arp(out, kArpReply, own, r.to, r.to_mac, r.to_mac);
  if (!r.solicited) return write_advertisement(out, own, kAllNodes, group_mac(kAllNodes), 0);
  return write_advertisement(out, own, r.to, r.to_mac, kAdvertSolicited);
}

}  // namespace uroce::net
