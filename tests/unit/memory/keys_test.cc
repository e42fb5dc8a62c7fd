// SPDX-License-Identifier: BSD-3-Clause
// The life of a key: from registration over death to the reuse of its slot.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "region.h"

namespace uroce::memory::test {
namespace {

std::uint8_t g_bytes[4096];

void give_back(MemoryTable& table, std::uint32_t key) {
  ASSERT_TRUE(table.kill(key));
  table.release(key);
}

TEST(Keys, NothingWorksBeforeRegistration) {
  MemoryTable table(8, 1);
  UROCE_EXPECT_FAULT(look(table, 0, 0, 0), no_such_key);
  base::Rng rng(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto key = static_cast<std::uint32_t>(rng.next());
    ASSERT_EQ(look(table, key, 0, 0).why, KeyFault::no_such_key);
    ASSERT_FALSE(table.invalidate(key, 0));
  }
}

TEST(Keys, NeighboursOfAKeyDoNotWork) {
  MemoryTable table(4, 7);
  const std::uint32_t key = add(table, g_bytes, 100, 0);
  UROCE_EXPECT_LEADS_TO(look(table, key, 0, 100), g_bytes);
  for (unsigned bit = 0; bit < 32; ++bit) UROCE_EXPECT_FAULT(look(table, key ^ (1u << bit), 0, 1), no_such_key);
}

TEST(Keys, AKilledKeyIsDeadAtOnceAndItsSlotStaysTaken) {
  MemoryTable table(1, 9);
  const std::uint32_t key = add(table, g_bytes, 100, 0);
  EXPECT_EQ(table.live(), 1u);
  ASSERT_TRUE(table.kill(key));
  UROCE_EXPECT_FAULT(look(table, key, 0, 1), no_such_key);
  EXPECT_FALSE(table.register_region({g_bytes, 100, 0, kAll, kPd}));  // a copy may still be in progress
  table.release(key);
  EXPECT_EQ(table.live(), 0u);
  UROCE_EXPECT_FAULT(look(table, key, 0, 1), no_such_key);
  const std::uint32_t next = add(table, g_bytes, 100, 0);
  EXPECT_NE(next, key);
  UROCE_EXPECT_FAULT(look(table, key, 0, 1), no_such_key);
  UROCE_EXPECT_LEADS_TO(look(table, next, 0, 1), g_bytes);
}

TEST(Keys, KillingAnUnknownKeyNamesIt) {
  MemoryTable table(4, 3);
  const std::uint32_t key = add(table, g_bytes, 10, 0);
  for (std::uint32_t wrong : {0u, key + 1, key ^ 0x80000000u, 0xffffffffu}) {
    const auto r = table.kill(wrong);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, ErrorCode::not_found);
    EXPECT_NE(r.error().message.find("memory region"), std::string::npos) << r.error().message;
    EXPECT_NE(r.error().message.find(std::to_string(wrong)), std::string::npos) << r.error().message;
  }
  UROCE_EXPECT_LEADS_TO(look(table, key, 0, 10), g_bytes);
  give_back(table, key);
  EXPECT_FALSE(table.kill(key));
}

TEST(Keys, AFullTableSaysHowMany) {
  MemoryTable table(3, 3);
  std::set<std::uint32_t> keys;
  for (int i = 0; i < 3; ++i) keys.insert(add(table, g_bytes, 10, 0));
  EXPECT_EQ(keys.size(), 3u);
  const auto r = table.register_region({g_bytes, 10, 0, kAll, kPd});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::no_room);
  EXPECT_NE(r.error().message.find("memory region"), std::string::npos) << r.error().message;
  EXPECT_NE(r.error().message.find('3'), std::string::npos) << r.error().message;
  EXPECT_EQ(table.live(), 3u);
}

