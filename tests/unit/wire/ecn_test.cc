// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ecn.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "wire/build.h"
#include "wire/frame.h"

namespace uroce::wire {
namespace {

std::vector<std::uint8_t> frame(bool v6, bool vlan, std::uint8_t traffic_class) {
  Path p;
  p.source = v6 ? IpAddress{{0xfd, 1}} : IpAddress::v4(10, 0, 0, 1);
  p.destination = v6 ? IpAddress{{0xfd, 2}} : IpAddress::v4(10, 0, 0, 2);
  p.traffic_class = traffic_class;
  p.flow_label = 0x12345;
  if (vlan) p.vlan_tci = 0x6007;
  const FrameTemplate t(p);
  std::vector<std::uint8_t> f(kMaxFrameOverhead + 64, 0xa5);
  FrameWriter w(t, f.data(), opcode::kSendOnly, 64);
  f.resize(w.finish());
  return f;
}

// Everything that a receiver checks still holds, and only the class has changed: the frame is the one that the sender
// would have made with that class.
TEST(MarkCe, LeavesARightFrame) {
  for (const bool v6 : {false, true}) {
    for (const bool vlan : {false, true}) {
      for (unsigned tc = 0; tc < 256; ++tc) {
        auto f = frame(v6, vlan, static_cast<std::uint8_t>(tc));
        const bool capable = (tc & 3u) != 0;
        ASSERT_EQ(mark_ce(f), capable) << tc;
        ASSERT_EQ(f, frame(v6, vlan, static_cast<std::uint8_t>(capable ? tc | 3u : tc))) << v6 << vlan << ' ' << tc;
        Drop why{};
        const auto p = parse_frame(f, why);
        ASSERT_TRUE(p) << drop_name(why);
        ASSERT_TRUE(icrc_matches(p->datagram()));
        ASSERT_EQ(p->ecn() == Ecn::ce, capable);
      }
    }
  }
}

// RFC 1624's trap: a sum that comes out as 0xffff and one that comes out as 0 are different checksums. Every pair of classes.
TEST(SetTrafficClass, AgreesWithAChecksumMadeAnew) {
  for (unsigned from = 0; from < 256; ++from) {
    for (unsigned to = 0; to < 256; ++to) {
      for (unsigned id = 0; id < 0x10000; id += 0x3fff) {
        Ipv4 h{0x45, static_cast<std::uint8_t>(from), be16(120), be16(static_cast<std::uint16_t>(id)), be16(0x4000), 64, 17,
               be16(0), {10, 0, 0, 1}, {10, 0, 0, 2}};
        h.checksum.set(static_cast<std::uint16_t>(~ipv4_header_sum(h)));
        set_traffic_class(reinterpret_cast<std::uint8_t*>(&h), static_cast<std::uint8_t>(to));
        ASSERT_EQ(h.tos, to);
        ASSERT_EQ(ipv4_header_sum(h), 0xffff) << from << ' ' << to;
      }
    }
  }
}

TEST(MarkCe, TouchesNothingElse) {
  std::vector<std::uint8_t> arp(60, 0);
  arp[12] = 0x08, arp[13] = 0x06, arp[15] = 2;
  EXPECT_FALSE(mark_ce(arp));
  const auto whole = frame(false, true, 2);
  for (std::size_t n = 0; n < 38; ++n) {
    std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_FALSE(mark_ce(cut)) << n;
  }
}

}  // namespace
}  // namespace uroce::wire
