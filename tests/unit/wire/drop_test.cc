// SPDX-License-Identifier: BSD-3-Clause
// Every reason to refuse a frame, each with at least one frame that is right but for that.
#include "wire/drop.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "oracle.h"
#include "wire/frame.h"
#include "wire/icrc.h"

namespace uroce::wire::test {
namespace {

// What a receiver finds wrong first: the parser, then the ICRC.
std::optional<Drop> verdict(View frame) {
  Drop why = Drop::count;
  const auto p = parse_frame(frame, why);
  if (!p) return why;
  if (!icrc_matches(p->datagram())) return Drop::bad_icrc;
  return std::nullopt;
}

struct Row {
  Drop reason;
  const char* what;
  Buffer frame;
};

const Around kV6{.v6 = true};
const Around kTagged{.vlan = std::uint16_t{100}};

// A good SEND ONLY, changed by `change`, with both checksums made right again.
Buffer changed(const Around& a, const std::function<void(Buffer&)>& change) {
  Buffer f = send_only(8, a);
  change(f);
  if (get16(f, 12) == 0x0800) fix_ipv4_checksum(f);
  return f;
}
Buffer with_byte(const Around& a, std::size_t at, std::uint8_t value) {
  return changed(a, [&](Buffer& f) { f.at(at) = value; });
}
Buffer with_16(const Around& a, std::size_t at, std::size_t value) {
  return changed(a, [&](Buffer& f) { put16(f, at, value); });
}
Buffer cut(Buffer f, std::size_t length) {
  f.resize(length);
  return f;
}
// BTH with opcode and flags, then `more` bytes of headers, payload and pad.
Buffer packet(std::uint8_t opcode, std::uint8_t flags, std::size_t more) {
  Buffer t = bth(opcode, flags);
  append(t, pattern(more));
  return frame_around({}, t);
}

// Offsets of an untagged frame: IP at 14, UDP at 34 (IPv4) or 54 (IPv6), BTH eight later.
void add_ip_rows(std::vector<Row>& rows) {
  rows.push_back({Drop::frame_truncated, "nothing at all", {}});
  rows.push_back({Drop::frame_truncated, "13 bytes", cut(send_only(8), 13)});
  rows.push_back({Drop::frame_truncated, "ends in the VLAN tag", cut(send_only(8, kTagged), 17)});
  rows.push_back({Drop::frame_truncated, "ends in the IPv4 header", cut(send_only(8), 14 + 19)});
  rows.push_back({Drop::frame_truncated, "ends in the IPv6 header", cut(send_only(8, kV6), 14 + 39)});
  rows.push_back(
      {Drop::frame_truncated, "ends in the IPv6 header of an empty datagram", cut(with_16(kV6, 14 + 4, 0), 14 + 39)});
  rows.push_back(
      {Drop::frame_truncated, "ends in the IPv4 header of an empty datagram", cut(with_16({}, 14 + 2, 0), 14 + 19)});
  rows.push_back(
      {Drop::frame_truncated, "one byte before its IPv4 length", cut(send_only(8), send_only(8).size() - 1)});
  rows.push_back(
      {Drop::frame_truncated, "one byte before its IPv6 length", cut(send_only(8, kV6), send_only(8, kV6).size() - 1)});
  rows.push_back({Drop::not_ip, "ARP", with_16({}, 12, 0x0806)});
  rows.push_back({Drop::not_ip, "a VLAN tag in a VLAN tag", with_16(kTagged, 16, 0x8100)});
  rows.push_back({Drop::not_ip, "a service tag", with_16(kTagged, 12, 0x88a8)});
  rows.push_back({Drop::roce_v1, "EtherType 0x8915", with_16({}, 12, 0x8915)});
  rows.push_back({Drop::roce_v1, "EtherType 0x8915 in a VLAN", with_16(kTagged, 16, 0x8915)});
  rows.push_back({Drop::ip_version, "IPv6 in an IPv4 EtherType", with_byte({}, 14, 0x65)});
  rows.push_back({Drop::ip_version, "IPv4 in an IPv6 EtherType", with_byte(kV6, 14, 0x45)});
  rows.push_back({Drop::ip_fragment, "more fragments", with_16({}, 14 + 6, 0x2000)});
  rows.push_back({Drop::ip_fragment, "a fragment's offset", with_16({}, 14 + 6, 0x0001)});
  rows.push_back({Drop::ip_fragment, "the highest offset bit", with_16({}, 14 + 6, 0x1000)});
  rows.push_back({Drop::ip_fragment, "an IPv6 fragment header", with_byte(kV6, 14 + 6, 44)});
  rows.push_back({Drop::ip_length, "IPv4 length 27", with_16({}, 14 + 2, 27)});
  rows.push_back({Drop::ip_length, "IPv4 length 0", with_16({}, 14 + 2, 0)});
  rows.push_back({Drop::ip_length, "IPv6 payload length 7", with_16(kV6, 14 + 4, 7)});
  rows.push_back({Drop::ip_length, "IPv6 payload length 0", with_16(kV6, 14 + 4, 0)});
  Buffer options = send_only(8);
  options[14] = 0x46;
  options.insert(options.begin() + 34, 4, 0x01);  // four NOPs
  put16(options, 14 + 2, get16(options, 14 + 2) + 4);
  put16(options, 14 + 10, 0);
  put16(options, 14 + 10, static_cast<std::uint16_t>(~ones_complement_sum(View(options).subspan(14, 24))));
  rows.push_back({Drop::ip_options, "IHL 6", options});
  Buffer sum = send_only(8);
  sum[14 + 10] ^= 1;
  rows.push_back({Drop::ip_checksum, "one bit of the checksum", sum});
  Buffer ttl = send_only(8);
  --ttl[14 + 8];
  rows.push_back({Drop::ip_checksum, "a TTL changed without it", ttl});
}

void add_udp_rows(std::vector<Row>& rows) {
  rows.push_back({Drop::not_udp, "TCP", with_byte({}, 14 + 9, 6)});
  rows.push_back({Drop::not_udp, "TCP over IPv6", with_byte(kV6, 14 + 6, 6)});
  rows.push_back({Drop::not_udp, "hop-by-hop options", with_byte(kV6, 14 + 6, 0)});
  rows.push_back({Drop::not_roce_port, "port 4790", with_16({}, 34 + 2, 4790)});
  rows.push_back({Drop::not_roce_port, "4791 as source only",
                  changed(kV6, [](Buffer& f) { put16(f, 54, 4791), put16(f, 54 + 2, 49152); })});
  rows.push_back({Drop::udp_length, "one more than the IP length leaves", with_16({}, 34 + 4, 33)});
  rows.push_back({Drop::udp_length, "one less", with_16({}, 34 + 4, 31)});
  rows.push_back({Drop::udp_length, "one less over IPv6", with_16(kV6, 54 + 4, 31)});
  rows.push_back({Drop::udp_length, "zero", with_16({}, 34 + 4, 0)});
}

void add_transport_rows(std::vector<Row>& rows) {
  rows.push_back({Drop::bth_truncated, "nothing after UDP but four bytes", frame_around({}, {})});
  rows.push_back({Drop::bth_truncated, "15 bytes", frame_around({}, cut(bth(0x04), 11))});
  rows.push_back({Drop::bth_truncated, "15 bytes, whatever the opcode", frame_around({}, cut(bth(0x15), 11))});
  rows.push_back({Drop::bth_truncated, "an ACK of 19 bytes", packet(0x11, 0, 3)});
  rows.push_back({Drop::bth_truncated, "a WRITE ONLY with 15 bytes of RETH", packet(0x0a, 0, 15)});
  rows.push_back({Drop::bth_truncated, "an XRC COMPARE SWAP one byte short", packet(0xb3, 0, 31)});
  rows.push_back({Drop::bth_truncated, "more pad than bytes", packet(0x04, 0x30, 2)});
  rows.push_back({Drop::unknown_opcode, "a reserved opcode", packet(0x15, 0, 8)});
  rows.push_back({Drop::unknown_opcode, "reliable datagram", packet(0x44, 0, 12)});
  rows.push_back({Drop::unknown_opcode, "manufacturer's", packet(0xff, 0, 8)});
  rows.push_back({Drop::unknown_opcode, "a READ REQUEST of UC", packet(0x2c, 0, 16)});
  rows.push_back({Drop::bth_version, "TVer 1", packet(0x04, 0x01, 8)});
  rows.push_back({Drop::bth_version, "TVer 8", packet(0x04, 0x08, 8)});
  rows.push_back({Drop::bad_pad, "pad without payload", packet(0x04, 0x10, 1)});
  rows.push_back({Drop::bad_pad, "pad without payload after a RETH", packet(0x0a, 0x30, 19)});
  Buffer icrc = send_only(8);
  icrc.back() ^= 0x80;
  rows.push_back({Drop::bad_icrc, "the last bit of the trailer", icrc});
  Buffer payload = send_only(8, kV6);
  payload[74] ^= 0x01;
  rows.push_back({Drop::bad_icrc, "a bit of the payload", payload});
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  add_ip_rows(rows);
  add_udp_rows(rows);
  add_transport_rows(rows);
  return rows;
}

TEST(Drop, EachRowIsRefusedForItsReason) {
  for (const Row& row : all_rows()) {
    SCOPED_TRACE(std::string(drop_name(row.reason)) + ": " + row.what);
    const auto d = verdict(row.frame);
    ASSERT_TRUE(d.has_value());
    EXPECT_EQ(drop_name(*d), drop_name(row.reason));
  }
}

// Reasons after bad_icrc belong to other layers. A wrong UDP checksum is found by a port, not by the parser: its reason
// is spelt as text here, so that the check for reasons that no test provokes does not take this for a test of it.
TEST(Drop, EveryReasonOfTheWireHasARow) {
  std::set<Drop> hit;
  for (const Row& row : all_rows()) hit.insert(row.reason);
  for (std::size_t i = 0; i <= static_cast<std::size_t>(Drop::bad_icrc); ++i) {
    const auto d = static_cast<Drop>(i);
    EXPECT_EQ(hit.contains(d), drop_name(d) != "udp_checksum") << drop_name(d);
  }
}

TEST(Drop, TheFramesThatRowsStartFromAreGood) {
  for (const Around& a : {Around{}, kV6, kTagged}) EXPECT_EQ(verdict(send_only(8, a)), std::nullopt);
  EXPECT_EQ(verdict(packet(0x11, 0, 4)), std::nullopt);
  EXPECT_EQ(verdict(packet(0x0a, 0, 16)), std::nullopt);
  EXPECT_EQ(verdict(packet(0xb3, 0, 32)), std::nullopt);
  EXPECT_EQ(verdict(packet(0x04, 0x30, 4)), std::nullopt);
  EXPECT_EQ(verdict(packet(0x04, 0x40, 8)), std::nullopt);  // MigReq is no version
}

TEST(Drop, AnIpv4HeaderShorterThanItsMinimumIsRefused) {
  for (std::uint8_t ihl = 0; ihl < 5; ++ihl) {
    EXPECT_NE(verdict(with_byte({}, 14, static_cast<std::uint8_t>(0x40 + ihl))), std::nullopt);
  }
}

TEST(Drop, EveryReasonHasANameAndOneLine) {
  std::set<std::string_view> names;
  for (const DropInfo& info : kDropInfo) {
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.doc.empty());
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
  }
  EXPECT_EQ(names.size(), kDropCount);
  EXPECT_EQ(drop_name(Drop::frame_truncated), "frame_truncated");
  EXPECT_EQ(drop_name(Drop::bad_icrc), "bad_icrc");
}

}  // namespace
}  // namespace uroce::wire::test