// Each live key leads to its own region, and no dead one anywhere, over many lives of every slot.
TEST(Keys, LiveKeysAreUniqueOver200000Lives) {
  constexpr std::uint32_t kCapacity = 300;
  MemoryTable table(kCapacity, 0x5eed);
  base::Rng rng(21);
  std::map<std::uint32_t, std::uint64_t> live;  // key to iova
  std::vector<std::uint32_t> order;
  std::uint32_t last_dead = 0;
  for (std::uint64_t n = 0; n < 200'000;) {
    if (order.size() < kCapacity && rng.below(2) == 0) {
      const std::uint64_t iova = ++n << 16;
      const std::uint32_t key = add(table, g_bytes + n % 1000, 64, iova);
      ASSERT_NE(key, 0u);
      ASSERT_TRUE(live.emplace(key, iova).second) << "key given twice";
      order.push_back(key);
      ASSERT_EQ(look(table, key, iova, 64).at, g_bytes + n % 1000);
    } else if (!order.empty()) {
      std::swap(order[rng.below(static_cast<std::uint32_t>(order.size()))], order.back());
      const std::uint32_t key = order.back();
      order.pop_back();
      const std::uint64_t iova = live.at(key);
      ASSERT_EQ(look(table, key, iova, 64).at, g_bytes + (iova >> 16) % 1000);
      give_back(table, key);
      live.erase(key);
      ASSERT_EQ(look(table, key, iova, 1).why, KeyFault::no_such_key);
      if (last_dead != 0 && !live.contains(last_dead)) {
        ASSERT_EQ(look(table, last_dead, iova, 0).why, KeyFault::no_such_key);
      }
      last_dead = key;
    }
    ASSERT_EQ(table.live(), order.size());
  }
}

// A stale key must not open the slot's next regions: 8 bits of a key count the slot's lives.
TEST(Keys, ASlotsNext255LivesHaveOtherKeys) {
  MemoryTable table(1, 77);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 256; ++i) {
    const std::uint32_t key = add(table, g_bytes, 10, 0);
    EXPECT_TRUE(seen.insert(key).second) << "life " << i;
    give_back(table, key);
  }
}

// A freed slot rests as long as possible, so that a stale key stays wrong for long.
TEST(Keys, FreedSlotsAreReusedLast) {
  MemoryTable table(100, 78);
  const std::uint32_t first = add(table, g_bytes, 10, 0);
  give_back(table, first);
  for (int i = 0; i < 99; ++i) {
    const std::uint32_t key = add(table, g_bytes, 10, 0);
    EXPECT_NE(key >> 8, first >> 8) << i;
    give_back(table, key);
  }
  EXPECT_EQ(add(table, g_bytes, 10, 0) >> 8, first >> 8);
}

constexpr std::uint32_t kMostRegions = 1u << 20;

// A secret that gives the name 0 (the upper 24 bits of a key) to a slot of the largest table, and the slot's first key.
struct ZeroNamed {
  std::uint64_t secret = 0;
  std::uint32_t key = 0;
};
ZeroNamed find_zero_named() {
  for (std::uint64_t secret = 0; secret < 200; ++secret) {
    MemoryTable table(kMostRegions, secret);
    for (std::uint32_t i = 0; i < kMostRegions; ++i) {
      const auto key = table.register_region({g_bytes, 10, 0, kAll, kPd});
      if (key && *key >> 8 == 0) return {secret, *key};
    }
  }
  ADD_FAILURE() << "no secret of 200 gave the name 0 to one of 2^20 slots of 2^24";
  return {};
}
const ZeroNamed& zero_named() {
  static const ZeroNamed found = find_zero_named();
  return found;
}

// 0 is what a forgotten field holds.
TEST(Keys, ZeroIsNeverAKey) {
  MemoryTable table(kMostRegions, zero_named().secret);
  for (std::uint32_t i = 0; i < kMostRegions; ++i) ASSERT_NE(add(table, g_bytes, 10, 0), 0u);
  // The table is full, so that what is given back is what comes next: more than 256 lives of the slot named 0.
  std::uint32_t key = zero_named().key;
  for (int life = 0; life < 600; ++life) {
    give_back(table, key);
    key = add(table, g_bytes, 10, 0);
    ASSERT_NE(key, 0u);
    ASSERT_EQ(key >> 8, 0u);
    ASSERT_EQ(look(table, 0, 0, 0).why, KeyFault::no_such_key);
    ASSERT_FALSE(table.kill(0));
  }
}

