// SPDX-License-Identifier: BSD-3-Clause
// The parser on frames written by hand and on captured ones: every accessor, every length.
#include "wire/frame.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "capture.h"
#include "guarded_bytes.h"
#include "oracle.h"
#include "visit.h"

namespace uroce::wire::test {
namespace {

RocePacket parsed(View frame) {
  Drop why{};
  const auto p = parse_frame(frame, why);
  if (!p) throw std::runtime_error(std::string(drop_name(why)));
  return *p;
}

Buffer copy_of(Bytes b) {
  return {b.begin(), b.end()};
}

TEST(Frame, AnIpv4DatagramIsRead) {
  const Buffer frame = send_only(5, {.traffic_class = 0xa9, .hop_limit = 17, .source_port = 0xd123});
  const RocePacket p = parsed(frame);
  const Datagram& d = p.datagram();
  EXPECT_FALSE(d.is_v6());
  EXPECT_EQ(d.vlan_tci(), std::nullopt);
  EXPECT_EQ(d.source(), IpAddress::v4(10, 77, 0, 2));
  EXPECT_EQ(d.destination(), IpAddress::v4(10, 77, 0, 1));
  EXPECT_EQ(copy_of(d.addresses()), from_hex("0a4d0002 0a4d0001"));
  EXPECT_EQ(d.traffic_class(), 0xa9);
  EXPECT_EQ(d.ecn(), Ecn::ect1);
  EXPECT_EQ(d.ipv4().ttl, 17);
  EXPECT_EQ(d.udp().source_port.get(), 0xd123);
  EXPECT_EQ(d.ip().size(), 20u + 8 + 12 + 8 + 4);
  EXPECT_EQ(d.ip().data(), frame.data() + 14);
  EXPECT_EQ(d.transport().data(), frame.data() + 42);
  EXPECT_EQ(d.transport().size(), 24u);
  EXPECT_EQ(d.ethernet().destination, (MacAddress{{2, 0, 0, 0, 0, 1}}));
  EXPECT_EQ(d.ethernet().source, (MacAddress{{2, 0, 0, 0, 0, 2}}));
  EXPECT_EQ(copy_of(p.payload()), pattern(5));
}

TEST(Frame, AnIpv6DatagramInAVlanIsRead) {
  const Around around{
      .v6 = true, .vlan = std::uint16_t{0xa064}, .traffic_class = 0x5e, .hop_limit = 3, .flow_label = 0xfffff};
  const Buffer frame = send_only(4, around);
  const RocePacket p = parsed(frame);
  const Datagram& d = p.datagram();
  EXPECT_TRUE(d.is_v6());
  EXPECT_EQ(d.vlan_tci(), 0xa064);
  EXPECT_EQ(vlan_id(*d.vlan_tci()), 100);
  EXPECT_EQ(copy_of(d.source().bytes), from_hex(kSource6));
  EXPECT_EQ(copy_of(d.destination().bytes), from_hex(kDestination6));
  Buffer both = from_hex(kSource6);
  append(both, from_hex(kDestination6));
  EXPECT_EQ(copy_of(d.addresses()), both);
  EXPECT_EQ(d.traffic_class(), 0x5e);
  EXPECT_EQ(d.ecn(), Ecn::ect0);
  EXPECT_EQ(d.ipv6().hop_limit, 3);
  EXPECT_EQ(d.transport().data(), frame.data() + 18 + 40 + 8);
  EXPECT_EQ(copy_of(p.payload()), pattern(4));
}

TEST(Frame, EveryFieldOfABthIsRead) {
  Buffer t = bth(0x05, 0xc0, 0x123456, 0xabcdef, true);  // SEND ONLY with immediate; SE, MigReq
  t[2] = 0x80, t[3] = 0x01;
  t[4] = 0x40;
  append(t, from_hex("cafe0001"));
  const Buffer frame = frame_around({}, t);
  const RocePacket p = parsed(frame);
  EXPECT_EQ(p.info().name, "RC_SEND_ONLY_IMM");
  EXPECT_TRUE(p.bth().solicited());
  EXPECT_TRUE(p.bth().mig_req());
  EXPECT_TRUE(p.bth().becn());
  EXPECT_TRUE(p.bth().ack_req());
  EXPECT_EQ(p.bth().pad(), 0u);
  EXPECT_EQ(p.bth().version(), 0u);
  EXPECT_EQ(p.bth().pkey.get(), 0x8001);
  EXPECT_EQ(p.dest_qp(), 0x123456u);
  EXPECT_EQ(p.psn(), 0xabcdefu);
  EXPECT_EQ(p.ext<Ext::imm_dt>()->data, (std::array<std::uint8_t, 4>{0xca, 0xfe, 0, 1}));
  EXPECT_EQ(p.ext<Ext::reth>(), nullptr);
  EXPECT_TRUE(p.payload().empty());
}

TEST(Frame, EveryBthFlagIsClearWhenItsBitIs) {
  const Buffer frame = frame_around({}, bth(0x04));
  const RocePacket p = parsed(frame);
  EXPECT_FALSE(p.bth().solicited() || p.bth().mig_req() || p.bth().becn() || p.bth().ack_req());
  for (unsigned pad = 0; pad < 4; ++pad) {
    const Buffer f = frame_around({}, transport(0x04, {}, pattern(8 - pad)));
    EXPECT_EQ(parsed(f).bth().pad(), pad);
    EXPECT_EQ(parsed(f).payload().size(), 8 - pad);
  }
}

// Values as Python's struct reads them from the same bytes.
TEST(Frame, ExtensionHeadersOfACaptureAreRead) {
  const auto frames = read_capture("m1500-probe-all.pcap");
  const RocePacket mad = parsed(frames.at(0));
  EXPECT_EQ(mad.ext<Ext::deth>()->qkey.get(), 0x80010000u);
  EXPECT_EQ(mad.ext<Ext::deth>()->source_qp.get(), 1u);
  EXPECT_EQ(mad.payload().size(), 256u);
  const RocePacket write = parsed(frames.at(32));
  EXPECT_EQ(write.info().name, "RC_WRITE_ONLY");
  EXPECT_EQ(write.ext<Ext::reth>()->va.get(), 0x00007efdb71a8000u);
  EXPECT_EQ(write.ext<Ext::reth>()->rkey.get(), 0x18feu);
  EXPECT_EQ(write.ext<Ext::reth>()->dma_length.get(), 1023u);
  EXPECT_EQ(write.payload().size(), 1023u);
  const RocePacket swap = parsed(frames.at(103));
  EXPECT_EQ(swap.info().name, "RC_CMP_SWAP");
  EXPECT_EQ(swap.ext<Ext::atomic_eth>()->va.get(), 0x00007efdb71a8040u);
  EXPECT_EQ(swap.ext<Ext::atomic_eth>()->rkey.get(), 0x18feu);
  EXPECT_EQ(swap.ext<Ext::atomic_eth>()->swap_or_add.get(), 0x8877665544332211u);
  EXPECT_EQ(swap.ext<Ext::atomic_eth>()->compare.get(), 0x1122334455667788u);
  const RocePacket answer = parsed(frames.at(104));
  EXPECT_EQ(answer.info().name, "RC_ATOMIC_ACK");
  EXPECT_EQ(answer.ext<Ext::aeth>()->syndrome, 0x1f);
  EXPECT_EQ(answer.ext<Ext::aeth>()->msn.get(), 0x18u);
  EXPECT_EQ(answer.ext<Ext::atomic_ack_eth>()->original.get(), 0x030d17212b353f48u);
  const RocePacket invalidate = parsed(frames.at(113));
  EXPECT_EQ(invalidate.ext<Ext::ieth>()->rkey.get(), 0x080001a4u);
  const RocePacket imm = parsed(frames.at(63));
  EXPECT_EQ(imm.ext<Ext::imm_dt>()->data, (std::array<std::uint8_t, 4>{0xca, 0xfe, 0, 2}));
  EXPECT_EQ(copy_of(imm.payload()), from_hex("00070e"));
}

TEST(Frame, AnXrcHeaderLiesBeforeTheOthers) {
  const Buffer headers = from_hex("00abcdef 0000000000001000 0000002a 00000040 00000005");
  const Buffer frame = frame_around({}, transport(0xab, headers, pattern(3)));
  const RocePacket p = parsed(frame);
  EXPECT_EQ(p.ext<Ext::xrc_eth>()->srq.get(), 0xabcdefu);
  EXPECT_EQ(p.ext<Ext::reth>()->va.get(), 0x1000u);
  EXPECT_EQ(p.ext<Ext::imm_dt>()->data[3], 5);
  EXPECT_EQ(copy_of(p.payload()), pattern(3));
}

// Both kinds of buffer: on the heap, where a sanitizer sees an overrun, and before a guard page, where anybody does.
std::optional<Drop> judge(GuardedBytes& guarded, View bytes) {
  const auto heap = std::make_unique_for_overwrite<std::uint8_t[]>(bytes.size());
  if (!bytes.empty()) std::memcpy(heap.get(), bytes.data(), bytes.size());
  Drop why = Drop::count;
  const auto on_heap = parse_frame({heap.get(), bytes.size()}, why);
  Drop again = Drop::count;
  const auto p = parse_frame(guarded.assign(bytes), again);
  EXPECT_EQ(on_heap.has_value(), p.has_value());
  EXPECT_EQ(why, again);
  if (!p) return why;
  EXPECT_EQ(read_everything(*on_heap), read_everything(*p));
  return std::nullopt;
}

std::vector<Buffer> one_of_each_opcode(const Around& a) {
  std::vector<Buffer> frames;
  for (unsigned op = 0; op < 256; ++op) {
    const OpcodeInfo& info = kOpcodes[op];
    if (!info.known()) continue;
    frames.push_back(frame_around(a, transport(static_cast<std::uint8_t>(op), pattern(info.header_length - 12u),
                                               pattern(info.payload == PayloadRule::none ? 0 : 5))));
  }
  return frames;
}

TEST(Frame, ATruncatedFrameIsRefusedAtEveryLength) {
  GuardedBytes guarded(2048);
  for (const Around& a : {Around{}, Around{.v6 = true}, Around{.v6 = true, .vlan = std::uint16_t{5}}}) {
    for (const Buffer& frame : one_of_each_opcode(a)) {
      const std::size_t end = ip_offset(frame) + ip_datagram(frame).size();
      for (std::size_t n = 0; n < end; ++n) {
        ASSERT_EQ(judge(guarded, View(frame).first(n)), Drop::frame_truncated) << n;
      }
      ASSERT_EQ(judge(guarded, View(frame).first(end)), std::nullopt);
    }
  }
}

// The same with IP and UDP lengths that fit, so that the transport headers are what ends early.
TEST(Frame, ATruncatedTransportIsRefusedAtEveryLength) {
  GuardedBytes guarded(2048);
  for (const bool v6 : {false, true}) {
    for (const Buffer& frame : one_of_each_opcode({.v6 = v6})) {
      const std::size_t start = bth_offset(frame);
      const unsigned pad = frame[start + 1] >> 4 & 3u;
      const std::size_t least = std::size_t{kOpcodes[frame[start]].header_length} + pad + 4;
      const std::size_t whole = ip_offset(frame) + ip_datagram(frame).size() - start;
      for (std::size_t n = 0; n <= whole; ++n) {
        Buffer f(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(start + n));
        put16(f, start - 4, 8 + n);
        put16(f, v6 ? 14 + 4 : 14 + 2, v6 ? 8 + n : 28 + n);
        if (!v6) fix_ipv4_checksum(f);
        std::optional<Drop> expected;
        if (n < least) expected = Drop::bth_truncated;
        if (n == least && pad != 0) expected = Drop::bad_pad;
        ASSERT_EQ(judge(guarded, f), expected) << "opcode " << int{frame[start]} << " length " << n;
      }
    }
  }
}

TEST(Frame, TheReasonIsLeftAloneOnSuccess) {
  Drop why = Drop::count;
  EXPECT_TRUE(parse_frame(send_only(8), why).has_value());
  EXPECT_EQ(why, Drop::count);
}

struct LengthRow {
  std::uint8_t opcode;
  std::size_t payload;
  bool legal;  // at a path MTU of 1024
};

TEST(Frame, PayloadLengthsFollowTheRuleOfTheOpcode) {
  constexpr LengthRow kRows[] = {
      {0x00, 1024, true},  {0x00, 1020, false}, {0x00, 1023, false}, {0x00, 1028, false}, {0x00, 0, false},
      {0x01, 1024, true},  {0x01, 512, false},  {0x06, 1024, true},  {0x06, 1020, false}, {0x07, 1024, true},
      {0x02, 0, false},    {0x02, 1, true},     {0x02, 1024, true},  {0x02, 1025, false}, {0x08, 0, false},
      {0x09, 3, true},     {0x16, 0, false},    {0x16, 1024, true},  {0x03, 0, false},    {0x0f, 0, false},
      {0x04, 0, true},     {0x04, 1023, true},  {0x04, 1024, true},  {0x04, 1025, false}, {0x0a, 0, true},
      {0x0b, 1028, false}, {0x0c, 0, true},     {0x0c, 4, false},    {0x0d, 1024, true},  {0x0d, 1020, false},
      {0x0e, 1024, true},  {0x0e, 1, false},    {0x0f, 1, true},     {0x0f, 1028, false}, {0x10, 0, true},
      {0x10, 1024, true},  {0x10, 1025, false}, {0x11, 0, true},     {0x11, 4, false},    {0x12, 0, true},
      {0x12, 8, false},    {0x13, 0, true},     {0x13, 8, false},    {0x14, 4, false},    {0x1d, 8, true},
      {0x1d, 4, false},    {0x1d, 12, false},   {0x1d, 0, false},    {0x1d, 7, false},    {0x20, 1024, true},
      {0x20, 1, false},    {0x22, 0, false},    {0x64, 0, true},     {0x64, 1024, true},  {0x64, 1025, false},
      {0x81, 0, true},     {0x81, 4, false},    {0xa1, 1024, true},  {0xa1, 1020, false}, {0xaf, 0, false}};
  for (const LengthRow& row : kRows) {
    const Buffer headers = pattern(kOpcodes[row.opcode].header_length - 12u);
    const Buffer frame = frame_around({}, transport(row.opcode, headers, pattern(row.payload)));
    EXPECT_EQ(payload_length_legal(parsed(frame), 1024), row.legal)
        << kOpcodes[row.opcode].name << " with " << row.payload;
  }
}

TEST(Frame, TheFullLengthIsThatOfThePathMtu) {
  for (const std::uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
    for (const std::uint32_t other : {256u, 512u, 1024u, 2048u, 4096u}) {
      const Buffer first = frame_around({}, transport(0x00, {}, pattern(mtu)));
      EXPECT_EQ(payload_length_legal(parsed(first), other), mtu == other);
      EXPECT_EQ(payload_length_legal(parsed(send_only(mtu)), other), mtu <= other);
    }
  }
}

TEST(Frame, APayloadThatIsNotPaddedToFourIsIllegal) {
  for (std::size_t n = 1; n < 8; ++n) {
    for (std::uint8_t pad = 0; pad < 4; ++pad) {
      Buffer t = bth(0x04, static_cast<std::uint8_t>(pad << 4));
      append(t, pattern(n + pad));
      const Buffer frame = frame_around({}, t);
      EXPECT_EQ(payload_length_legal(parsed(frame), 1024), (n + pad) % 4 == 0) << n << " and " << int{pad};
    }
  }
}

// Pad on a full-size packet: 1023 bytes and one of pad fill the packet, but are not P bytes of payload.
TEST(Frame, AFullPacketCarriesNoPad) {
  Buffer t = bth(0x00, 0x10);
  append(t, pattern(1024));
  EXPECT_FALSE(payload_length_legal(parsed(frame_around({}, t)), 1024));
}

TEST(Frame, AddressKindsAreTold) {
  EXPECT_TRUE(IpAddress::v4(10, 0, 0, 1).is_v4());
  EXPECT_EQ(IpAddress::v4(10, 0, 0, 1).v4_bytes(), (std::array<std::uint8_t, 4>{10, 0, 0, 1}));
  EXPECT_FALSE(IpAddress{}.is_v4());
  EXPECT_TRUE(IpAddress::v4(239, 1, 2, 3).is_multicast());
  EXPECT_TRUE(IpAddress::v4(224, 0, 0, 1).is_multicast());
  EXPECT_FALSE(IpAddress::v4(223, 255, 255, 255).is_multicast());
  EXPECT_FALSE(IpAddress::v4(240, 0, 0, 1).is_multicast());
  IpAddress a;
  a.bytes[0] = 0xff, a.bytes[15] = 1;
  EXPECT_TRUE(a.is_multicast());
  a.bytes[0] = 0xfe;
  EXPECT_FALSE(a.is_multicast());
  EXPECT_TRUE((MacAddress{{0x33, 0x33, 0, 0, 0, 1}}).is_multicast());
  EXPECT_FALSE((MacAddress{{0x02, 0, 0, 0, 0, 1}}).is_multicast());
}

}  // namespace
}  // namespace uroce::wire::test
