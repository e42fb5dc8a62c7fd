// SPDX-License-Identifier: BSD-3-Clause
// Troubles that other stacks met in public (the O list, group A), as far as parser, ICRC and builder decide them.
// Left to tests of the transport, for want of a queue pair here:
//   O-01 the answer to a reserved opcode of the QP's own class; O-04 byte_len of the completion; O-07 what is sent
//   back; O-08 QP state, logs; O-09, O-10, O-11, O-13, O-14 as a whole; O-12 the ACK's own length; O-15 a port's
//   verdict on a wrong UDP checksum; O-16 DF is checked here, the counters there; O-17 which VLAN an address belongs
//   to, the VLAN of replies; O-18 rate and state (its frame is in icrc_test); O-28 the wait itself; O-36 the NAK.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>

#include "capture.h"
#include "guarded_bytes.h"
#include "oracle.h"
#include "visit.h"
#include "wire/build.h"
#include "wire/syndrome.h"

namespace uroce::wire::test {
namespace {

// Why a frame is refused, or nothing; every byte of an accepted one is read, with a guard page behind the frame.
std::optional<Drop> refused(View frame) {
  const GuardedBytes guarded(frame);
  Drop why = Drop::count;
  const auto p = parse_frame(guarded.bytes(), why);
  if (!p) return why;
  read_everything(*p);
  return icrc_matches(p->datagram()) ? std::nullopt : std::optional(Drop::bad_icrc);
}

Buffer payload_of(View frame) {
  Drop why{};
  const auto p = parse_frame(frame, why);
  if (!p) throw std::runtime_error(std::string(drop_name(why)));
  return {p->payload().begin(), p->payload().end()};
}

// BTH and `more` bytes after it, pad and ICRC trailer not counted.
Buffer packet(std::uint8_t opcode, std::uint8_t flags, std::size_t more) {
  Buffer t = bth(opcode, flags);
  append(t, pattern(more));
  return frame_around({}, t);
}

// O-01: 16 to 60 bytes after UDP, with a good and a broken ICRC; never known, never read past.
void expect_unknown(std::uint8_t opcode) {
  EXPECT_FALSE(kOpcodes[opcode].known());
  for (std::size_t length = 16; length <= 60; ++length) {
    for (const std::uint8_t flags : {std::uint8_t{0}, std::uint8_t{0x30}}) {
      Buffer frame = packet(opcode, flags, length - 16);
      EXPECT_EQ(refused(frame), Drop::unknown_opcode) << length;
      frame[bth_offset(frame) + length - 1] ^= 0xff;
      EXPECT_EQ(refused(frame), Drop::unknown_opcode) << length;
    }
  }
}
// reserved: 0x15
TEST(OCases, O_01a) {
  expect_unknown(0x15);
}
// reserved: 0x18 to 0x1B
TEST(OCases, O_01b) {
  for (std::uint8_t op = 0x18; op <= 0x1b; ++op) expect_unknown(op);
}
// reserved: 0x1E
TEST(OCases, O_01c) {
  expect_unknown(0x1e);
}
// reserved: 0x1F
TEST(OCases, O_01d) {
  expect_unknown(0x1f);
}
// reliable datagram RESYNC: 0x55
TEST(OCases, O_01e) {
  expect_unknown(0x55);
}
// the class of CNP, but no CNP: 0x9F
TEST(OCases, O_01f) {
  expect_unknown(0x9f);
}
// manufacturer's: 0xC0
TEST(OCases, O_01g) {
  expect_unknown(0xc0);
}
// manufacturer's: 0xFF
TEST(OCases, O_01h) {
  expect_unknown(0xff);
}

// SEND ONLY with PadCnt 3 and one byte between BTH and ICRC.
TEST(OCases, O_02a) {
  EXPECT_EQ(refused(packet(0x04, 0x30, 1)), Drop::bth_truncated);
  EXPECT_EQ(refused(packet(0x04, 0x30, 2)), Drop::bth_truncated);
}
// WRITE ONLY with its RETH cut short and PadCnt 1 to 3.
TEST(OCases, O_02b) {
  for (std::uint8_t pad = 1; pad < 4; ++pad) {
    for (std::size_t more = 0; more < 16u + pad; ++more) {
      EXPECT_EQ(refused(packet(0x0a, static_cast<std::uint8_t>(pad << 4), more)), Drop::bth_truncated) << more;
    }
  }
}

// O-03: so many bytes after UDP.
Buffer runt(std::uint8_t opcode, std::size_t length) {
  Buffer t = bth(opcode);
  t.resize(length < 4 ? 0 : length - 4);
  Buffer frame = frame_around({}, t);
  if (length >= 4) return frame;
  put16(frame, 14 + 2, 28 + length), put16(frame, 34 + 4, 8 + length);
  fix_ipv4_checksum(frame);
  return frame;
}
// 15 bytes
TEST(OCases, O_03a) {
  EXPECT_EQ(refused(runt(0x04, 15)), Drop::bth_truncated);
}
// 12 bytes
TEST(OCases, O_03b) {
  EXPECT_EQ(refused(runt(0x04, 12)), Drop::bth_truncated);
}
// 4 bytes
TEST(OCases, O_03c) {
  EXPECT_EQ(refused(runt(0x04, 4)), Drop::bth_truncated);
}
// nothing
TEST(OCases, O_03d) {
  EXPECT_EQ(refused(runt(0x04, 0)), Drop::bth_truncated);
}
// 16 bytes with a good ICRC: enough for a BTH, four too few for an ACK
TEST(OCases, O_03e) {
  EXPECT_EQ(refused(runt(0x04, 16)), std::nullopt);
  EXPECT_EQ(refused(runt(0x11, 16)), Drop::bth_truncated);
}

// O-04: SEND ONLY of n bytes, received from a hand-written frame and sent through both finish paths.
void expect_padded(std::size_t n) {
  const std::size_t pad = (4 - n % 4) % 4;
  const Buffer payload = pattern(n);
  const Buffer received = send_only(n);
  EXPECT_EQ(refused(received), std::nullopt);
  EXPECT_EQ(payload_of(received), payload);
  Buffer t = bth(0x04, static_cast<std::uint8_t>(0x40 | pad << 4));
  append(t, payload);
  t.insert(t.end(), pad, 0);
  const Buffer expected = frame_around({}, t);

  Path path{{{2, 0, 0, 0, 0, 2}}, {{2, 0, 0, 0, 0, 1}}, IpAddress::v4(10, 77, 0, 2), IpAddress::v4(10, 77, 0, 1)};
  const FrameTemplate head(path);
  for (const bool fused : {false, true}) {
    Buffer room(kMaxFrameOverhead + n, 0xee);
    FrameWriter w(head, room.data(), 0x04, static_cast<std::uint32_t>(n));
    w.bth().dest_qp.set(0x11);
    w.bth().psn.set(7);
    const std::uint32_t crc = crc32(w.header_crc(), payload.data(), n);
    std::memcpy(w.payload(), payload.data(), n);
    room.resize(fused ? w.finish(crc) : w.finish());
    EXPECT_EQ(room, expected);
  }
}
// A stored packet of another stack: accepted, and without the pad it holds `payload`.
void expect_stored(std::size_t index, const Buffer& payload) {
  const auto frames = read_capture("m1500-probe-all.pcap");
  EXPECT_EQ(refused(frames.at(index)), std::nullopt);
  EXPECT_EQ(payload_of(frames.at(index)), payload);
}
// 1 byte
TEST(OCases, O_04a) {
  expect_padded(1);
  expect_stored(7, from_hex("00"));
}
// 2 bytes
TEST(OCases, O_04b) {
  expect_padded(2);
}
// 3 bytes
TEST(OCases, O_04c) {
  expect_padded(3);
  expect_stored(9, from_hex("00070e"));
}
// 5 bytes
TEST(OCases, O_04d) {
  expect_padded(5);
}
// 1021 bytes
TEST(OCases, O_04e) {
  expect_padded(1021);
}
// 1022 bytes
TEST(OCases, O_04f) {
  expect_padded(1022);
}
// 1023 bytes; the stored one is a WRITE ONLY
TEST(OCases, O_04g) {
  expect_padded(1023);
  Buffer written;  // the sender's own pattern
  for (std::size_t i = 0; i < 1023; ++i) written.push_back(static_cast<std::uint8_t>(7 * i + i / 256));
  expect_stored(32, written);
}

// O-05: the trailer's bytes in wire order.
void expect_trailer(std::string_view ip, std::string_view last_four) {
  Buffer frame = from_hex("020000000001 020000000002 0800");
  append(frame, from_hex(ip));
  append(frame, from_hex(last_four));
  Drop why{};
  const auto d = Datagram::locate(frame, why);
  ASSERT_TRUE(d.has_value());
  std::uint8_t bytes[4];
  store_icrc(bytes, icrc(*d));
  EXPECT_EQ(Buffer(bytes, bytes + 4), from_hex(last_four));
  EXPECT_EQ(refused(frame), std::nullopt);
}
// the CNP of a ConnectX-4 Lx
TEST(OCases, O_05a) {
  expect_trailer(
      "45c2003c718c400040119161 0a0011010a001201 000012b700280000 8100ffff4000011800000000"
      "00000000000000000000000000000000",
      "82fd002a");
}
// a UC SEND ONLY of 18 bytes
TEST(OCases, O_05b) {
  expect_trailer(
      "4501004004784000 4011b4d5 c0a80007c0a80007 c00012b7002c0000 2460ffff000000d300cf1710"
      "4630818be28935d90e9a95505401be885e500000",
      "78f353f3");
}

// O-06: a captured IPv6 SEND ONLY whose routers changed a field after the ICRC was computed.
Buffer captured_v6() {
  const Buffer frame = read_capture("m1500-v6-probe-all.pcap").at(7);
  if (frame.at(62) != 0x04) throw std::runtime_error("not the SEND ONLY that was meant");
  return frame;
}
// traffic class
TEST(OCases, O_06a) {
  Buffer frame = captured_v6();
  frame[14] = 0x6f, frame[15] = static_cast<std::uint8_t>(frame[15] | 0xf0);
  EXPECT_EQ(refused(frame), std::nullopt);
}
// flow label
TEST(OCases, O_06b) {
  Buffer frame = captured_v6();
  frame[15] = static_cast<std::uint8_t>(frame[15] ^ 0x0f), frame[16] ^= 0xff, frame[17] ^= 0xff;
  EXPECT_EQ(refused(frame), std::nullopt);
}
// hop limit; an address stays covered
TEST(OCases, O_06c) {
  Buffer frame = captured_v6();
  frame[21] = 1;
  EXPECT_EQ(refused(frame), std::nullopt);
  frame[14 + 8 + 15] ^= 1;
  EXPECT_EQ(refused(frame), Drop::bad_icrc);
}

// O-07: bits of BTH bytes 4 and 8 in a captured SEND ONLY.
Buffer captured_v4() {
  const Buffer frame = read_capture("m1500-probe-all.pcap").at(9);
  if (frame.at(42) != 0x04) throw std::runtime_error("not the SEND ONLY that was meant");
  return frame;
}
void expect_byte4_accepted(std::uint8_t value) {
  Buffer frame = captured_v4();
  const std::uint32_t qp = 0x2d;
  frame[42 + 4] = value;
  EXPECT_EQ(refused(frame), std::nullopt);
  Drop why{};
  EXPECT_EQ(parse_frame(frame, why)->dest_qp(), qp);
}
// FECN 1
TEST(OCases, O_07a) {
  expect_byte4_accepted(0x80);
}
// BECN 1
TEST(OCases, O_07b) {
  expect_byte4_accepted(0x40);
}
// six reserved bits
TEST(OCases, O_07c) {
  expect_byte4_accepted(0x3f);
}
// seven reserved bits beside AckReq: covered by the ICRC
TEST(OCases, O_07d) {
  Buffer frame = captured_v4();
  frame[42 + 8] = 0xff;
  EXPECT_EQ(refused(frame), Drop::bad_icrc);
  fix_icrc(frame);
  EXPECT_EQ(refused(frame), std::nullopt);
  Drop why{};
  EXPECT_EQ(parse_frame(frame, why)->psn(), 0x51e6f2u);
}

// SEND ONLY with TVer 1 and a good ICRC; every other version too.
TEST(OCases, O_08a) {
  for (std::uint8_t version = 1; version < 16; ++version) {
    EXPECT_EQ(refused(packet(0x04, version, 8)), Drop::bth_version);
    EXPECT_EQ(refused(packet(0x04, static_cast<std::uint8_t>(0xc0 | version), 8)), Drop::bth_version);
  }
}

// Zero-length SEND ONLY in a 60-byte frame.
TEST(OCases, O_12a) {
  const Buffer frame = send_only(0);
  ASSERT_EQ(frame.size(), 60u);
  EXPECT_EQ(refused(frame), std::nullopt);
  EXPECT_TRUE(payload_of(frame).empty());
}
// The same with non-zero Ethernet padding.
TEST(OCases, O_12b) {
  Buffer frame = send_only(0);
  frame[58] = 0xde, frame[59] = 0xad;
  EXPECT_EQ(refused(frame), std::nullopt);
  EXPECT_TRUE(payload_of(frame).empty());
}
// An ACK with ten bytes after its IP length.
TEST(OCases, O_12c) {
  Buffer frame = frame_around({}, transport(0x11, from_hex("1f000001"), {}));
  append(frame, pattern(10));
  EXPECT_EQ(refused(frame), std::nullopt);
  EXPECT_TRUE(payload_of(frame).empty());
}
// A UDP length greater than the IP length leaves, bytes enough in the frame.
TEST(OCases, O_12d) {
  Buffer frame = send_only(8);
  append(frame, pattern(8));
  put16(frame, 34 + 4, 36);
  fix_icrc(frame);
  EXPECT_EQ(refused(frame), Drop::udp_length);
}
// A UDP length smaller than that.
TEST(OCases, O_12e) {
  Buffer frame = send_only(8);
  put16(frame, 34 + 4, 28);
  fix_icrc(frame);
  EXPECT_EQ(refused(frame), Drop::udp_length);
}

// O-15: a UDP checksum in a SEND; the ICRC does not change with it.
void expect_udp_checksum_accepted(const Around& a, std::uint16_t flip, bool zero) {
  const Buffer plain = send_only(12, a);
  Buffer frame = plain;
  put16(frame, udp_offset(frame) + 6, zero ? 0u : static_cast<std::uint16_t>(udp_checksum(plain) ^ flip));
  EXPECT_EQ(refused(frame), std::nullopt);
  EXPECT_EQ(Buffer(frame.end() - 4, frame.end()), Buffer(plain.end() - 4, plain.end()));
}
// IPv4, zero
TEST(OCases, O_15a) {
  expect_udp_checksum_accepted({}, 0, true);
}
// IPv4, right
TEST(OCases, O_15b) {
  expect_udp_checksum_accepted({}, 0, false);
}
// IPv4, wrong: ports may tell, ICRC decides
TEST(OCases, O_15c) {
  expect_udp_checksum_accepted({}, 0x0f0f, false);
}
// IPv6, zero
TEST(OCases, O_15d) {
  expect_udp_checksum_accepted({.v6 = true}, 0, true);
}
// IPv6, right
TEST(OCases, O_15e) {
  expect_udp_checksum_accepted({.v6 = true}, 0, false);
}

// IHL 6: a NOP option before UDP.
TEST(OCases, O_16a) {
  Buffer frame = send_only(8);
  frame[14] = 0x46;
  frame.insert(frame.begin() + 34, 4, 0x01);
  put16(frame, 14 + 2, get16(frame, 14 + 2) + 4);
  put16(frame, 14 + 10, 0);
  put16(frame, 14 + 10, static_cast<std::uint16_t>(~ones_complement_sum(View(frame).subspan(14, 24))));
  EXPECT_EQ(refused(frame), Drop::ip_options);
}
// The first fragment, with a whole BTH; and the builder sets DF.
TEST(OCases, O_16b) {
  Buffer frame = send_only(8);
  put16(frame, 14 + 6, 0x2000);
  reseal(frame);
  EXPECT_EQ(refused(frame), Drop::ip_fragment);
  Path path{{}, {}, IpAddress::v4(10, 77, 0, 2), IpAddress::v4(10, 77, 0, 1)};
  Buffer room(kMaxFrameOverhead);
  const FrameTemplate head(path);
  FrameWriter w(head, room.data(), 0x04, 0);
  w.finish();
  EXPECT_EQ(get16(room, 14 + 6), 0x4000u);
}
// The last fragment: an offset.
TEST(OCases, O_16c) {
  Buffer frame = send_only(8);
  put16(frame, 14 + 6, 0x00b9);
  reseal(frame);
  EXPECT_EQ(refused(frame), Drop::ip_fragment);
}

// O-17: the tag as the parser reports it; the ICRC is that of the untagged frame.
void expect_tag(std::optional<std::uint16_t> tci, std::optional<std::uint16_t> vid) {
  for (const bool v6 : {false, true}) {
    const Buffer frame = send_only(12, {.v6 = v6, .vlan = tci});
    const Buffer untagged = send_only(12, {.v6 = v6});
    EXPECT_EQ(refused(frame), std::nullopt);
    Drop why{};
    const auto got = parse_frame(frame, why)->datagram().vlan_tci();
    EXPECT_EQ(got, tci);
    EXPECT_EQ(got ? std::optional(vlan_id(*got)) : std::nullopt, vid);
    EXPECT_EQ(Buffer(frame.end() - 4, frame.end()), Buffer(untagged.end() - 4, untagged.end()));
  }
}
// tagged 100, priority 5
TEST(OCases, O_17a) {
  expect_tag(std::uint16_t{0xa064}, std::uint16_t{100});
}
// untagged
TEST(OCases, O_17b) {
  expect_tag(std::nullopt, std::nullopt);
}
// tagged 200
TEST(OCases, O_17c) {
  expect_tag(std::uint16_t{200}, std::uint16_t{200});
}
// priority-tagged, VLAN 0
TEST(OCases, O_17d) {
  expect_tag(std::uint16_t{0xe000}, std::uint16_t{0});
}

// All 32 RNR codes both ways, in units of 10 us.
constexpr std::array<std::int64_t, 32> kRnrTable{65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
                                                 48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
                                                 2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
TEST(OCases, O_28a) {
  for (std::uint8_t code = 0; code < 32; ++code) {
    EXPECT_EQ(rnr_delay(code).ns, kRnrTable[code] * 10000);
    EXPECT_EQ(rnr_code(base::Duration::micros(kRnrTable[code] * 10)), code);
  }
}
// Code 0 is the longest wait, not none; a time between two codes takes the longer one.
TEST(OCases, O_28b) {
  for (std::uint8_t code = 1; code < 32; ++code) EXPECT_GT(rnr_delay(0), rnr_delay(code));
  EXPECT_EQ(rnr_delay(25).ns, 61440000);
  EXPECT_EQ(rnr_code(base::Duration::micros(61410)), 25);
  EXPECT_EQ(rnr_code(base::Duration::micros(491521)), 0);
}

// O-36: ATOMIC WRITE is known, so that whoever does not speak it can refuse it by name; eight bytes only are legal.
void expect_atomic_write(std::size_t n) {
  const Buffer reth = from_hex("0000000000001000 0000002a 00000008");
  const Buffer frame = frame_around({}, transport(0x1d, reth, pattern(n)));
  EXPECT_EQ(refused(frame), std::nullopt);
  Drop why{};
  const auto p = parse_frame(frame, why);
  ASSERT_TRUE(p.has_value());
  EXPECT_EQ(p->info().op, Op::atomic_write);
  EXPECT_EQ(p->ext<Ext::reth>()->va.get(), 0x1000u);
  EXPECT_EQ(p->payload().size(), n);
  EXPECT_EQ(payload_length_legal(*p, 1024), n == 8);
}
// no payload
TEST(OCases, O_36a) {
  expect_atomic_write(0);
}
// 4 bytes
TEST(OCases, O_36b) {
  expect_atomic_write(4);
}
// 8 bytes
TEST(OCases, O_36c) {
  expect_atomic_write(8);
}
// 12 bytes
TEST(OCases, O_36d) {
  expect_atomic_write(12);
}

}  // namespace
}  // namespace uroce::wire::test