TEST(Keys, ZeroIsNotFoundWhenTheSlotNamedZeroIsFree) {
  MemoryTable table(kMostRegions, zero_named().secret);
  EXPECT_FALSE(table.kill(0));
  UROCE_EXPECT_FAULT(look(table, 0, 0, 0), no_such_key);
  EXPECT_FALSE(table.invalidate(0, 0));
}

std::vector<std::uint32_t> keys_of(std::uint64_t secret, std::uint32_t n) {
  MemoryTable table(n, secret);
  std::vector<std::uint32_t> keys;
  for (std::uint32_t i = 0; i < n; ++i) keys.push_back(add(table, g_bytes, 10, 0));
  return keys;
}

TEST(Keys, DifferBetweenSecrets) {
  constexpr std::uint32_t kKeys = 4096;
  const std::vector<std::uint32_t> a = keys_of(1, kKeys);
  EXPECT_EQ(keys_of(1, kKeys), a);  // and repeat for one, which makes runs of the simulator repeatable
  for (std::uint64_t other : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{1} << 63, ~std::uint64_t{1}}) {
    const std::vector<std::uint32_t> b = keys_of(other, kKeys);
    std::uint32_t same = 0;
    for (std::size_t i = 0; i < kKeys; ++i) same += a[i] >> 8 == b[i] >> 8 ? 1 : 0;
    EXPECT_LT(same, 5u);  // by chance: 4096 / 2^24
    std::vector<std::uint32_t> common, x = a, y = b;
    std::sort(x.begin(), x.end());
    std::sort(y.begin(), y.end());
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(common));
    EXPECT_LT(common.size(), 10u);
  }
}

// Nobody who was told some keys finds the next by counting or by adding a difference seen before.
TEST(Keys, AreNotSequential) {
  for (std::uint64_t secret : {0u, 1u, 0xffffffffu}) {
    const std::vector<std::uint32_t> keys = keys_of(secret, 4096);
    std::set<std::uint32_t> names;
    std::map<std::uint32_t, int> differences, flips, bits;
    int rising = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      names.insert(keys[i] >> 8);
      for (std::uint32_t b = 0; b < 32; ++b) bits[b] += static_cast<int>(keys[i] >> b & 1);
      if (i == 0) continue;
      ++differences[((keys[i] >> 8) - (keys[i - 1] >> 8)) & 0xffffff];
      ++flips[(keys[i] ^ keys[i - 1]) >> 8];
      rising += keys[i] > keys[i - 1] ? 1 : 0;
    }
    EXPECT_EQ(names.size(), keys.size());
    for (const auto& [difference, times] : differences) EXPECT_LE(times, 8) << difference;
    for (const auto& [flip, times] : flips) EXPECT_LE(times, 8) << flip;
    EXPECT_NEAR(rising, 2048, 6 * 32);
    for (const auto& [bit, ones] : bits) EXPECT_NEAR(ones, 2048, 8 * 32) << "bit " << bit;
  }
}

TEST(Keys, InvalidateNeedsALiveKeyItsPdAndItsPermission) {
  MemoryTable table(8, 5);
  const AccessFlags may = kAll | Access::remote_invalidate;
  const std::uint32_t yes = add(table, g_bytes, 10, 0, may), no = add(table, g_bytes, 10, 0, kAll);
  EXPECT_FALSE(table.invalidate(no, kPd));
  EXPECT_FALSE(table.invalidate(yes, kPd + 1));
  EXPECT_FALSE(table.invalidate(yes ^ 1, kPd));
  UROCE_EXPECT_LEADS_TO(look(table, yes, 0, 10), g_bytes);
  UROCE_EXPECT_LEADS_TO(look(table, no, 0, 10), g_bytes);
  EXPECT_TRUE(table.invalidate(yes, kPd));
  UROCE_EXPECT_FAULT(look(table, yes, 0, 10), no_such_key);
  EXPECT_FALSE(table.invalidate(yes, kPd));
  UROCE_EXPECT_LEADS_TO(look(table, no, 0, 10), g_bytes);
  // The owner still deregisters it.
  EXPECT_EQ(table.live(), 2u);
  give_back(table, yes);
  EXPECT_EQ(table.live(), 1u);
}

