// SPDX-License-Identifier: BSD-3-Clause
// Room for neighbours: floods, who makes way for whom, and the index against a model.
#include <map>
#include <set>

#include "base/rng.h"
#include "net/neighbours.h"
#include "station.h"

namespace uroce::net::test {
namespace {

IpAddress host(std::uint32_t i) {
  return IpAddress::v4(10, static_cast<std::uint8_t>(i >> 16), static_cast<std::uint8_t>(i >> 8),
                       static_cast<std::uint8_t>(i));
}
MacAddress mac_of(std::uint32_t i) {
  return {{2, 1, static_cast<std::uint8_t>(i >> 24), static_cast<std::uint8_t>(i >> 16),
           static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)}};
}

struct Room : ::testing::Test {
  static constexpr std::uint32_t kCapacity = 8;
  void resolved(std::uint32_t i) {
    table.resolve(host(i));
    while (table.next_solicit(now)) continue;
    table.on_advertised(host(i), mac_of(i), true, true, now);
    while (table.poll_change()) continue;
  }
  [[nodiscard]] bool knows(std::uint32_t i) const { return table.resolution(host(i)) != Resolution::unknown; }

  Counters counters;
  NeighbourTable table{kCapacity, 99, Instant{0}, counters};
  Instant now{0};
};

TEST_F(Room, AFloodOfAskersPushesOutAskersOnly) {
  resolved(1);
  resolved(2);
  table.resolve(host(3));
  ASSERT_TRUE(table.hold(host(4)));
  for (std::uint32_t i = 100; i < 10'000; ++i) table.on_solicited_by(host(i), mac_of(i), now);
  EXPECT_EQ(table.size(), kCapacity);
  EXPECT_EQ(table.resolve(host(1)), mac_of(1));
  EXPECT_EQ(table.resolve(host(2)), mac_of(2));
  EXPECT_EQ(table.resolution(host(3)), Resolution::resolving);
  EXPECT_EQ(table.resolution(host(4)), Resolution::resolving);
  for (std::uint32_t i = 9996; i < 10'000; ++i) EXPECT_EQ(table.resolution(host(i)), Resolution::resolved) << i;
  EXPECT_EQ(counters[Counter::neighbours_learned], 9900u);
  EXPECT_EQ(counters[Counter::neighbours_evicted], 9896u);
}

TEST_F(Room, WhenAllIsInUseAskersAreNotLearned) {
  for (std::uint32_t i = 0; i < kCapacity; ++i) i < 4 ? resolved(i) : static_cast<void>(table.resolve(host(i)));
  table.on_solicited_by(host(100), mac_of(100), now);
  EXPECT_FALSE(knows(100));
  for (std::uint32_t i = 0; i < kCapacity; ++i) EXPECT_TRUE(knows(i)) << i;
  EXPECT_EQ(counters[Counter::neighbour_table_full], 1u);
  EXPECT_EQ(counters[Counter::neighbours_evicted], 0u);
}

TEST_F(Room, TheLeastMakesWayFirst) {
  table.on_solicited_by(host(10), mac_of(10), now);
  table.on_solicited_by(host(11), mac_of(11), now);
  table.resolve(host(20));
  table.resolve(host(21));
  resolved(30);
  resolved(31);
  ASSERT_TRUE(table.hold(host(40)));
  ASSERT_TRUE(table.hold(host(41)));
  table.resolve(host(20));  // now younger than 21
  table.resolve(host(30));  // ... than 31
  // Each newcomer is held, so that it does not make way for the next.
  std::uint32_t newcomer = 1000;
  for (const std::uint32_t gone : {10u, 11u, 21u, 20u, 31u, 30u}) {
    EXPECT_TRUE(knows(gone)) << gone;
    ASSERT_TRUE(table.hold(host(newcomer++)));
    EXPECT_FALSE(knows(gone)) << gone;
  }
  EXPECT_FALSE(table.hold(host(newcomer)));
  EXPECT_EQ(table.resolve(host(newcomer)), std::nullopt);
  EXPECT_EQ(counters[Counter::neighbour_table_full], 2u);
  EXPECT_TRUE(knows(40) && knows(41));
  table.release(host(41));
  EXPECT_EQ(table.resolve(host(newcomer)), std::nullopt);
  EXPECT_TRUE(knows(newcomer)) << "released, it makes way";
  EXPECT_FALSE(knows(41));
}

TEST_F(Room, OneThatFailedMakesWayBeforeThoseThatAreKnown) {
  resolved(1);
  now = now + seconds(1);
  for (std::uint32_t i = 2; i < 2 + kCapacity - 1; ++i) resolved(i);
  table.resolve(host(1));  // the youngest of the used
  for (int tries = 0; tries < 7; ++tries) {
    now = now + (tries == 0 ? seconds(29) : seconds(1));
    table.on_timer(now, 1000);
    while (table.next_solicit(now)) continue;
    for (std::uint32_t i = 2; i < 2 + kCapacity - 1; ++i) table.on_advertised(host(i), mac_of(i), true, true, now);
  }
  ASSERT_EQ(table.resolution(host(1)), Resolution::failed);
  table.resolve(host(100));
  EXPECT_FALSE(knows(1));
  for (std::uint32_t i = 2; i < 2 + kCapacity - 1; ++i) EXPECT_TRUE(knows(i)) << i;
}

TEST_F(Room, WhoeverMakesWayOwesAndReportsNothing) {
  for (std::uint32_t i = 0; i < kCapacity; ++i) table.resolve(host(i));
  for (std::uint32_t i = 100; i < 100 + kCapacity; ++i) ASSERT_TRUE(table.hold(host(i)));
  std::set<IpAddress> asked;
  while (const auto s = table.next_solicit(now)) EXPECT_TRUE(asked.insert(s->neighbour).second);
  EXPECT_EQ(asked.size(), kCapacity);
  for (std::uint32_t i = 100; i < 100 + kCapacity; ++i) EXPECT_TRUE(asked.contains(host(i)));
  EXPECT_EQ(table.poll_change(), std::nullopt);
}

TEST_F(Room, NewsOfOneThatMadeWayIsNotToldOfItsSuccessor) {
  for (std::uint32_t i = 0; i < kCapacity; ++i) {
    table.resolve(host(i));
    while (table.next_solicit(now)) continue;
    table.on_advertised(host(i), mac_of(i), true, true, now);  // and nobody polls
  }
  for (std::uint32_t i = 100; i < 100 + kCapacity; ++i) ASSERT_TRUE(table.hold(host(i)));
  EXPECT_EQ(table.poll_change(), std::nullopt);
  // Nor do the timers of the one (reachable for 30 s) run for the other.
  now = now + seconds(40);
  EXPECT_EQ(table.on_timer(now, 1000), 0);
}

TEST_F(Room, ATableOfOne) {
  Counters few;
  NeighbourTable one(1, 3, Instant{0}, few);
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(one.resolve(host(i)), std::nullopt);
    EXPECT_EQ(one.resolution(host(i)), Resolution::resolving);
    EXPECT_EQ(one.size(), 1u);
  }
  EXPECT_DEATH(NeighbourTable(0, 3, Instant{0}, few), "capacity");
  EXPECT_DEATH(NeighbourTable(32769, 3, Instant{0}, few), "capacity");
}

// Random life in a table that is always full, with a model that knows who was told what. A broken removal from the
// index loses neighbours that are there, or finds those that are not.
TEST_F(Room, TheIndexAgreesWithAModel) {
  base::Rng rng(2024);
  Counters few;
  constexpr std::uint32_t kRoom = 64, kHosts = 200;
  NeighbourTable busy(kRoom, 5, Instant{0}, few);
  std::map<std::uint32_t, unsigned> held;
  std::map<std::uint32_t, MacAddress> latest;
  for (int step = 0; step < 50'000; ++step) {
    const std::uint32_t i = rng.below(kHosts);
    switch (rng.below(4)) {
      case 0:
        busy.on_solicited_by(host(i), latest[i] = mac_of(rng.below(1000)), now);
        break;
      case 1:
        busy.on_advertised(host(i), latest[i] = mac_of(rng.below(1000)), true, true, now);
        break;
      case 2:
        if (held.size() < kRoom / 2 || held.contains(i)) {
          ASSERT_TRUE(busy.hold(host(i)));
          ++held[i];
        } else {
          const auto mac = busy.resolve(host(i));
          ASSERT_TRUE(!mac || *mac == latest[i]);
        }
        break;
      default:
        if (const auto it = held.lower_bound(i); it != held.end()) {
          busy.release(host(it->first));
          if (--it->second == 0) held.erase(it);
        }
    }
    std::uint32_t known = 0;
    if (step % 50 == 0) {
      for (std::uint32_t h = 0; h < kHosts; ++h) known += busy.resolution(host(h)) != Resolution::unknown;
      ASSERT_EQ(known, busy.size());
      ASSERT_LE(known, kRoom);
      for (const auto& [h, n] : held) ASSERT_NE(busy.resolution(host(h)), Resolution::unknown) << h;
    }
  }
  EXPECT_GT(few[Counter::neighbours_evicted], 1000u);
}

TEST(IndexSet, TakesRoundTheRing) {
  IndexSet set(130);
  EXPECT_EQ(set.take(), std::nullopt);
  for (const std::uint32_t i : {129u, 0u, 63u, 64u, 64u}) set.add(i);
  for (const std::uint32_t i : {0u, 63u}) EXPECT_EQ(set.take(), i);
  set.add(5);  // behind: its turn comes after those ahead
  for (const std::uint32_t i : {64u, 129u, 5u}) EXPECT_EQ(set.take(), i);
  EXPECT_TRUE(set.empty());
  set.add(7);
  set.remove(7);
  set.remove(7);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.take(), std::nullopt);
}

}  // namespace
}  // namespace uroce::net::test
