// SPDX-License-Identifier: BSD-3-Clause
#include "oracle.h"

#include <stdexcept>

namespace uroce::wire::test {

Buffer from_hex(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  Buffer out;
  int high = -1;
  for (char c : text) {
    if (c == ' ') continue;
    const int d = digit(c);
    if (d < 0) throw std::invalid_argument("not a hex digit");
    if (high >= 0) out.push_back(static_cast<std::uint8_t>(high * 16 + d));
    high = high < 0 ? d : -1;
  }
  if (high >= 0) throw std::invalid_argument("half a byte");
  return out;
}

void append(Buffer& b, View more) {
  b.insert(b.end(), more.begin(), more.end());
}

void append_number(Buffer& b, std::uint64_t value, unsigned bytes) {
  while (bytes-- > 0) b.push_back(static_cast<std::uint8_t>(value >> (8 * bytes)));
}

void put16(Buffer& b, std::size_t at, std::size_t value) {
  b.at(at) = static_cast<std::uint8_t>(value >> 8);
  b.at(at + 1) = static_cast<std::uint8_t>(value);
}

std::size_t get16(View b, std::size_t at) {
  return static_cast<std::size_t>(b[at] << 8 | b[at + 1]);
}

Buffer pattern(std::size_t n) {
  Buffer b;
  b.reserve(n);
  for (std::size_t i = 0; i < n; ++i) b.push_back(static_cast<std::uint8_t>(1 + 7 * i + i / 256));
  return b;
}

std::uint32_t bitwise_crc(View data) {
  std::uint32_t state = 0xffffffff;
  for (std::uint8_t byte : data) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      const bool feedback = ((state ^ (byte >> bit)) & 1u) != 0;
      state >>= 1;
      if (feedback) state ^= 0xedb88320;
    }
  }
  return ~state;
}

std::uint32_t icrc_by_rule(View ip) {
  Buffer in(8, 0xff);
  append(in, ip);
  const auto ones = [&](std::size_t offset) { in.at(8 + offset) = 0xff; };
  const bool v6 = ip[0] >> 4 == 6;
  const std::size_t udp = v6 ? 40 : 20;
  if (v6) {
    in.at(8) |= 0x0f;                            // traffic class, upper half
    for (std::size_t i : {1u, 2u, 3u}) ones(i);  // its lower half, flow label
    ones(7);                                     // hop limit
  } else {
    for (std::size_t i : {1u, 8u, 10u, 11u}) ones(i);  // TOS, TTL, checksum
  }
  ones(udp + 6), ones(udp + 7);  // UDP checksum
  ones(udp + 8 + 4);             // FECN, BECN, reserved
  return bitwise_crc(in);
}

Buffer trailer(std::uint32_t crc) {
  return {static_cast<std::uint8_t>(crc), static_cast<std::uint8_t>(crc >> 8), static_cast<std::uint8_t>(crc >> 16),
          static_cast<std::uint8_t>(crc >> 24)};
}

std::uint16_t ones_complement_sum(View data, std::uint32_t sum) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    sum += i % 2 == 0 ? static_cast<std::uint32_t>(data[i]) << 8 : data[i];
    if (sum > 0xffff) sum -= 0xffff;
  }
  return static_cast<std::uint16_t>(sum);
}

std::size_t ip_offset(View frame) {
  return get16(frame, 12) == 0x8100 ? 18 : 14;
}

bool is_v6(View frame) {
  return frame[ip_offset(frame)] >> 4 == 6;
}

std::size_t udp_offset(View frame) {
  return ip_offset(frame) + (is_v6(frame) ? 40u : 20u);
}

std::size_t bth_offset(View frame) {
  return udp_offset(frame) + 8;
}

View ip_datagram(View frame) {
  const std::size_t at = ip_offset(frame);
  return frame.subspan(at, is_v6(frame) ? 40 + get16(frame, at + 4) : get16(frame, at + 2));
}

