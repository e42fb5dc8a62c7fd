// SPDX-License-Identifier: BSD-3-Clause
// What the builder writes, compared byte by byte with the same frame written by hand.
#include "wire/build.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "guarded_bytes.h"
#include "oracle.h"
#include "wire/frame.h"

namespace uroce::wire::test {
namespace {

IpAddress address(std::string_view hex) {
  const Buffer b = from_hex(hex);
  if (b.size() == 4) return IpAddress::v4(b[0], b[1], b[2], b[3]);
  IpAddress a;
  std::memcpy(a.bytes.data(), b.data(), 16);
  return a;
}

Path path_of(const Around& a) {
  Path p;
  p.destination_mac = {{2, 0, 0, 0, 0, 1}};
  p.source_mac = {{2, 0, 0, 0, 0, 2}};
  p.source = address(a.v6 ? kSource6 : kSource4);
  p.destination = address(a.v6 ? kDestination6 : kDestination4);
  p.udp_source_port = a.source_port;
  p.traffic_class = a.traffic_class;
  p.hop_limit = a.hop_limit;
  p.flow_label = a.flow_label;
  p.vlan_tci = a.vlan;
  return p;
}

const Around kPaths[] = {
    {.traffic_class = 0x62, .hop_limit = 63, .source_port = 0xc0de},
    {.vlan = std::uint16_t{0x6064}, .traffic_class = 0x02, .hop_limit = 1, .source_port = 0xffff},
    {.v6 = true, .traffic_class = 0xfd, .hop_limit = 255, .flow_label = 0xabcde, .source_port = 0xd00d},
    {.v6 = true, .vlan = std::uint16_t{0x0fff}, .hop_limit = 64, .flow_label = 0xfffff, .source_port = 0xc000},
};

std::vector<std::size_t> payload_lengths() {
  std::vector<std::size_t> lengths;
  for (std::size_t n = 0; n <= 9; ++n) lengths.push_back(n);
  for (std::size_t n = 1021; n <= 1024; ++n) lengths.push_back(n);
  lengths.push_back(4096);
  return lengths;
}

enum class Finish { whole, fused };

// A frame from the builder: as much room as its contract asks for and not a byte more, old bytes everywhere in it.
Buffer build(const FrameTemplate& t, std::uint8_t opcode, View payload, Finish how) {
  GuardedBytes room(kMaxFrameOverhead + payload.size());
  std::memset(room.data(), 0xa5, room.bytes().size());
  FrameWriter w(t, room.data(), opcode, static_cast<std::uint32_t>(payload.size()));
  w.bth().dest_qp.set(0x123456);
  w.bth().psn.set(0xfedcba);
  const Buffer headers = pattern(kOpcodes[opcode].header_length - 12u);
  if (!headers.empty()) std::memcpy(w.payload() - headers.size(), headers.data(), headers.size());
  std::size_t length = 0;
  if (how == Finish::fused) {
    std::uint32_t crc = w.header_crc();
    if (!payload.empty()) std::memcpy(w.payload(), payload.data(), payload.size());
    crc = crc32(crc, payload.data(), payload.size());
    length = w.finish(crc);
  } else {
    if (!payload.empty()) std::memcpy(w.payload(), payload.data(), payload.size());
    length = w.finish();
  }
  return {room.data(), room.data() + length};
}

Buffer by_hand(const Around& a, std::uint8_t opcode, View payload) {
  const std::size_t pad = (4 - payload.size() % 4) % 4;
  Buffer t = bth(opcode, static_cast<std::uint8_t>(0x40 | pad << 4), 0x123456, 0xfedcba);  // MigReq 1
  append(t, pattern(kOpcodes[opcode].header_length - 12u));
  append(t, payload);
  t.insert(t.end(), pad, 0);
  return frame_around(a, t);
}

TEST(Build, EveryOpcodeAndLengthIsTheFrameWrittenByHand) {
  for (const Around& a : kPaths) {
    const FrameTemplate t(path_of(a));
    for (unsigned op = 0; op < 256; ++op) {
      const auto opcode = static_cast<std::uint8_t>(op);
      if (!kOpcodes[opcode].known()) continue;
      for (const std::size_t n : payload_lengths()) {
        SCOPED_TRACE(std::string(kOpcodes[opcode].name) + " with " + std::to_string(n));
        const Buffer payload = pattern(n);
        const Buffer expected = by_hand(a, opcode, payload);
        ASSERT_EQ(build(t, opcode, payload, Finish::whole), expected);
        ASSERT_EQ(build(t, opcode, payload, Finish::fused), expected);
      }
    }
  }
}

TEST(Build, WhatIsBuiltParses) {
  for (const Around& a : kPaths) {
    const FrameTemplate t(path_of(a));
    for (unsigned op = 0; op < 256; ++op) {
      const auto opcode = static_cast<std::uint8_t>(op);
      if (!kOpcodes[opcode].known()) continue;
      for (const std::size_t n : payload_lengths()) {
        const Buffer payload = pattern(n);
        const Buffer frame = build(t, opcode, payload, Finish::whole);
        Drop why{};
        const auto p = parse_frame(frame, why);
        ASSERT_TRUE(p.has_value()) << drop_name(why);
        ASSERT_TRUE(icrc_matches(p->datagram()));
        ASSERT_TRUE(icrc_right(frame));
        EXPECT_EQ(&p->info(), &kOpcodes[opcode]);
        EXPECT_EQ(Buffer(p->payload().begin(), p->payload().end()), payload);
        EXPECT_EQ(p->psn(), 0xfedcbau);
        EXPECT_EQ(p->dest_qp(), 0x123456u);
        if (!a.v6) {
          EXPECT_EQ(ones_complement_sum(ip_datagram(frame).first(20)), 0xffff);
        }
      }
    }
  }
}

// The checksum and the lengths' share of the CRC over the whole range of lengths: 0xffff - 8 - 20 - headers at most.
TEST(Build, LengthFieldsCarryThroughTheirHighByte) {
  for (const Around& a : kPaths) {
    const FrameTemplate t(path_of(a));
    for (std::size_t n = 0; n < 65000; n += 251) {
      const Buffer payload(n, 0x33);
      ASSERT_EQ(build(t, 0x04, payload, Finish::whole), by_hand(a, 0x04, payload)) << n;
    }
  }
}

TEST(Build, ShortFramesArePaddedToSixty) {
  const FrameTemplate t(path_of({}));
  const Buffer empty = build(t, 0x04, {}, Finish::whole);
  ASSERT_EQ(empty.size(), 60u);  // 58 of content
  EXPECT_EQ(empty[58], 0);
  EXPECT_EQ(empty[59], 0);
  EXPECT_EQ(build(t, 0x11, {}, Finish::fused).size(), 62u);  // an ACK needs none
}

TEST(Build, ABthStartsWithMigReqAndNoReservedBit) {
  const FrameTemplate t(path_of({}));
  GuardedBytes room(kMaxFrameOverhead + 5);
  std::memset(room.data(), 0xff, room.bytes().size());
  FrameWriter w(t, room.data(), 0x04, 5);
  EXPECT_EQ(w.bth().opcode, 0x04);
  EXPECT_EQ(w.bth().se_m_pad_tver, 0x40 | 3 << 4);
  EXPECT_EQ(w.bth().pkey.get(), 0xffff);
  EXPECT_EQ(w.bth().a_reserved, 0);
  std::memset(w.payload(), 0, 5);
  w.finish();
  EXPECT_EQ(w.bth().f_b_reserved, 0);
}

// BECN and AckReq: the first is outside the ICRC, the second inside, and both reach the wire.
TEST(Build, FlagsSetByTheCallerReachTheWire) {
  const FrameTemplate t(path_of({}));
  for (const Finish how : {Finish::whole, Finish::fused}) {
    GuardedBytes room(kMaxFrameOverhead);
    FrameWriter w(t, room.data(), 0x81, 0);
    w.set_congestion(0x40);
    w.bth().a_reserved = 0x80;
    w.bth().dest_qp.set(0x118);
    w.bth().psn.set(0);
    w.ext<Ext::cnp>() = {};
    const std::size_t length = how == Finish::whole ? w.finish() : w.finish(w.header_crc());
    Buffer expected = bth(0x81, 0x40, 0x118, 0, true);
    expected[4] = 0x40;
    expected.insert(expected.end(), 16, 0);
    EXPECT_EQ(Buffer(room.data(), room.data() + length), frame_around({}, expected));
  }
}

TEST(Build, ExtensionHeadersLieWhereTheOpcodePutsThem) {
  const FrameTemplate t(path_of({}));
  GuardedBytes room(kMaxFrameOverhead);
  FrameWriter w(t, room.data(), 0xb3, 0);  // XRC COMPARE SWAP
  w.bth().dest_qp.set(1);
  w.bth().psn.set(2);
  w.ext<Ext::xrc_eth>() = {0, be24(0xabcdef)};
  w.ext<Ext::atomic_eth>() = {be64(0x1000), be32(0x2a), be64(7), be64(9)};
  const std::size_t length = w.finish();
  Buffer expected = bth(0xb3, 0x40, 1, 2);
  append(expected, from_hex("00abcdef 0000000000001000 0000002a 0000000000000007 0000000000000009"));
  EXPECT_EQ(Buffer(room.data(), room.data() + length), frame_around({}, expected));
}

TEST(Build, ATemplateKnowsItsPath) {
  for (const Around& a : kPaths) {
    FrameTemplate t(path_of(a));
    EXPECT_EQ(t.is_v6(), a.v6);
    EXPECT_EQ(t.head_length(), 14u + (a.vlan ? 4 : 0) + (a.v6 ? 40 : 20) + 8);
    Buffer received = from_hex(a.v6 ? kDestination6 : kDestination4);
    append(received, from_hex(a.v6 ? kSource6 : kSource4));
    EXPECT_EQ(Buffer(t.received_addresses().begin(), t.received_addresses().end()), received);

    t.set_destination_mac({{0x0a, 1, 2, 3, 4, 5}});
    const Buffer payload = pattern(6);
    Buffer expected = by_hand(a, 0x04, payload);
    const Buffer mac = from_hex("0a0102030405");
    std::memcpy(expected.data(), mac.data(), 6);
    EXPECT_EQ(build(t, 0x04, payload, Finish::whole), expected);
  }
}

TEST(Build, AFlowLabelHasTwentyBits) {
  Path p = path_of({.v6 = true});
  p.flow_label = 0xfff12345;
  const FrameTemplate t(p);
  EXPECT_EQ(build(t, 0x04, pattern(4), Finish::whole), by_hand({.v6 = true, .flow_label = 0x12345}, 0x04, pattern(4)));
}

}  // namespace
}  // namespace uroce::wire::test
