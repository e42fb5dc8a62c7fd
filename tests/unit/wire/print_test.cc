// SPDX-License-Identifier: BSD-3-Clause
#include "wire/print.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/rng.h"
#include "capture.h"
#include "oracle.h"

namespace uroce::wire::test {
namespace {

template <class F>
std::string text(F&& print) {
  std::array<char, 512> room{};
  base::TextWriter out(room);
  print(out);
  return std::string(out.view());
}

std::string address_text(const IpAddress& a) {
  return text([&](base::TextWriter& out) { print_address(out, a); });
}
std::string address_text(std::string_view hex) {
  const Buffer b = from_hex(hex);
  IpAddress a;
  std::copy(b.begin(), b.end(), a.bytes.begin());
  return address_text(a);
}
std::string syndrome_text(std::uint8_t s) {
  return text([&](base::TextWriter& out) { print_syndrome(out, s); });
}
std::string packet_text(View frame) {
  Drop why{};
  const auto p = parse_frame(frame, why);
  if (!p) return std::string(drop_name(why));
  return text([&](base::TextWriter& out) { print_packet(out, *p); });
}

TEST(Print, Ipv4IsDottedDecimal) {
  EXPECT_EQ(address_text(IpAddress::v4(10, 77, 0, 1)), "10.77.0.1");
  EXPECT_EQ(address_text(IpAddress::v4(255, 255, 255, 255)), "255.255.255.255");
  EXPECT_EQ(address_text(IpAddress::v4(0, 0, 0, 0)), "0.0.0.0");
}

// RFC 5952, section 4 and its examples.
TEST(Print, Ipv6TakesItsCanonicalForm) {
  EXPECT_EQ(address_text("20010db8000000000000000000000001"), "2001:db8::1");
  EXPECT_EQ(address_text("20010db8000000000000000000020001"), "2001:db8::2:1");
  EXPECT_EQ(address_text("20010db8000000010001000100010001"), "2001:db8:0:1:1:1:1:1");  // one zero field stays
  EXPECT_EQ(address_text("20010000000000010000000000000001"), "2001:0:0:1::1");         // the longest run
  EXPECT_EQ(address_text("20010db8000000000001000000000001"), "2001:db8::1:0:0:1");     // the first of equals
  EXPECT_EQ(address_text("20010db8aaaabbbbccccddddeeeeaaaa"), "2001:db8:aaaa:bbbb:cccc:dddd:eeee:aaaa");
  EXPECT_EQ(address_text("00000000000000000000000000000000"), "::");
  EXPECT_EQ(address_text("00000000000000000000000000000001"), "::1");
  EXPECT_EQ(address_text("00010000000000000000000000000000"), "1::");
  EXPECT_EQ(address_text("fe800000000000000200000000000001"), "fe80::200:0:0:1");
  EXPECT_EQ(address_text("ff020000000000000000000000000001"), "ff02::1");
  EXPECT_EQ(address_text("00000000000100000000000000000000"), "0:0:1::");
}

TEST(Print, Ipv6IsWhatInetNtopPrints) {
  base::Rng rng(1);
  for (int i = 0; i < 20000; ++i) {
    IpAddress a;
    for (std::size_t group = 0; group < 8; ++group) {
      if (rng.below(2) == 0) continue;
      a.bytes[2 * group] = static_cast<std::uint8_t>(rng.below(2) * rng.below(256));
      a.bytes[2 * group + 1] = static_cast<std::uint8_t>(rng.below(256));
    }
    std::size_t zeros = 0;
    while (zeros < 10 && a.bytes[zeros] == 0) ++zeros;
    if (zeros == 10) continue;  // where inet_ntop chooses the mixed notation
    char expected[INET6_ADDRSTRLEN];
    ASSERT_NE(inet_ntop(AF_INET6, a.bytes.data(), expected, sizeof(expected)), nullptr);
    ASSERT_EQ(address_text(a), expected);
  }
}

TEST(Print, AMacHasTwoDigitsAByte) {
  EXPECT_EQ(text([](base::TextWriter& out) { print_mac(out, {{0x02, 0, 0x0a, 0xff, 0x10, 1}}); }), "02:00:0a:ff:10:01");
}

TEST(Print, EverySyndromeHasAName) {
  EXPECT_EQ(syndrome_text(0x1f), "ACK(credit 31)");
  EXPECT_EQ(syndrome_text(0x00), "ACK(credit 0)");
  EXPECT_EQ(syndrome_text(0x2c), "RNR(timer 12)");
  EXPECT_EQ(syndrome_text(0x20), "RNR(timer 0)");
  EXPECT_EQ(syndrome_text(0x41), "RESERVED(1)");
  EXPECT_EQ(syndrome_text(0x60), "NAK_SEQ");
  EXPECT_EQ(syndrome_text(0x61), "NAK_INVALID_REQ");
  EXPECT_EQ(syndrome_text(0x62), "NAK_ACCESS");
  EXPECT_EQ(syndrome_text(0x63), "NAK_OPERATIONAL");
  EXPECT_EQ(syndrome_text(0x64), "NAK_INVALID_RD");
  EXPECT_EQ(syndrome_text(0x65), "NAK(5)");
  EXPECT_EQ(syndrome_text(0x7f), "NAK(31)");
}

struct PacketRow {
  std::uint8_t opcode;
  std::string_view headers;
  std::size_t payload;
  std::string_view text;  // after "10.77.0.2 > 10.77.0.1 "
};

TEST(Print, APacketIsOneLine) {
  constexpr PacketRow kRows[] = {
      {0x04, "", 64, "RC_SEND_ONLY qp=0x11 psn=7 payload=64"},
      {0x04, "", 0, "RC_SEND_ONLY qp=0x11 psn=7"},
      {0x02, "", 5, "RC_SEND_LAST qp=0x11 psn=7 payload=5 pad=3"},
      {0x05, "0a0b0c0d", 0, "RC_SEND_ONLY_IMM qp=0x11 psn=7 imm=0x0a0b0c0d"},
      {0x17, "080001a4", 0, "RC_SEND_ONLY_INV qp=0x11 psn=7 invalidate=0x80001a4"},
      {0x0a, "0000000000001000 0000002a 00000040", 64,
       "RC_WRITE_ONLY qp=0x11 psn=7 va=0x1000 rkey=0x2a len=64 payload=64"},
      {0x0c, "00007efdb71a8000 000018fe 00004e21", 0,
       "RC_READ_REQ qp=0x11 psn=7 va=0x7efdb71a8000 rkey=0x18fe len=20001"},
      {0x11, "1f000001", 0, "RC_ACK qp=0x11 psn=7 ACK(credit 31) msn=1"},
      {0x11, "60abcdef", 0, "RC_ACK qp=0x11 psn=7 NAK_SEQ msn=11259375"},
      {0x12, "1f000002 f1eae3dcd5cec7c0", 0,
       "RC_ATOMIC_ACK qp=0x11 psn=7 ACK(credit 31) msn=2 original=0xf1eae3dcd5cec7c0"},
      {0x13, "0000000000000008 0000002a 0000000000000001 0000000000000000", 0,
       "RC_CMP_SWAP qp=0x11 psn=7 va=0x8 rkey=0x2a swap_or_add=0x1 compare=0x0"},
      {0x64, "80010000 00000001", 4, "UD_SEND_ONLY qp=0x11 psn=7 src_qp=0x1 qkey=0x80010000 payload=4"},
      {0xa4, "00000045", 4, "XRC_SEND_ONLY qp=0x11 psn=7 srq=0x45 payload=4"},
      {0x81, "00000000000000000000000000000000", 0, "CNP qp=0x11 psn=7"}};
  for (const PacketRow& row : kRows) {
    const Buffer frame = frame_around({}, transport(row.opcode, from_hex(row.headers), pattern(row.payload)));
    EXPECT_EQ(packet_text(frame), "10.77.0.2 > 10.77.0.1 " + std::string(row.text));
  }
}

TEST(Print, FlagsAreNamedWhenSet) {
  Buffer t = bth(0x04, 0xc0, 0xabcdef, 0xffffff, true);
  t[4] = 0x40;
  EXPECT_EQ(packet_text(frame_around({.v6 = true, .traffic_class = 3}, t)),
            "fd77::2 > fd77::1 RC_SEND_ONLY qp=0xabcdef psn=16777215 ack_req solicited becn ce");
}

// Addresses and fields of this frame as read from a hex dump.
TEST(Print, ACapturedPacketIsPrinted) {
  const auto frames = read_capture("m1500-probe-all.pcap");
  const std::string line = packet_text(frames.at(101));
  EXPECT_NE(line.find("RC_FETCH_ADD qp=0x2d psn=5367610 ack_req va=0x7efdb71a8040 rkey=0x18fe "
                      "swap_or_add=0x1122334455667788 compare=0x0"),
            std::string::npos)
      << line;
}

TEST(Print, ALineThatDoesNotFitIsCut) {
  const Buffer frame = send_only(8);
  const std::string whole = packet_text(frame);
  Drop why{};
  const auto p = parse_frame(frame, why);
  ASSERT_TRUE(p.has_value());
  for (std::size_t n = 0; n <= whole.size(); ++n) {
    std::array<char, 512> room{};
    base::TextWriter out({room.data(), n});
    print_packet(out, *p);
    ASSERT_EQ(out.view(), whole.substr(0, n));
    ASSERT_EQ(room[n], 0);
  }
}

}  // namespace
}  // namespace uroce::wire::test
