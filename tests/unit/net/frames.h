// SPDX-License-Identifier: BSD-3-Clause
// Frames written by hand, as hexadecimal text, and checksums by another way than the code under test takes.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/ethernet.h"
#include "wire/ip.h"

namespace uroce::net::test {

using Frame = std::vector<std::uint8_t>;

// White space and anything between the digits but digits is skipped.
inline Frame hex(std::string_view text) {
  Frame f;
  int high = -1;
  for (const char c : text) {
    const auto at = std::string_view("0123456789abcdef").find(c);
    if (at == std::string_view::npos) continue;
    const int digit = static_cast<int>(at);
    if (high < 0) {
      high = digit;
    } else {
      f.push_back(static_cast<std::uint8_t>(high * 16 + digit));
      high = -1;
    }
  }
  EXPECT_LT(high, 0) << "half a byte in: " << text;
  return f;
}

inline std::string show(std::span<const std::uint8_t> f) {
  std::string s;
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (i != 0) s += i % 16 == 14 ? '\n' : ' ';
    s += "0123456789abcdef"[f[i] >> 4];
    s += "0123456789abcdef"[f[i] & 15];
  }
  return s;
}

inline wire::MacAddress mac(std::string_view text) {
  const Frame b = hex(text);
  EXPECT_EQ(b.size(), 6u) << text;
  wire::MacAddress m;
  std::copy(b.begin(), b.end(), m.bytes.begin());
  return m;
}

// All 16 bytes written out.
inline wire::IpAddress v6(std::string_view text) {
  const Frame b = hex(text);
  EXPECT_EQ(b.size(), 16u) << text;
  wire::IpAddress a;
  std::copy(b.begin(), b.end(), a.bytes.begin());
  return a;
}

// RFC 1071 by arithmetic: one's complement addition of 16-bit words is addition modulo 65535, with 65535 for a zero
// that is not made of zeros only.
inline std::uint16_t internet_checksum(std::span<const std::uint8_t> bytes) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) total += std::uint64_t{bytes[i]} * (i % 2 == 0 ? 256 : 1);
  std::uint64_t sum = total % 65535;
  if (sum == 0 && total != 0) sum = 65535;
  return static_cast<std::uint16_t>(65535 - sum);
}

inline void put16(Frame& f, std::size_t at, std::uint16_t v) {
  f.at(at) = static_cast<std::uint8_t>(v >> 8);
  f.at(at + 1) = static_cast<std::uint8_t>(v);
}

inline constexpr std::size_t kIp = 14, kIcmpV4 = 34, kIcmpV6 = 54;

// An Ethernet frame with IPv4 and ICMP: sets the total length, the header's and the message's checksum.
inline Frame seal_v4(Frame f) {
  put16(f, kIp + 2, static_cast<std::uint16_t>(f.size() - kIp));
  put16(f, kIp + 10, 0);
  put16(f, kIp + 10, internet_checksum(std::span(f).subspan(kIp, 20)));
  if (f.size() >= kIcmpV4 + 4) {
    put16(f, kIcmpV4 + 2, 0);
    put16(f, kIcmpV4 + 2, internet_checksum(std::span(f).subspan(kIcmpV4)));
  }
  return f;
}

// The same with IPv6. RFC 8200 section 8.1: the pseudo header is addresses, a 32-bit length, zeros and the protocol.
inline Frame seal_v6(Frame f) {
  const std::size_t length = f.size() - kIcmpV6;
  put16(f, kIp + 4, static_cast<std::uint16_t>(length));
  if (length < 4) return f;
  put16(f, kIcmpV6 + 2, 0);
  Frame summed(f.begin() + kIp + 8, f.begin() + kIp + 40);
  const Frame tail = {0, 0, static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length), 0, 0, 0, 58};
  summed.insert(summed.end(), tail.begin(), tail.end());
  summed.insert(summed.end(), f.begin() + kIcmpV6, f.end());
  put16(f, kIcmpV6 + 2, internet_checksum(summed));
  return f;
}

inline Frame padded(Frame f) {
  if (f.size() < 60) f.resize(60);
  return f;
}

}  // namespace uroce::net::test