TEST(Keys, OfTwoInvalidationsThatMeetOneWins) {
  constexpr std::uint32_t kRounds = 20, kKeys = 16384;
  MemoryTable table(kKeys, 6);
  std::vector<std::uint32_t> keys(kKeys);
  std::vector<std::atomic<std::uint32_t>> wins(kKeys);
  std::barrier meet(3);
  const auto contend = [&] {
    for (std::uint32_t r = 0; r < kRounds; ++r) {
      meet.arrive_and_wait();
      for (std::uint32_t k = 0; k < kKeys; ++k) {
        if (table.invalidate(keys[k], kPd)) ++wins[k];
      }
      meet.arrive_and_wait();
    }
  };
  std::thread a(contend), b(contend);
  std::uint32_t wrong = 0;
  for (std::uint32_t r = 0; r < kRounds; ++r) {
    for (auto& key : keys) key = add(table, g_bytes, 10, 0, kAll | Access::remote_invalidate);
    meet.arrive_and_wait();
    meet.arrive_and_wait();
    for (std::uint32_t k = 0; k < kKeys; ++k) {
      wrong += wins[k].exchange(0) == 1 ? 0 : 1;
      give_back(table, keys[k]);
    }
  }
  a.join();
  b.join();
  EXPECT_EQ(wrong, 0u);
}

// A worker that began a look-up after kill() returned never gets a pointer.
TEST(Keys, NoWorkerGetsThroughAfterKill) {
  MemoryTable table(2, 8);
  std::atomic<std::uint32_t> current{0}, killed{0};
  std::atomic<std::uint64_t> turns{0};
  std::atomic<bool> stop{false};
  std::uint64_t bad = 0;
  std::thread worker([&] {
    while (!stop.load()) {
      const std::uint32_t key = current.load();
      const bool dead = killed.load() == key;
      const Looked l = look(table, key, 0x10, 8);
      if (l.at != nullptr && (dead || l.at != g_bytes + 0x10)) ++bad;
      if (turns.fetch_add(1) % 64 == 63) std::this_thread::yield();
    }
  });
  for (int i = 0; i < 300; ++i) {
    const std::uint32_t key = add(table, g_bytes, 100, 0);
    current.store(key);
    if (i % 3 == 0) std::this_thread::yield();
    ASSERT_TRUE(table.kill(key));
    killed.store(key);
    const std::uint64_t seen = turns.load();
    while (turns.load() < seen + 2) std::this_thread::yield();  // the grace period
    table.release(key);
  }
  stop = true;
  worker.join();
  EXPECT_EQ(bad, 0u);
}

// Replays of recorded traffic bring the recording's keys.
TEST(Keys, DictatedKeysWorkLikeOthers) {
  MemoryTable table(16, MemoryTable::Dictated{});
  ASSERT_TRUE(table.register_dictated(0x000305, {g_bytes, 100, 0x1000, kAll, kPd}));
  UROCE_EXPECT_LEADS_TO(look(table, 0x000305, 0x1000, 100), g_bytes);
  UROCE_EXPECT_FAULT(look(table, 0x000305, 0x1000, 101), out_of_range);
  UROCE_EXPECT_FAULT(look(table, 0x000304, 0x1000, 1), no_such_key);
  UROCE_EXPECT_FAULT(look(table, 0x000405, 0x1000, 1), no_such_key);
  EXPECT_EQ(table.register_dictated(0x000306, {g_bytes, 100, 0, kAll, kPd}).error().code, ErrorCode::busy);
  EXPECT_EQ(table.register_dictated(0x001000, {g_bytes, 100, 0, kAll, kPd}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(table.register_dictated(0x000405, {g_bytes, 100, ~std::uint64_t{7}, kAll, kPd}).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(table.live(), 1u);
  ASSERT_TRUE(table.kill(0x000305));
  UROCE_EXPECT_FAULT(look(table, 0x000305, 0x1000, 1), no_such_key);
}

}  // namespace
}  // namespace uroce::memory::test
