// SPDX-License-Identifier: BSD-3-Clause
// From fields to a frame. A FrameTemplate holds what is the same in every packet of a path: the Ethernet, VLAN, IP and
// UDP headers and the CRC of their masked form. Only the two length fields differ from packet to packet; as a CRC is
// linear, their share is added from tables instead of walking the headers again.
#pragma once
#include <cstdint>
#include <optional>

#include "wire/bth.h"
#include "wire/ethernet.h"
#include "wire/extension.h"
#include "wire/icrc.h"
#include "wire/ip.h"
#include "wire/opcode.h"
#include "wire/udp.h"

namespace uroce::wire {

// Where packets of a connection go. Both addresses are of one kind (IPv4 or IPv6).
struct Path {
  MacAddress source_mac;
  MacAddress destination_mac;
  IpAddress source;
  IpAddress destination;
  std::uint16_t udp_source_port = 0xc000;
  std::uint8_t traffic_class = 0;  // DSCP 7:2, ECN 1:0
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;  // IPv6 only, 20 bits
  std::optional<std::uint16_t> vlan_tci;
};

inline constexpr std::size_t kMaxFrameHead = sizeof(Ethernet) + sizeof(VlanTag) + sizeof(Ipv6) + sizeof(Udp);
// Room a frame buffer needs beyond the payload.
inline constexpr std::size_t kMaxFrameOverhead = kMaxFrameHead + kMaxHeaderLength + 3 + kIcrcLength;

class FrameTemplate {
 public:
  FrameTemplate() = default;
  explicit FrameTemplate(const Path& path) noexcept;

  // Copies the headers for a packet with `transport_length` bytes between UDP header and ICRC. Returns where the BTH
  // goes; `crc` becomes the CRC of everything before it. Writes kMaxFrameHead bytes, all of them within the headers' room.
  std::uint8_t* start(std::uint8_t* frame, std::size_t transport_length, std::uint32_t& crc) const noexcept;

  void set_destination_mac(const MacAddress& mac) noexcept;
  [[nodiscard]] std::size_t head_length() const noexcept { return head_length_; }
  [[nodiscard]] bool is_v6() const noexcept { return v6_; }
  [[nodiscard]] std::size_t ip_offset() const noexcept { return ip_offset_; }
  // Source then destination address as they lie in a packet *received* on this path: 8 or 32 bytes.
  [[nodiscard]] Bytes received_addresses() const noexcept { return {received_addresses_, v6_ ? 32u : 8u}; }

 private:
  alignas(16) std::uint8_t head_[kMaxFrameHead]{};
  std::uint8_t head_length_ = 0;
  std::uint8_t ip_offset_ = 0;
  bool v6_ = false;
  std::uint16_t ip_sum_ = 0;        // one's complement sum of the IPv4 header without its length
  std::uint32_t crc_ = 0;           // of the masked headers with both lengths zero
  std::uint8_t received_addresses_[32]{};
};

// One frame being written. Use: construct, fill bth() and ext<>(), then either
//   copy payload() and finish(), which walks everything once, or
//   crc = header_crc(), copy with a fused copy+CRC into payload(), finish(crc).
class FrameWriter {
 public:
  // `frame` has room for kMaxFrameOverhead + payload_length bytes. The BTH comes with opcode, pad, MigReq, P_Key and the
  // numbers set and the reserved bits zero, but for the congestion byte, which is all ones until finish(); extension headers
  // are uninitialised.
  FrameWriter(const FrameTemplate& t, std::uint8_t* frame, std::uint8_t opcode, std::uint32_t payload_length,
              const BthNumbers& n = {}) noexcept
      : frame_(frame), info_(&kOpcodes[opcode]), payload_length_(payload_length), pad_(-payload_length & 3u) {
    bth_ = t.start(frame, info_->header_length + payload_length + pad_, crc_);
    write_masked_bth(bth_, opcode, pad_, n);
  }
  [[nodiscard]] Bth& bth() noexcept { return *reinterpret_cast<Bth*>(bth_); }
  template <Ext E>
  [[nodiscard]] typename ExtHeader<E>::type& ext() noexcept {
    return *reinterpret_cast<typename ExtHeader<E>::type*>(bth_ + info_->offset[static_cast<std::size_t>(E)]);
  }
  [[nodiscard]] std::uint8_t* payload() noexcept { return bth_ + info_->header_length; }

  // FECN and BECN, which are outside the ICRC.
  void set_congestion(std::uint8_t byte4) noexcept { congestion_ = byte4; }

  // The CRC of all headers, which must be complete by now.
  [[nodiscard]] std::uint32_t header_crc() noexcept { return crc32(crc_, bth_, info_->header_length); }
  // Pad and ICRC, `crc` being that of headers and payload. Returns the frame's length, at least 60.
  std::size_t finish(std::uint32_t crc) noexcept {
    std::uint8_t* end = payload() + payload_length_;
    for (unsigned i = 0; i < pad_; ++i) *end++ = 0;
    return seal(end, pad_ == 0 ? crc : crc32(crc, end - pad_, pad_));
  }
  // The same when the payload lies in place and has not been summed yet.
  std::size_t finish() noexcept {
    std::uint8_t* end = payload() + payload_length_;
    for (unsigned i = 0; i < pad_; ++i) *end++ = 0;
    return seal(end, crc32(crc_, bth_, info_->header_length + payload_length_ + pad_));
  }

 private:
  std::size_t seal(std::uint8_t* end, std::uint32_t crc) noexcept {
    bth().f_b_reserved = congestion_;
    store_icrc(end, crc);
    end += kIcrcLength;
    while (end < frame_ + kMinEthernetFrame) *end++ = 0;
    return static_cast<std::size_t>(end - frame_);
  }
  std::uint8_t* frame_;
  std::uint8_t* bth_;
  const OpcodeInfo* info_;
  std::uint32_t crc_ = 0;
  std::uint32_t payload_length_;
  unsigned pad_;
  std::uint8_t congestion_ = 0;
};

}  // namespace uroce::wire
