// SPDX-License-Identifier: BSD-3-Clause
#include "wire/build.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace uroce::wire {
namespace {

constexpr std::uint32_t kReflectedPolynomial = 0xedb88320;

consteval std::array<std::uint32_t, 256> byte_table() {
  std::array<std::uint32_t, 256> t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1u) != 0 ? kReflectedPolynomial : 0u);
    t[i] = c;
  }
  return t;
}
constexpr auto kByteTable = byte_table();

// share[v]: what a header byte v adds to the CRC when `following` more bytes come after it.
template <std::size_t Following>
consteval std::array<std::uint32_t, 256> share_table() {
  std::array<std::uint32_t, 256> t = kByteTable;
  for (auto& c : t) {
    for (std::size_t i = 0; i < Following; ++i) c = (c >> 8) ^ kByteTable[c & 255u];
  }
  return t;
}

// The shares of the two big-endian 16-bit length fields. `IpField` and `UdpField` are offsets into IP + UDP headers.
template <std::size_t HeaderLength, std::size_t IpField, std::size_t UdpField>
struct LengthShares {
  static constexpr auto kIpHigh = share_table<HeaderLength - IpField - 1>();
  static constexpr auto kIpLow = share_table<HeaderLength - IpField - 2>();
  static constexpr auto kUdpHigh = share_table<HeaderLength - UdpField - 1>();
  static constexpr auto kUdpLow = share_table<HeaderLength - UdpField - 2>();
  static std::uint32_t of(std::uint32_t ip_length, std::uint32_t udp_length) noexcept {
    return kIpHigh[ip_length >> 8] ^ kIpLow[ip_length & 255u] ^ kUdpHigh[udp_length >> 8] ^ kUdpLow[udp_length & 255u];
  }
};
using Ipv4Shares = LengthShares<28, 2, 24>;
using Ipv6Shares = LengthShares<48, 4, 44>;

std::uint16_t fold(std::uint32_t sum) noexcept {
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>((sum & 0xffff) + (sum >> 16));
}

}  // namespace

FrameTemplate::FrameTemplate(const Path& path) noexcept : v6_(!path.source.is_v4()) {
  std::uint8_t* p = head_;
  const std::uint16_t type = v6_ ? kEtherIpv6 : kEtherIpv4;
  *reinterpret_cast<Ethernet*>(p) = {path.destination_mac, path.source_mac, be16(path.vlan_tci ? kEtherVlan : type)};
  p += sizeof(Ethernet);
  if (path.vlan_tci) {
    *reinterpret_cast<VlanTag*>(p) = {be16(*path.vlan_tci), be16(type)};
    p += sizeof(VlanTag);
  }
  ip_offset_ = static_cast<std::uint8_t>(p - head_);
  std::uint8_t masked[sizeof(Ipv6) + sizeof(Udp)];
  std::size_t ip_length = 0;
  if (v6_) {
    const Ipv6 ip{be32(6u << 28 | std::uint32_t{path.traffic_class} << 20 | (path.flow_label & 0xfffffu)), be16(0),
                  kProtocolUdp, path.hop_limit, path.source.bytes, path.destination.bytes};
    std::memcpy(p, &ip, ip_length = sizeof(ip));
    std::memcpy(received_addresses_, ip.destination.data(), 16);
    std::memcpy(received_addresses_ + 16, ip.source.data(), 16);
  } else {
    // Identification 0 with DF: an atomic datagram (RFC 6864).
    const Ipv4 ip{0x45, path.traffic_class, be16(0), be16(0), be16(kIpv4DontFragment), path.hop_limit, kProtocolUdp,
                  be16(0), path.source.v4_bytes(), path.destination.v4_bytes()};
    ip_sum_ = ipv4_header_sum(ip);
    std::memcpy(p, &ip, ip_length = sizeof(ip));
    std::memcpy(received_addresses_, ip.destination.data(), 4);
    std::memcpy(received_addresses_ + 4, ip.source.data(), 4);
  }
  const Udp udp{be16(path.udp_source_port), be16(kRocePort), be16(0), be16(0)};
  std::memcpy(p + ip_length, &udp, sizeof(udp));
  head_length_ = static_cast<std::uint8_t>(ip_offset_ + ip_length + sizeof(udp));

  std::memcpy(masked, p, ip_length + sizeof(udp));
  if (v6_) {
    masked[0] |= 0x0f;
    masked[1] = masked[2] = masked[3] = masked[7] = 0xff;
  } else {
    masked[1] = masked[8] = masked[10] = masked[11] = 0xff;
  }
  masked[ip_length + 6] = masked[ip_length + 7] = 0xff;
  crc_ = crc32(kIcrcStart, masked, ip_length + sizeof(udp));
}

void FrameTemplate::set_destination_mac(const MacAddress& mac) noexcept {
  reinterpret_cast<Ethernet*>(head_)->destination = mac;
}

std::uint8_t* FrameTemplate::start(std::uint8_t* frame, std::size_t transport_length, std::uint32_t& crc) const noexcept {
  std::memcpy(frame, head_, sizeof(head_));  // a constant length: a few vector moves; the rest is overwritten
  const auto udp_length = static_cast<std::uint32_t>(sizeof(Udp) + transport_length + kIcrcLength);
  std::uint8_t* ip = frame + ip_offset_;
  if (v6_) {
    reinterpret_cast<Ipv6*>(ip)->payload_length.set(static_cast<std::uint16_t>(udp_length));
    crc = crc_ ^ Ipv6Shares::of(udp_length, udp_length);
  } else {
    const auto total = static_cast<std::uint32_t>(sizeof(Ipv4) + udp_length);
    auto& h = *reinterpret_cast<Ipv4*>(ip);
    h.total_length.set(static_cast<std::uint16_t>(total));
    h.checksum.set(static_cast<std::uint16_t>(~fold(std::uint32_t{ip_sum_} + total)));
    crc = crc_ ^ Ipv4Shares::of(total, udp_length);
  }
  std::uint8_t* bth = frame + head_length_;
  reinterpret_cast<Udp*>(bth - sizeof(Udp))->length.set(static_cast<std::uint16_t>(udp_length));
  return bth;
}

}  // namespace uroce::wire
