// SPDX-License-Identifier: BSD-3-Clause
#include "ring/deferred_spsc.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "base/rng.h"

namespace uroce::ring::test {
namespace {

using Ring = DeferredSpsc<std::uint32_t>;

TEST(DeferredSpsc, NothingIsVisibleBeforePublish) {
  std::array<std::uint32_t, 8> slots{};
  Ring ring;
  ring.init(slots.data(), 8, 8);
  std::uint32_t v = 77;
  EXPECT_FALSE(ring.pop(v));
  EXPECT_FALSE(ring.has_unpublished());
  for (std::uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(ring.push(i));
    EXPECT_TRUE(ring.has_unpublished());
    EXPECT_FALSE(ring.pop(v));
    EXPECT_EQ(ring.size(), 0u);
  }
  EXPECT_EQ(v, 77u);
  ring.publish();
  EXPECT_FALSE(ring.has_unpublished());
  EXPECT_EQ(ring.size(), 5u);
  ASSERT_TRUE(ring.push(5));  // after the publication: not part of it
  for (std::uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(ring.pop(v));
    EXPECT_EQ(v, i);
  }
  EXPECT_FALSE(ring.pop(v));
  ring.publish();
  ASSERT_TRUE(ring.pop(v));
  EXPECT_EQ(v, 5u);
  EXPECT_FALSE(ring.pop(v));
}

TEST(DeferredSpsc, HoldsExactlyItsLimit) {
  for (std::uint32_t count : {1u, 2u, 8u, 64u}) {
    for (std::uint32_t limit = 1; limit <= count; ++limit) {
      std::vector<std::uint32_t> slots(count);
      Ring ring;
      ring.init(slots.data(), count, limit);
      EXPECT_EQ(ring.limit(), limit);
      for (std::uint32_t i = 0; i < limit; ++i) ASSERT_TRUE(ring.push(i)) << count << " " << limit;
      EXPECT_FALSE(ring.push(99)) << count << " " << limit;
      ring.publish();
      EXPECT_FALSE(ring.push(99));
      std::uint32_t v = 0;
      ASSERT_TRUE(ring.pop(v));
      EXPECT_EQ(v, 0u);
      EXPECT_TRUE(ring.push(limit));
      EXPECT_FALSE(ring.push(99));
      ring.publish();
      for (std::uint32_t i = 1; i <= limit; ++i) {
        ASSERT_TRUE(ring.pop(v));
        EXPECT_EQ(v, i);
      }
      EXPECT_FALSE(ring.pop(v));
    }
  }
}

TEST(DeferredSpsc, ALimitOfZeroTakesNothing) {
  std::array<std::uint32_t, 2> slots{};
  Ring ring;
  ring.init(slots.data(), 2, 0);
  EXPECT_FALSE(ring.push(1));
}

TEST(DeferredSpscDeathTest, RefusesSlotsThatAreNoPowerOfTwoAndALimitBeyondThem) {
  std::array<std::uint32_t, 8> slots{};
  Ring ring;
  EXPECT_DEATH(ring.init(slots.data(), 6, 4), "assertion failed");
  EXPECT_DEATH(ring.init(slots.data(), 0, 0), "assertion failed");
  EXPECT_DEATH(ring.init(slots.data(), 4, 5), "assertion failed");
}

TEST(DeferredSpsc, AgreesWithAModelOverRandomCalls) {
  base::Rng rng(5);
  std::array<std::uint32_t, 16> slots{};
  Ring ring;
  ring.init(slots.data(), 16, 11);
  std::deque<std::uint32_t> hidden, shown;
  std::uint32_t number = 0;
  for (int i = 0; i < 200'000; ++i) {
    switch (rng.below(8)) {
      case 0: {
        ring.publish();
        shown.insert(shown.end(), hidden.begin(), hidden.end());
        hidden.clear();
        break;
      }
      case 1:
      case 2:
      case 3: {
        std::uint32_t v = 0;
        ASSERT_EQ(ring.pop(v), !shown.empty());
        if (!shown.empty()) {
          ASSERT_EQ(v, shown.front());
          shown.pop_front();
        }
        break;
      }
      default: {
        const bool room = hidden.size() + shown.size() < 11;
        ASSERT_EQ(ring.push(number), room);
        if (room) hidden.push_back(number);
        ++number;
      }
    }
    ASSERT_EQ(ring.size(), shown.size());
    ASSERT_EQ(ring.has_unpublished(), !hidden.empty());
  }
}

// Wide entries, so that a slot read before it was wholly written shows; the reader is on another thread.
struct Wide {
  std::uint64_t number = 0;
  std::array<std::uint64_t, 11> rest{};
};

// Returns how many entries came torn or out of order. A ring that is as small as its limit is full most of the time, so
// that the producer waits for the very slot that the consumer reads.
std::uint64_t cross_a_thread(std::uint32_t count, std::uint32_t limit, std::uint64_t items) {
  std::vector<Wide> slots(count);
  DeferredSpsc<Wide> ring;
  ring.init(slots.data(), count, limit);
  std::uint64_t bad = 0;
  std::thread consumer([&] {
    Wide w;
    for (std::uint64_t got = 0; got < items;) {
      if (!ring.pop(w)) {
        std::this_thread::yield();
        continue;
      }
      if (w.number != got) ++bad;
      for (std::size_t i = 0; i < w.rest.size(); ++i) {
        if (w.rest[i] != ~w.number * (i + 1)) ++bad;
      }
      ++got;
    }
  });
  base::Rng rng(11);
  Wide w;
  int refusals = 0;
  for (std::uint64_t i = 0; i < items;) {
    w.number = i;
    for (std::size_t k = 0; k < w.rest.size(); ++k) w.rest[k] = ~i * (k + 1);
    if (ring.push(w)) {
      ++i;
      if (rng.below(8) == 0) ring.publish();
    } else {
      ring.publish();
      if (++refusals % 64 == 0) std::this_thread::yield();
    }
  }
  ring.publish();
  consumer.join();
  return bad + ring.size();
}

TEST(DeferredSpsc, AMillionItemsCrossAThreadInOrderAndWhole) {
  EXPECT_EQ(cross_a_thread(256, 200, 1'000'000), 0u);
  EXPECT_EQ(cross_a_thread(1, 1, 50'000), 0u);
  EXPECT_EQ(cross_a_thread(4, 4, 200'000), 0u);
}

TEST(DeferredSpsc, WhatWaitsIsWhatIsPublishedAndNotPopped) {
  std::array<std::uint32_t, 4> slots{};
  Ring ring;
  ring.init(slots.data(), 4, 4);
  std::uint32_t v = 0, number = 0;
  for (std::uint32_t round = 0; round < 10; ++round) {
    for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(ring.push(number++));
    ring.publish();
    ASSERT_TRUE(ring.pop(v));
    ASSERT_TRUE(ring.push(number++));  // hidden
    std::vector<std::uint32_t> waiting;
    ring.for_each_waiting([&](std::uint32_t& w) { waiting.push_back(w); });
    EXPECT_EQ(waiting, (std::vector<std::uint32_t>{number - 3, number - 2}));
    ring.publish();
    while (ring.pop(v)) {
    }
  }
}

// What the producer wrote elsewhere before publish() is there for whoever has popped the entry.
TEST(DeferredSpsc, PublishOrdersWhatCameBeforeIt) {
  constexpr std::uint32_t kItems = 200'000;
  std::vector<std::uint32_t> payload(kItems), slots(1024);
  Ring ring;
  ring.init(slots.data(), 1024, 1024);
  std::uint32_t bad = 0;
  std::thread consumer([&] {
    for (std::uint32_t got = 0, v = 0; got < kItems;) {
      if (!ring.pop(v)) {
        std::this_thread::yield();
        continue;
      }
      if (payload[v] != v + 1) ++bad;
      ++got;
    }
  });
  for (std::uint32_t i = 0; i < kItems;) {
    if (!ring.push(i)) {
      std::this_thread::yield();
      continue;
    }
    payload[i] = i + 1;  // plain, not atomic: a thread sanitizer would see a missing edge
    ring.publish();
    ++i;
  }
  consumer.join();
  EXPECT_EQ(bad, 0u);
}

}  // namespace
}  // namespace uroce::ring::test
