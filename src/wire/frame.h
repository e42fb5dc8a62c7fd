// SPDX-License-Identifier: BSD-3-Clause
// From received bytes to a RoCEv2 packet. Two steps, so that a checker can judge the ICRC of a packet whose transport
// headers are broken: locate() finds the UDP datagram, parse() the transport headers. Neither reads past the frame; on
// success every accessor is in bounds.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "wire/drop.h"
#include "wire/ethernet.h"
#include "wire/ip.h"
#include "wire/opcode.h"
#include "wire/udp.h"

namespace uroce::wire {

using Bytes = std::span<const std::uint8_t>;

// A UDP datagram to port 4791 inside its Ethernet frame. A view: valid as long as the frame's bytes are.
class RocePacket;

class Datagram {
 public:
  // The frame as received, without FCS. Ethernet padding is cut off by the IP length. `why` is set on failure only.
  static std::optional<Datagram> locate(Bytes frame, Drop& why) noexcept;

  [[nodiscard]] const Ethernet& ethernet() const noexcept { return *reinterpret_cast<const Ethernet*>(frame_.data()); }
  [[nodiscard]] std::optional<std::uint16_t> vlan_tci() const noexcept;  // from a tag in the frame itself
  [[nodiscard]] bool is_v6() const noexcept { return ip_header_length_ == sizeof(Ipv6); }
  [[nodiscard]] Bytes ip() const noexcept { return frame_.subspan(ip_offset_); }  // IP header .. ICRC
  [[nodiscard]] const Ipv4& ipv4() const noexcept { return *reinterpret_cast<const Ipv4*>(frame_.data() + ip_offset_); }
  [[nodiscard]] const Ipv6& ipv6() const noexcept { return *reinterpret_cast<const Ipv6*>(frame_.data() + ip_offset_); }
  [[nodiscard]] const Udp& udp() const noexcept {
    return *reinterpret_cast<const Udp*>(frame_.data() + ip_offset_ + ip_header_length_);
  }
  // BTH .. ICRC.
  [[nodiscard]] Bytes transport() const noexcept { return frame_.subspan(transport_offset()); }
  // Source then destination address as they lie in the packet: 8 bytes for IPv4, 32 for IPv6.
  [[nodiscard]] Bytes addresses() const noexcept {
    return is_v6() ? Bytes(frame_).subspan(ip_offset_ + 8u, 32) : Bytes(frame_).subspan(ip_offset_ + 12u, 8);
  }
  [[nodiscard]] IpAddress source() const noexcept;
  [[nodiscard]] IpAddress destination() const noexcept;
  [[nodiscard]] std::uint8_t traffic_class() const noexcept { return is_v6() ? ipv6().traffic_class() : ipv4().tos; }
  [[nodiscard]] Ecn ecn() const noexcept { return static_cast<Ecn>(traffic_class() & 3u); }

 private:
  friend class RocePacket;
  friend std::optional<RocePacket> parse_frame(Bytes frame, Drop& why) noexcept;
  struct Extent {
    std::size_t ip_offset = 0, ip_header = 0, end = 0;
  };
  static bool find_extent(Bytes frame, Extent& out, Drop& why) noexcept;
  Datagram(Bytes frame, const Extent& at) noexcept
      : frame_(frame.first(at.end)),
        ip_offset_(static_cast<std::uint8_t>(at.ip_offset)),
        ip_header_length_(static_cast<std::uint8_t>(at.ip_header)) {}
  [[nodiscard]] std::size_t transport_offset() const noexcept {
    return std::size_t{ip_offset_} + ip_header_length_ + sizeof(Udp);
  }
  Bytes frame_;  // cut to the end of the IP datagram
  std::uint8_t ip_offset_ = 0;
  std::uint8_t ip_header_length_ = 0;
};

// A datagram whose transport headers hold together.
class RocePacket {
 public:
  static std::optional<RocePacket> parse(const Datagram& d, Drop& why) noexcept;

  [[nodiscard]] const Datagram& datagram() const noexcept { return datagram_; }
  [[nodiscard]] const OpcodeInfo& info() const noexcept { return *info_; }
  [[nodiscard]] const Bth& bth() const noexcept { return *reinterpret_cast<const Bth*>(bth_); }
  template <Ext E>
  [[nodiscard]] const typename ExtHeader<E>::type* ext() const noexcept {
    const std::size_t off = info_->offset[static_cast<std::size_t>(E)];
    return off == 0 ? nullptr : reinterpret_cast<const typename ExtHeader<E>::type*>(bth_ + off);
  }
  [[nodiscard]] Bytes payload() const noexcept { return {bth_ + info_->header_length, payload_length_}; }
  [[nodiscard]] std::uint32_t psn() const noexcept { return bth().psn.get(); }
  [[nodiscard]] std::uint32_t dest_qp() const noexcept { return bth().dest_qp.get(); }
  [[nodiscard]] Ecn ecn() const noexcept { return datagram_.ecn(); }

 private:
  friend std::optional<RocePacket> parse_frame(Bytes frame, Drop& why) noexcept;
  struct Shape {
    const OpcodeInfo* info = nullptr;
    std::uint32_t payload = 0;
  };
  static bool find_shape(Bytes transport, Shape& out, Drop& why) noexcept;
  RocePacket(const Datagram& d, const std::uint8_t* bth, const Shape& s)
      : datagram_(d), bth_(bth), info_(s.info), payload_length_(s.payload) {}
  Datagram datagram_;
  const std::uint8_t* bth_;
  const OpcodeInfo* info_;
  std::uint32_t payload_length_;
};

// locate() and parse() in one call.
std::optional<RocePacket> parse_frame(Bytes frame, Drop& why) noexcept;

// IBTA length rule of an opcode against a path MTU (9.7.4.1.6), pad included: a full packet carries none.
bool payload_length_legal(const RocePacket& p, std::uint32_t path_mtu) noexcept;

}  // namespace uroce::wire
