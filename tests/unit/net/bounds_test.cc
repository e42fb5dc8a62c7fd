// SPDX-License-Identifier: BSD-3-Clause
// Frames cut at every length, and frames that chance wrote, in memory that ends where they do.
#include <set>
#include <string_view>

#include "base/rng.h"
#include "station.h"

namespace uroce::net::test {
namespace {

// One good frame of every kind that is handled.
std::vector<Frame> good_frames() {
  const std::string us = "20010db8000000000000000000000001", peer = "20010db8000000000000000000000002";
  return {
      hex("ffffffffffff 020000000002 0806 0001 0800 06 04 0001 020000000002 0a000002 000000000000 0a000001"),
      hex("021122334455 020000000002 0806 0001 0800 06 04 0002 020000000002 0a000002 021122334455 0a000001"),
      seal_v4(hex("021122334455 020000000002 0800 45 00 0000 1234 0000 39 01 0000 0a000002 0a000001"
                  "08 00 0000 beef 0007 0011223344556677")),
      seal_v6(hex("021122334455 020000000002 86dd 60000000 0000 3a 39" + peer + us +
                  "80 00 0000 beef 0007 0011223344556677")),
      seal_v6(hex("3333ff000001 020000000002 86dd 60000000 0000 3a ff" + peer + "ff0200000000000000000001ff000001" +
                  "87 00 0000 00000000" + us + "0101 020000000002")),
      seal_v6(hex("021122334455 020000000002 86dd 60000000 0000 3a ff" + peer + us + "88 00 0000 60000000" + peer +
                  "0201 020000000002")),
  };
}

std::uint64_t accepted(const Station& s) {
  return s.count(Counter::rx_arp_requests) + s.count(Counter::rx_arp_replies) + s.count(Counter::rx_solicitations) +
         s.count(Counter::rx_advertisements) + s.count(Counter::rx_echo_requests);
}

// What became of frames: each is taken, a claim of our address, or dropped for one reason.
std::uint64_t accounted(const Station& s) {
  std::uint64_t n = accepted(s) + s.count(Counter::address_conflicts);
  for (auto i = static_cast<std::size_t>(Counter::frame_truncated); i < kCounterCount; ++i) {
    n += s.count(static_cast<Counter>(i));
  }
  return n;
}

TEST(Bounds, CutAtEveryLength) {
  for (const Frame& f : good_frames()) {
    Station s;
    for (std::size_t n = 0; n < f.size(); ++n) {
      ASSERT_TRUE(s.drops(Frame(f.begin(), f.begin() + static_cast<std::ptrdiff_t>(n)), Counter::frame_truncated)) << n;
    }
    EXPECT_EQ(accepted(s), 0u);
    s.receive(f);
    EXPECT_EQ(accepted(s), 1u);
  }
}

// The same with lengths and checksums that fit the cut: only the messages' own lengths tell.
TEST(Bounds, CutMessagesInSoundDatagrams) {
  for (const Frame& f : good_frames()) {
    const bool v4 = f[12] == 0x08 && f[13] == 0x00, ip6 = f[12] == 0x86;
    if (!v4 && !ip6) continue;
    Station s;
    const std::size_t start = v4 ? kIcmpV4 : kIcmpV6;
    const bool echo = v4 || f[kIcmpV6] == 128;
    for (std::size_t n = start; n < f.size(); ++n) {
      const Frame cut(f.begin(), f.begin() + static_cast<std::ptrdiff_t>(n));
      const std::size_t length = n - start;
      const Frame sealed = v4 ? seal_v4(cut) : seal_v6(cut);
      if (length < 8) {
        ASSERT_TRUE(s.drops(sealed, Counter::icmp_malformed)) << n;
      } else if (echo) {
        s.receive(sealed);
        ASSERT_EQ(s.drain().size(), 1u) << n;
      } else if (length < 24) {
        ASSERT_TRUE(s.drops(sealed, Counter::ndp_malformed)) << n;
      } else if (length > 24) {
        ASSERT_TRUE(s.drops(sealed, Counter::ndp_bad_option)) << n;
      }
    }
  }
}

Frame mutated(const std::vector<Frame>& good, base::Rng& rng) {
  Frame f = good[rng.below(static_cast<std::uint32_t>(good.size()))];
  for (std::uint32_t n = rng.below(4); n > 0; --n)
    f[rng.below(static_cast<std::uint32_t>(f.size()))] = static_cast<std::uint8_t>(rng.next());
  if (rng.below(3) == 0) {
    const std::uint32_t more = rng.below(40);
    for (std::uint32_t i = 0; i < more; ++i) f.push_back(static_cast<std::uint8_t>(rng.below(4)));
  }
  if (rng.below(2) == 0) {  // past the checksums
    if (f[12] == 0x08 && f[13] == 0 && f.size() >= kIcmpV4) f = seal_v4(f);
    if (f[12] == 0x86 && f.size() >= kIcmpV6) f = seal_v6(f);
  }
  if (rng.below(3) == 0) f.resize(rng.below(static_cast<std::uint32_t>(f.size()) + 1));
  return f;
}

// Whatever arrives, what leaves is a sound frame of ours, and what is kept is bounded.
TEST(Bounds, ChanceFrames) {
  base::Rng rng(20'240'601);
  Station s;
  const std::vector<Frame> good = good_frames();
  std::uint64_t sent = 0;
  for (int round = 0; round < 100'000; ++round) {
    Frame f;
    if (rng.below(8) == 0) {
      f.resize(rng.below(120));
      for (auto& b : f) b = static_cast<std::uint8_t>(rng.next());
    } else {
      f = mutated(good, rng);
    }
    s.receive(f);
    if (rng.below(4) == 0) s.net.resolve(IpAddress::v4(10, 0, 0, static_cast<std::uint8_t>(rng.next())));
    if (rng.below(64) == 0) s.pass(ms(rng.below(5000)));
    if (rng.below(16) != 0) continue;
    while (s.net.poll_change()) continue;
    for (const Frame& out : s.drain()) {
      ++sent;
      ASSERT_TRUE(out.size() >= 60 && out.size() <= 1514);
      ASSERT_EQ(show(std::span(out).subspan(6, 6)), show(kUs.bytes));
      if (out[12] == 0x86) {
        ASSERT_EQ(show(seal_v6(Frame(out.begin(), out.begin() + 54 + out[18] * 256 + out[19]))),
                  show(std::span(out).first(54u + out[18] * 256u + out[19])));
      } else if (out[13] == 0) {
        ASSERT_EQ(internet_checksum(std::span(out).subspan(14, 20)), 0);
      }
    }
    ASSERT_LE(s.net.neighbour_count(), 1024u);
  }
  EXPECT_EQ(accounted(s), 100'000u);
  EXPECT_GT(sent, 10'000u);
  EXPECT_GT(accepted(s), 10'000u) << "chance must get past the checks, too";
}

TEST(Bounds, AFloodOfAskersFillsTheTableAndNoMore) {
  InterfaceConfig c = usual_config();
  c.addresses[0].prefix_length = 8;
  Station s(c);
  s.net.resolve(kPeer4);
  s.drain();
  s.receive(good_frames()[1]);
  ASSERT_TRUE(s.net.poll_change());
  Frame ask = good_frames()[0];
  for (std::uint32_t i = 0; i < 5000; ++i) {
    ask[29] = 7;
    ask[30] = static_cast<std::uint8_t>(i >> 8);
    ask[31] = static_cast<std::uint8_t>(i);
    s.receive(ask);
  }
  EXPECT_EQ(s.net.neighbour_count(), 1024u);
  EXPECT_EQ(s.net.resolve(kPeer4), kPeer);
  EXPECT_EQ(s.count(Counter::neighbours_evicted), 5000u - 1023u);
  EXPECT_EQ(s.count(Counter::reply_queue_full), 5000u - 64u);
  EXPECT_EQ(s.drain().size(), 64u);
  EXPECT_EQ(s.net.poll_change(), std::nullopt);
}

TEST(Bounds, TimersAreDoneInPortions) {
  InterfaceConfig c = usual_config();
  c.addresses[0].prefix_length = 8;
  Station s(c);
  for (std::uint32_t i = 0; i < 200; ++i) s.net.resolve(IpAddress::v4(10, 1, 0, static_cast<std::uint8_t>(i)));
  EXPECT_EQ(s.drain().size(), 200u);
  EXPECT_GT(s.net.next_deadline(), s.now);
  s.pass(seconds(1));
  EXPECT_EQ(s.drain().size(), static_cast<std::size_t>(Interface::kTimersPerCall));
  EXPECT_LE(s.net.next_deadline(), s.now);
  for (int i = 0; i < 3; ++i) s.pass({});
  EXPECT_EQ(s.drain().size(), 200u - Interface::kTimersPerCall);
  EXPECT_GT(s.net.next_deadline(), s.now);
}

TEST(Counters, NamesAreDistinctAndDescribed) {
  std::set<std::string_view> names, docs;
  for (const CounterInfo& i : kCounterInfo) {
    EXPECT_TRUE(names.insert(i.name).second) << i.name;
    EXPECT_TRUE(docs.insert(i.doc).second) << i.doc;
    EXPECT_FALSE(i.doc.empty());
  }
  EXPECT_EQ(kCounterInfo[static_cast<std::size_t>(Counter::ndp_other_target)].name, "ndp_other_target");
}

}  // namespace
}  // namespace uroce::net::test
