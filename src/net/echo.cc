// SPDX-License-Identifier: BSD-3-Clause
#include "net/echo.h"

#include "base/assert.h"
#include "net/icmp.h"

namespace uroce::net {
namespace {

constexpr std::uint8_t kReplyTtl = 64;  // what Linux starts with

// RFC 792 (echo): addresses exchanged, the type changed, all else as it came; what routers touch is new.
void turn_v4(std::uint8_t* datagram, std::size_t length) noexcept {
  auto& ip = *reinterpret_cast<wire::Ipv4*>(datagram);
  std::swap(ip.source, ip.destination);
  ip.tos &= 0xfcu;           // a congestion mark concerns the request
  ip.identification.set(0);  // without meaning in what is never fragmented (RFC 6864 section 4.1)
  ip.flags_fragment.set(wire::kIpv4DontFragment);
  ip.ttl = kReplyTtl;
  ip.checksum.set(0);
  ip.checksum.set(static_cast<std::uint16_t>(~wire::ipv4_header_sum(ip)));
  auto& icmp = *reinterpret_cast<Icmp*>(datagram + sizeof(wire::Ipv4));
  icmp.type = kIcmpEchoReply;
  icmp.checksum.set(0);
  const Bytes message(datagram + sizeof(wire::Ipv4), length - sizeof(wire::Ipv4));
  icmp.checksum.set(static_cast<std::uint16_t>(~fold(word_sum(message))));
}

// RFC 4443 section 4.2.
void turn_v6(std::uint8_t* datagram, std::size_t length) noexcept {
  auto& ip = *reinterpret_cast<wire::Ipv6*>(datagram);
  std::swap(ip.source, ip.destination);
  ip.version_class_flow.set(6u << 28 |
                            (ip.version_class_flow.get() & 0x0fc0'0000u));  // the DSCP stays, ECN and flow go
  ip.hop_limit = kReplyTtl;
  auto& icmp = *reinterpret_cast<Icmp*>(datagram + sizeof(wire::Ipv6));
  icmp.type = kIcmpv6EchoReply;
  icmp.checksum.set(0);
  const Bytes message(datagram + sizeof(wire::Ipv6), length - sizeof(wire::Ipv6));
  const std::uint64_t sum = word_sum(message) + pseudo_header_sum(ip, message.size(), kProtocolIcmpv6);
  icmp.checksum.set(static_cast<std::uint16_t>(~fold(sum)));
}

}  // namespace

bool EchoQueue::push(const wire::MacAddress& from, Bytes datagram) noexcept {
  UROCE_DASSERT(datagram.size() <= mtu_);
  if (count_ == kSlots) return false;
  const std::uint32_t slot = (first_ + count_) % kSlots;
  slots_[slot] = {from, static_cast<std::uint32_t>(datagram.size())};
  std::memcpy(bytes_of(slot), datagram.data(), datagram.size());
  ++count_;
  return true;
}

std::size_t EchoQueue::pop_reply(const wire::MacAddress& own, std::span<std::uint8_t> out) noexcept {
  const Slot& slot = slots_[first_];
  const std::size_t length = sizeof(wire::Ethernet) + slot.length;
  if (out.size() < std::max(length, wire::kMinEthernetFrame)) return 0;
  std::uint8_t* datagram = out.data() + sizeof(wire::Ethernet);
  std::memcpy(datagram, bytes_of(first_), slot.length);
  const bool v6 = datagram[0] >> 4 == 6;
  v6 ? turn_v6(datagram, slot.length) : turn_v4(datagram, slot.length);
  auto& ethernet = *reinterpret_cast<wire::Ethernet*>(out.data());
  ethernet.destination = slot.from;
  ethernet.source = own;
  ethernet.ether_type.set(v6 ? wire::kEtherIpv6 : wire::kEtherIpv4);
  first_ = (first_ + 1) % kSlots;
  --count_;
  return length;
}

}  // namespace uroce::net
