// SPDX-License-Identifier: BSD-3-Clause
// Echo: RFC 792 (type 8 and 0) and RFC 4443 section 4 (type 128 and 129).
#include "base/rng.h"
#include "station.h"

namespace uroce::net::test {
namespace {

const std::string kUsText = "20010db8000000000000000000000001", kPeerText = "20010db8000000000000000000000002";

Frame append(Frame f, std::size_t payload) {
  for (std::size_t i = 0; i < payload; ++i) f.push_back(static_cast<std::uint8_t>(i * 7 + 3));
  return f;
}

// DSCP 46 with ECN CE, identification 1234, TTL 57; identifier beef, sequence 0007.
Frame ping4(std::size_t payload = 20) {
  return seal_v4(append(hex("021122334455 020000000002 0800  45 bb 0000 1234 0000 39 01 0000 0a000002 0a000001"
                            "08 00 0000 beef 0007"),
                        payload));
}
// The addresses exchanged, type 0, the rest of the message as it came. DSCP kept, ECN cleared; DF, a fresh TTL.
Frame pong4(std::size_t payload = 20) {
  return padded(seal_v4(append(hex("020000000002 021122334455 0800  45 b8 0000 0000 4000 40 01 0000 0a000001 0a000002"
                                   "00 00 0000 beef 0007"),
                               payload)));
}
// Traffic class bb (DSCP 46, CE), flow label 12345.
Frame ping6(std::size_t payload = 20) {
  return seal_v6(
      append(hex("021122334455 020000000002 86dd  6bb12345 0000 3a 39" + kPeerText + kUsText + "80 00 0000 beef 0007"),
             payload));
}
Frame pong6(std::size_t payload = 20) {
  return padded(seal_v6(
      append(hex("020000000002 021122334455 86dd  6b800000 0000 3a 40" + kUsText + kPeerText + "81 00 0000 beef 0007"),
             payload)));
}

TEST(Echo, ARequestOverIpv4IsAnswered) {
  Station s;
  s.receive(ping4());
  EXPECT_TRUE(s.net.owes_frames());
  EXPECT_EQ(s.sent(), show(pong4()));
  EXPECT_FALSE(s.net.owes_frames());
  EXPECT_EQ(s.count(Counter::rx_echo_requests), 1u);
  EXPECT_EQ(s.count(Counter::tx_echo_replies), 1u);
  EXPECT_EQ(s.net.neighbour_count(), 0u);
}

TEST(Echo, ARequestOverIpv6IsAnswered) {
  Station s;
  s.receive(ping6());
  EXPECT_EQ(s.sent(), show(pong6()));
}

TEST(Echo, PaddingIsNotEchoed) {
  Station s;
  Frame f = ping4(3);
  f.resize(60, 0xee);
  s.receive(f);
  EXPECT_EQ(s.sent(), show(pong4(3)));
}

TEST(Echo, EveryPayloadLengthUpToTheMtu) {
  Station s;
  for (std::size_t n = 0; n <= 1500 - 28; n += n < 100 ? 1 : 97) {
    s.receive(ping4(n));
    ASSERT_EQ(s.sent(), show(pong4(n))) << n;
  }
  for (std::size_t n = 0; n <= 1500 - 48; n += n < 100 ? 1 : 97) {
    s.receive(ping6(n));
    ASSERT_EQ(s.sent(), show(pong6(n))) << n;
  }
  s.receive(ping4(1472));
  EXPECT_EQ(s.sent(), show(pong4(1472)));
  s.receive(ping6(1452));
  EXPECT_EQ(s.sent(), show(pong6(1452)));
  EXPECT_TRUE(s.drops(ping4(1473), Counter::echo_too_long));
  EXPECT_TRUE(s.drops(ping6(1453), Counter::echo_too_long));
}

// A sum that comes out as zero, and one of ffff: both ways to write a one's complement zero must do.
TEST(Echo, AnyPayloadChecksOut) {
  Station s;
  base::Rng rng(7);
  for (int round = 0; round < 3000; ++round) {
    Frame four = ping4(4), six = ping6(5);
    for (std::size_t i = 1; i <= 4; ++i)
      four[four.size() - i] = six[six.size() - i] = rng.chance_ppm(500'000) ? 0xff : 0;
    put16(four, kIcmpV4 + 4, static_cast<std::uint16_t>(rng.next()));
    four = seal_v4(four);
    six = seal_v6(six);
    s.receive(four);
    s.receive(six);
    const auto all = s.drain();
    ASSERT_EQ(all.size(), 2u);
    // A right message sums to ffff with its checksum in it.
    ASSERT_EQ(internet_checksum(std::span(all[0]).subspan(kIcmpV4, 12)), 0) << show(all[0]);
    ASSERT_EQ(show(seal_v6(all[1])), show(all[1]));
  }
}

TEST(Echo, WrongHeadersOverIpv4) {
  Station s;
  const auto changed = [](std::size_t at, std::uint8_t v, bool seal = true) {
    Frame f = ping4();
    f[at] = v;
    return seal ? seal_v4(f) : f;
  };
  EXPECT_TRUE(s.drops(changed(kIp, 0x65), Counter::ip_malformed)) << "version";
  EXPECT_TRUE(s.drops(changed(kIp, 0x44), Counter::ip_malformed)) << "a header of 16 bytes";
  EXPECT_TRUE(s.drops(changed(kIp + 3, 19, false), Counter::ip_malformed)) << "shorter than its header";
  EXPECT_TRUE(s.drops(changed(kIp + 9, 17), Counter::other_protocol));
  EXPECT_TRUE(s.drops(changed(kIp, 0x46), Counter::ip_options));
  EXPECT_TRUE(s.drops(changed(kIp + 8, 56, false), Counter::ip_checksum));
  EXPECT_TRUE(s.drops(changed(kIp + 6, 0x20), Counter::ip_fragment)) << "more fragments";
  EXPECT_TRUE(s.drops(changed(kIp + 7, 1), Counter::ip_fragment)) << "an offset";
  EXPECT_TRUE(s.drops(changed(kIcmpV4 + 3, 1, false), Counter::icmp_checksum));
  EXPECT_TRUE(s.drops(changed(kIcmpV4, 0), Counter::other_protocol)) << "somebody's reply";
  EXPECT_TRUE(s.drops(changed(kIcmpV4, 13), Counter::other_protocol));
  EXPECT_TRUE(s.drops(changed(kIcmpV4 + 1, 1), Counter::icmp_malformed));
  Frame cut = ping4();
  cut.resize(cut.size() - 1);
  EXPECT_TRUE(s.drops(cut, Counter::frame_truncated));
  Frame runt = ping4();
  runt.resize(kIcmpV4 + 7);
  EXPECT_TRUE(s.drops(seal_v4(runt), Counter::icmp_malformed));
  s.receive(changed(kIp + 6, 0x40));
  EXPECT_EQ(s.sent(), show(pong4())) << "DF is no fragment";
}

TEST(Echo, WrongHeadersOverIpv6) {
  Station s;
  Frame f = ping6();
  f[kIcmpV6 + 1] = 1;
  EXPECT_TRUE(s.drops(seal_v6(f), Counter::icmp_malformed));
  f = ping6();
  f[kIcmpV6] = 129;
  EXPECT_TRUE(s.drops(seal_v6(f), Counter::other_protocol));
  f = ping6();
  f[kIp + 20] ^= 1;  // an address: only the pseudo header knows
  EXPECT_TRUE(s.drops(f, Counter::icmp_checksum));
}

Frame ping4_between(const std::string& macs, const std::string& from, const std::string& to) {
  return seal_v4(append(hex(macs + "0800  45 00 0000 1234 0000 39 01 0000" + from + to + "08 00 0000 beef 0007"), 20));
}

TEST(Echo, OnlyOneHostToOneHost) {
  Station s;
  const std::string plain = "021122334455 020000000002", broadcast = "ffffffffffff 020000000002";
  EXPECT_TRUE(s.drops(ping4_between(broadcast, "0a000002", "ffffffff"), Counter::echo_bad_address));
  EXPECT_TRUE(s.drops(ping4_between(broadcast, "0a000002", "0a000001"), Counter::echo_bad_address));
  EXPECT_TRUE(s.drops(ping4_between(plain, "0a000002", "e0000001"), Counter::echo_bad_address));
  EXPECT_TRUE(s.drops(ping4_between(plain, "0a000002", "0a0000ff"), Counter::other_station))
      << "the subnet's broadcast";
  EXPECT_TRUE(s.drops(ping4_between(plain, "0a000002", "0a000003"), Counter::other_station));
  for (const char* from : {"e0000001", "ffffffff", "00000000", "7f000001", "0a000001"}) {
    EXPECT_TRUE(s.drops(ping4_between(plain, from, "0a000001"), Counter::echo_bad_address)) << from;
  }
  const auto ping6_between = [](const std::string& macs, const std::string& from, const std::string& to) {
    return seal_v6(hex(macs + "86dd  60000000 0000 3a 40" + from + to + "80 00 0000 beef 0007"));
  };
  EXPECT_TRUE(s.drops(ping6_between("333300000001 020000000002", kPeerText, "ff020000000000000000000000000001"),
                      Counter::echo_bad_address));
  EXPECT_TRUE(s.drops(ping6_between(plain, "00000000000000000000000000000000", kUsText), Counter::echo_bad_address));
  EXPECT_TRUE(s.drops(ping6_between(plain, kUsText, kUsText), Counter::echo_bad_address));
  EXPECT_TRUE(s.drops(ping6_between(plain, kPeerText, kPeerText), Counter::other_station));
}

TEST(Echo, OurLinkLocalAddressAnswersToo) {
  Station s;
  const std::string own = "fe80000000000000001122fffe334455", peer = "fe800000000000000000000000000002";
  s.receive(seal_v6(hex("021122334455 020000000002 86dd  60000000 0000 3a 40" + peer + own + "80 00 0000 beef 0007")));
  EXPECT_EQ(
      s.sent(),
      show(seal_v6(hex("020000000002 021122334455 86dd  60000000 0000 3a 40" + own + peer + "81 00 0000 beef 0007"))));
}

TEST(Echo, WaitingRequestsAreBoundedAndKeptInOrder) {
  Station s;
  for (int round = 0; round < 3; ++round) {  // so that the ring turns
    for (std::size_t n = 0; n < 5; ++n) s.receive(ping4(100 + n));
    for (std::size_t n = 0; n < 2; ++n) ASSERT_EQ(show(*s.send()), show(pong4(100 + n)));
    for (std::size_t n = 5; n < 10; ++n) s.receive(ping6(100 + n));
    s.receive(ping4(1));
    EXPECT_EQ(s.count(Counter::echo_queue_full), static_cast<std::uint64_t>(round) + 1);
    const auto all = s.drain();
    ASSERT_EQ(all.size(), 8u);
    for (std::size_t n = 2; n < 10; ++n) EXPECT_EQ(show(all[n - 2]), show(n < 5 ? pong4(100 + n) : pong6(100 + n)));
  }
}

TEST(Echo, AReplyWaitsForRoom) {
  Station s;
  s.receive(ping4(500));
  Frame small(14 + 28 + 499);
  EXPECT_EQ(s.net.poll_transmit(small, s.now), 0u);
  EXPECT_TRUE(s.net.owes_frames());
  EXPECT_EQ(s.count(Counter::tx_echo_replies), 0u);
  EXPECT_EQ(s.sent(), show(pong4(500)));
}

TEST(Echo, JumboFrames) {
  InterfaceConfig c = usual_config();
  c.mtu = 9000;
  Station s(c);
  EXPECT_EQ(s.net.max_frame_length(), 9014u);
  for (int i = 0; i < 8; ++i) s.receive(ping6(8952));
  for (const Frame& f : s.drain()) EXPECT_EQ(show(f), show(pong6(8952)));
  EXPECT_EQ(s.count(Counter::tx_echo_replies), 8u);
}

}  // namespace
}  // namespace uroce::net::test
