// SPDX-License-Identifier: BSD-3-Clause
// Frames and checksums written down from the standards alone (IBTA 7.8.1, 9.2, annex A17; RFC 768, 791, 1071, 8200),
// byte by byte, so that a mistake in src/wire can't hide in its own test. Uses no header type and no table of it.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace uroce::wire::test {

using Buffer = std::vector<std::uint8_t>;
using View = std::span<const std::uint8_t>;

Buffer from_hex(std::string_view text);  // lower case; blanks are skipped
void append(Buffer& b, View more);
void append_number(Buffer& b, std::uint64_t value, unsigned bytes);
void put16(Buffer& b, std::size_t at, std::size_t value);
std::size_t get16(View b, std::size_t at);

// Payload that differs in every neighbouring byte and every 256-byte block.
Buffer pattern(std::size_t n);

// CRC-32, one bit at a time: polynomial 0x04c11db7 with the least significant bit first, all ones before and after.
std::uint32_t bitwise_crc(View data);

// The ICRC by its rule. `ip`: an IP datagram without its ICRC.
std::uint32_t icrc_by_rule(View ip);

// The ICRC as it lies on the wire: least significant byte first.
Buffer trailer(std::uint32_t crc);
// RFC 1071, with the carry brought round at every step; an odd last byte counts as the high one.
std::uint16_t ones_complement_sum(View data, std::uint32_t sum = 0);

// Where things lie in a frame whose EtherType (with one VLAN tag at most) is IPv4 or IPv6.
std::size_t ip_offset(View frame);
bool is_v6(View frame);
std::size_t udp_offset(View frame);
std::size_t bth_offset(View frame);
View ip_datagram(View frame);  // Ethernet padding cut off

bool icrc_right(View frame);
void fix_ipv4_checksum(Buffer& frame);
void fix_icrc(Buffer& frame);
// After a change of headers: both checksums right again.
void reseal(Buffer& frame);

// The right UDP checksum of a frame: pseudo header, then the datagram with a zero field.
std::uint16_t udp_checksum(View frame);

// What lies in front of the BTH. The defaults are used wherever a test does not care.
struct Around {
  bool v6 = false;
  std::optional<std::uint16_t> vlan{};
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;
  std::uint16_t source_port = 0xc000;
};

inline constexpr std::string_view kDestinationMac = "020000000001", kSourceMac = "020000000002";
inline constexpr std::string_view kSource4 = "0a4d0002", kDestination4 = "0a4d0001";  // 10.77.0.2, 10.77.0.1
inline constexpr std::string_view kSource6 = "fd770000000000000000000000000002";
inline constexpr std::string_view kDestination6 = "fd770000000000000000000000000001";

// A whole frame around `transport`, which is BTH, extension headers, payload and pad. Adds ICRC and Ethernet padding.
Buffer frame_around(const Around& a, View transport);

// BTH bytes as they lie on the wire. `flags` is byte 1: SE 7, MigReq 6, PadCnt 5:4, TVer 3:0.
Buffer bth(std::uint8_t opcode, std::uint8_t flags = 0, std::uint32_t qp = 0x11, std::uint32_t psn = 7,
           bool ack_req = false);

// BTH, `headers` (the extension headers' bytes), payload, and the pad that the payload needs.
Buffer transport(std::uint8_t opcode, View headers, View payload);

// SEND ONLY with `n` bytes.
inline Buffer send_only(std::size_t n, const Around& a = {}) {
  return frame_around(a, transport(0x04, {}, pattern(n)));
}

}  // namespace uroce::wire::test
