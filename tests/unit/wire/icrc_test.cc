// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "capture.h"
#include "guarded_bytes.h"
#include "oracle.h"

namespace uroce::wire::test {
namespace {

// Two packets of other people's hardware and software, as scapy's tests for RoCE hold them.
constexpr std::string_view kCnp =
    "45c2003c718c40004011 9161 0a001101 0a001201 000012b700280000 8100ffff40000118 00000000"
    "00000000000000000000000000000000 82fd002a";
constexpr std::string_view kUcSend =
    "45010040047840004011 b4d5 c0a80007 c0a80007 c00012b7002c0000 2460ffff000000d3 00cf1710"
    "4630818be28935d90e9a95505401be885e50 0000 78f353f3";

Buffer in_ethernet(View ip) {
  Buffer f = from_hex("020000000001 020000000002 0800");
  append(f, ip);
  while (f.size() < 60) f.push_back(0);
  return f;
}

Datagram located(View frame) {
  Drop why{};
  const auto d = Datagram::locate(frame, why);
  if (!d) throw std::runtime_error(std::string(drop_name(why)));
  return *d;
}

void expect_vector(std::string_view hex, std::uint32_t value) {
  const Buffer frame = in_ethernet(from_hex(hex));
  const Datagram d = located(frame);
  EXPECT_EQ(icrc(d), value);
  EXPECT_TRUE(icrc_matches(d));
  EXPECT_TRUE(icrc_right(frame));  // the other implementation of this test, by the same vector
}

TEST(Icrc, CnpOfAConnectX4) {
  expect_vector(kCnp, 0x2a00fd82);
}
TEST(Icrc, UcSendOfEighteenBytes) {
  expect_vector(kUcSend, 0xf353f378);
}

TEST(Icrc, TheUdpChecksumOfAVectorIsAnything) {
  Buffer frame = in_ethernet(from_hex(kUcSend));
  put16(frame, udp_offset(frame) + 6, 0xbeef);
  EXPECT_TRUE(icrc_matches(located(frame)));
}

TEST(Icrc, Crc32IsTheOneOfZlib) {
  const std::string check = "123456789";  // the check value of CRC catalogues
  EXPECT_EQ(crc32(0, check.data(), check.size()), 0xcbf43926u);
  EXPECT_EQ(crc32(0, nullptr, 0), 0u);
  EXPECT_EQ(crc32(0x12345678, nullptr, 0), 0x12345678u);
  const std::uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  EXPECT_EQ(kIcrcStart, ~0xdebb20e3u);  // the seed published with Linux' rxe, before its final complement
  EXPECT_EQ(crc32(0, ones, 8), kIcrcStart);
}

TEST(Icrc, Crc32OfPartsIsTheOneOfTheWhole) {
  const Buffer data = pattern(600);
  for (std::size_t n = 0; n <= data.size(); ++n) {
    const std::uint32_t head = crc32(0, data.data(), n);
    EXPECT_EQ(head, bitwise_crc(View(data).first(n))) << n;
    EXPECT_EQ(crc32(head, data.data() + n, data.size() - n), bitwise_crc(data)) << n;
  }
}

TEST(Icrc, EveryCapturedFrameIsJudgedAsTheRuleJudgesIt) {
  std::size_t files = 0, good = 0;
  for (const auto& entry : std::filesystem::directory_iterator(UROCE_TEST_DATA)) {
    if (entry.path().extension() != ".pcap") continue;
    ++files;
    for (const Buffer& frame : read_capture(entry.path().filename().string())) {
      Drop why{};
      const auto d = Datagram::locate(frame, why);
      if (!d) continue;
      const bool right = icrc_right(frame);
      ASSERT_EQ(icrc_matches(*d), right) << entry.path().filename();
      good += right ? 1 : 0;
    }
  }
  EXPECT_GE(files, 20u);
  EXPECT_GE(good, 13000u);
}

TEST(Icrc, CapturesWithoutFaultsAreAllGood) {
  const std::pair<const char*, std::size_t> captures[] = {
      {"m1500-probe-all.pcap", 117},  {"m1500-v6-probe-all.pcap", 54}, {"m4200-probe-all.pcap", 72},
      {"m1500-atomic-cas.pcap", 400}, {"m1500-ud-pingpong.pcap", 40},  {"x-nvme-rdma.pcap", 384}};
  for (const auto& [name, count] : captures) {
    const auto frames = read_capture(name);
    EXPECT_EQ(frames.size(), count) << name;
    for (const Buffer& frame : frames) ASSERT_TRUE(icrc_matches(located(frame))) << name;
  }
}

// Eleven of its 715 frames had a byte changed on their way: found with Python's zlib.
TEST(Icrc, CorruptedFramesOfACaptureAreFound) {
  std::size_t bad = 0;
  const auto frames = read_capture("x-corrupt.pcap");
  for (const Buffer& frame : frames) bad += icrc_matches(located(frame)) ? 0 : 1;
  EXPECT_EQ(frames.size(), 715u);
  EXPECT_EQ(bad, 11u);
}

TEST(Icrc, AVlanTagIsNotCovered) {
  for (const char* name : {"m1500-probe-all.pcap", "m1500-v6-probe-all.pcap"}) {
    for (Buffer frame : read_capture(name)) {
      const std::uint32_t untagged = icrc(located(frame));
      const Buffer tag = from_hex("8100 6064");
      frame.insert(frame.begin() + 12, tag.begin(), tag.end());
      const Datagram d = located(frame);
      EXPECT_EQ(d.vlan_tci(), 0x6064);
      EXPECT_EQ(icrc(d), untagged);
      EXPECT_TRUE(icrc_matches(d));
    }
  }
}

TEST(Icrc, EthernetPaddingAndAddressesAreNotCovered) {
  Buffer frame = send_only(0);
  ASSERT_EQ(frame.size(), 60u);
  frame[58] = 0x5a, frame[59] = 0xa5;
  frame[0] ^= 2, frame[7] ^= 0xff;
  frame.insert(frame.end(), 10, 0xee);
  EXPECT_TRUE(icrc_matches(located(frame)));
}

// Flips every bit of a datagram: the ICRC breaks unless the bit belongs to a field that routers may change.
void expect_coverage(const Around& around, const std::set<std::size_t>& free_bytes, bool version_half) {
  const Buffer good = send_only(9, around);
  const std::size_t ip = ip_offset(good);
  std::size_t judged = 0;
  for (std::size_t at = ip; at < good.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Buffer frame = good;
      frame[at] = static_cast<std::uint8_t>(frame[at] ^ 1u << bit);
      const std::size_t offset = at - ip;
      if (!around.v6 && offset < 20 && offset != 10 && offset != 11) fix_ipv4_checksum(frame);
      Drop why{};
      const auto d = Datagram::locate(frame, why);
      if (!d) continue;
      ++judged;
      const bool free = free_bytes.contains(offset) || (version_half && offset == 0 && bit < 4);
      EXPECT_EQ(icrc_matches(*d), free) << "byte " << offset << " bit " << bit;
    }
  }
  EXPECT_GT(judged, (good.size() - ip) * 8 * 3 / 4);
}

TEST(Icrc, CoversIpv4ButForWhatRoutersChange) {
  expect_coverage({}, {1, 8, 20 + 6, 20 + 7, 28 + 4}, false);  // TOS, TTL, UDP checksum, BTH byte 4
}

TEST(Icrc, CoversIpv6ButForWhatRoutersChange) {
  expect_coverage({.v6 = true}, {1, 2, 3, 7, 40 + 6, 40 + 7, 48 + 4}, true);
}

TEST(Icrc, ADatagramTooShortForATrailerNeverMatches) {
  for (std::size_t n = 0; n < 12; ++n) {
    const Buffer frame = frame_around({}, pattern(n));
    const GuardedBytes exact(View(frame).first(14 + ip_datagram(frame).size()));
    EXPECT_FALSE(icrc_matches(located(exact.bytes()))) << n;
  }
}

TEST(Icrc, TheTrailerIsLittleEndian) {
  std::uint8_t bytes[4] = {};
  store_icrc(bytes, 0x01020304);
  EXPECT_EQ(Buffer(bytes, bytes + 4), (Buffer{4, 3, 2, 1}));
}

}  // namespace
}  // namespace uroce::wire::test