bool icrc_right(View frame) {
  const View ip = ip_datagram(frame);
  const Buffer expected = trailer(icrc_by_rule(ip.first(ip.size() - 4)));
  return Buffer(ip.end() - 4, ip.end()) == expected;
}

void fix_ipv4_checksum(Buffer& frame) {
  const std::size_t at = ip_offset(frame);
  put16(frame, at + 10, 0);
  put16(frame, at + 10, static_cast<std::uint16_t>(~ones_complement_sum(View(frame).subspan(at, 20))));
}

void fix_icrc(Buffer& frame) {
  const View ip = ip_datagram(frame);
  const Buffer right = trailer(icrc_by_rule(ip.first(ip.size() - 4)));
  const std::size_t end = ip_offset(frame) + ip.size();
  for (std::size_t i = 0; i < 4; ++i) frame[end - 4 + i] = right[i];
}

void reseal(Buffer& frame) {
  if (!is_v6(frame)) fix_ipv4_checksum(frame);
  fix_icrc(frame);
}

std::uint16_t udp_checksum(View frame) {
  const View ip = ip_datagram(frame);
  const bool v6 = is_v6(frame);
  const View udp = ip.subspan(v6 ? 40 : 20);
  Buffer b(v6 ? Buffer(ip.begin() + 8, ip.begin() + 40) : Buffer(ip.begin() + 12, ip.begin() + 20));
  append_number(b, udp.size(), 4), append_number(b, 17, 4);
  append(b, udp.first(6)), append_number(b, 0, 2), append(b, udp.subspan(8));
  const auto sum = static_cast<std::uint16_t>(~ones_complement_sum(b));
  return sum == 0 ? 0xffff : sum;
}

Buffer frame_around(const Around& a, View transport) {
  Buffer f = from_hex(kDestinationMac);
  append(f, from_hex(kSourceMac));
  if (a.vlan) append_number(f, 0x8100, 2), append_number(f, *a.vlan, 2);
  append_number(f, a.v6 ? 0x86dd : 0x0800, 2);
  const std::size_t udp_length = 8 + transport.size() + 4;
  if (a.v6) {
    append_number(f, 6u << 28 | std::uint32_t{a.traffic_class} << 20 | a.flow_label, 4);
    append_number(f, udp_length, 2), append_number(f, 17, 1), append_number(f, a.hop_limit, 1);
    append(f, from_hex(kSource6)), append(f, from_hex(kDestination6));
  } else {
    append_number(f, 0x45, 1), append_number(f, a.traffic_class, 1), append_number(f, 20 + udp_length, 2);
    append_number(f, 0, 2), append_number(f, 0x4000, 2);  // identification 0, DF
    append_number(f, a.hop_limit, 1), append_number(f, 17, 1), append_number(f, 0, 2);
    append(f, from_hex(kSource4)), append(f, from_hex(kDestination4));
  }
  append_number(f, a.source_port, 2), append_number(f, 4791, 2), append_number(f, udp_length, 2);
  append_number(f, 0, 2);
  append(f, transport);
  append_number(f, 0, 4);
  while (f.size() < 60) f.push_back(0);
  if (!a.v6) fix_ipv4_checksum(f);
  if (transport.size() >= 5) fix_icrc(f);  // a shorter one has no BTH byte 4 to mask
  return f;
}

Buffer bth(std::uint8_t opcode, std::uint8_t flags, std::uint32_t qp, std::uint32_t psn, bool ack_req) {
  Buffer b{opcode, flags, 0xff, 0xff, 0};
  append_number(b, qp, 3), append_number(b, ack_req ? 0x80 : 0, 1), append_number(b, psn, 3);
  return b;
}

Buffer transport(std::uint8_t opcode, View headers, View payload) {
  const std::size_t pad = (4 - payload.size() % 4) % 4;
  Buffer b = bth(opcode, static_cast<std::uint8_t>(pad << 4));
  append(b, headers), append(b, payload);
  b.insert(b.end(), pad, 0);
  return b;
}

}  // namespace uroce::wire::test
