// SPDX-License-Identifier: BSD-3-Clause
#include "timer/wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "timers.h"

namespace uroce::timer::test {
namespace {

TEST(Wheel, FreshNodesAreNotArmedAndKnowTheirOwner) {
  Timer t;
  EXPECT_FALSE(t.node.armed());
  EXPECT_EQ(t.node.owner(), &t);
  Wheel wheel(us(0));
  wheel.disarm(t.node);
  EXPECT_FALSE(t.node.armed());
  EXPECT_EQ(wheel.next_deadline(), base::kNever);
  EXPECT_EQ(run(wheel, us(1'000'000)), 0);
}

// Deadlines to the nanosecond around tick edges: silent at every earlier nanosecond tried, fired one tick later.
TEST(Wheel, NeverEarlyAndAtMostOneTickLate) {
  for (std::int64_t start : {0, 1, 999, 1000, 62'999, 63'000, 63'001, 4'095'500}) {
    for (std::int64_t after :
         {0, 1, 499, 999, 1000, 1001, 1999, 2000, 62'000, 63'001, 64'000, 64'001, 65'000, 4'096'000}) {
      const Instant deadline{start + after};
      Wheel wheel(Instant{start});
      Timer t;
      wheel.arm(t.node, deadline);
      ASSERT_TRUE(t.node.armed());
      for (std::int64_t now = start; now < deadline.ns; now += 250)
        ASSERT_EQ(run(wheel, Instant{now}), 0) << deadline.ns;
      if (deadline.ns > start) {
        ASSERT_EQ(run(wheel, Instant{deadline.ns - 1}), 0) << start << " " << deadline.ns;
      }
      ASSERT_EQ(run(wheel, Instant{deadline.ns + 1000}), 1) << start << " " << deadline.ns;
      ASSERT_FALSE(t.node.armed());
    }
  }
}

TEST(Wheel, DeadlinesOnATickFireAtThem) {
  Wheel wheel(us(0));
  Timer t;
  for (std::int64_t at : {1, 63, 64, 65, 4095, 4096, 4097}) {
    wheel.arm(t.node, us(at));
    EXPECT_EQ(t.node.deadline(), us(at));
    EXPECT_EQ(run(wheel, us(at)), 1) << at;
  }
}

TEST(Wheel, ADeadlineInThePastFiresAtTheNextExpire) {
  Wheel wheel(us(1000));
  Timer old, older, now;
  EXPECT_EQ(run(wheel, us(5000)), 0);
  wheel.arm(old.node, us(4999));
  wheel.arm(older.node, us(0));
  wheel.arm(now.node, us(5000));
  EXPECT_LE(wheel.next_deadline(), us(5000));
  EXPECT_EQ(run(wheel, us(5000)), 3);
}

// The clock's zero is arbitrary, and its values are signed.
TEST(Wheel, ADeadlineBeforeTheClocksZeroIsInThePastToo) {
  Wheel wheel(us(10));
  Timer t;
  wheel.arm(t.node, us(-5));
  EXPECT_LE(wheel.next_deadline(), us(10));
  EXPECT_EQ(run(wheel, us(11)), 1);
  wheel.disarm(t.node);
}

TEST(Wheel, AnOlderNowThanBeforeIsHarmless) {
  Wheel wheel(us(100));
  Timer t;
  wheel.arm(t.node, us(300));
  EXPECT_EQ(run(wheel, us(200)), 0);
  EXPECT_EQ(run(wheel, us(50)), 0);
  EXPECT_EQ(run(wheel, us(299)), 0);
  EXPECT_EQ(run(wheel, us(300)), 1);
}

TEST(Wheel, AnOlderNowDoesNotTurnTheWheelBack) {
  Wheel wheel(us(100));
  Timer t;
  EXPECT_EQ(run(wheel, us(200)), 0);
  wheel.arm(t.node, us(230));  // in the same 64 us
  EXPECT_EQ(run(wheel, us(50)), 0);
  EXPECT_EQ(run(wheel, us(150)), 0);
  EXPECT_EQ(run(wheel, us(229)), 0);
  EXPECT_EQ(run(wheel, us(230)), 1);
}

TEST(Wheel, DisarmedTimersStaySilent) {
  Wheel wheel(us(0));
  Timer t[6];
  const std::int64_t at[6] = {10, 10, 10, 100, 5000, 300'000};
  for (int i = 0; i < 6; ++i) wheel.arm(t[i].node, us(at[i]));
  for (int i : {1, 0, 3, 4}) {  // the middle, the end and the only one of a slot
    wheel.disarm(t[i].node);
    EXPECT_FALSE(t[i].node.armed());
  }
  EXPECT_EQ(run(wheel, us(400'000)), 2);
  EXPECT_EQ(t[2].fired.size(), 1u);
  EXPECT_EQ(t[5].fired.size(), 1u);
  EXPECT_EQ(wheel.next_deadline(), base::kNever);
}

TEST(Wheel, RearmingMovesTheDeadlineBothWays) {
  Wheel wheel(us(0));
  Timer later, sooner;
  wheel.arm(later.node, us(100));
  wheel.arm(later.node, us(9000));
  wheel.arm(sooner.node, us(9000));
  wheel.arm(sooner.node, us(100));
  EXPECT_EQ(run(wheel, us(8999)), 1);
  EXPECT_EQ(sooner.fired.size(), 1u);
  EXPECT_EQ(run(wheel, us(9000)), 1);
  EXPECT_EQ(later.fired.size(), 1u);
}

TEST(Wheel, NodesAreDisarmedWhenTheyFireAndMayRearmThemselves) {
  Wheel wheel(us(0));
  Timer t;
  wheel.arm(t.node, us(10));
  std::vector<std::int64_t> at;
  for (std::int64_t now = 0; now <= 1000; ++now) {
    wheel.expire(us(now), 10, [&](Node& n) {
      EXPECT_FALSE(n.armed());
      at.push_back(now);
      if (at.size() < 50) wheel.arm(n, us(now + 7));
    });
  }
  ASSERT_EQ(at.size(), 50u);
  for (std::size_t i = 0; i < at.size(); ++i) EXPECT_EQ(at[i], 10 + 7 * static_cast<std::int64_t>(i));
}

TEST(Wheel, FireMayArmAndDisarmOthers) {
  Wheel wheel(us(0));
  Timer killer, same_slot, same_level, far, born;
  wheel.arm(same_slot.node, us(50));
  wheel.arm(killer.node, us(50));
  wheel.arm(same_level.node, us(60));
  wheel.arm(far.node, us(100'000));
  int fired = 0;
  const auto fire = [&](Node& n) {
    ++fired;
    if (&n != &killer.node) return timer_of(n).fired.push_back(us(50));
    for (Timer* t : {&same_slot, &same_level, &far}) wheel.disarm(t->node);
    wheel.arm(born.node, us(70));
  };
  wheel.expire(us(55), 100, fire);
  const bool killer_first = same_slot.fired.empty();
  EXPECT_EQ(fired, killer_first ? 1 : 2);
  wheel.expire(us(200'000), 100, fire);
  EXPECT_EQ(born.fired.size(), 1u);
  EXPECT_TRUE(same_level.fired.empty() && far.fired.empty());
  EXPECT_EQ(fired, killer_first ? 2 : 3);
}

// A timer armed in fire() for a moment that `now` has passed as well fires without waiting for the clock to move.
TEST(Wheel, ArmedInFireForAMomentAlreadyPassed) {
  Wheel wheel(us(0));
  Timer t;
  wheel.arm(t.node, us(10));
  int fired = 0;
  const auto fire = [&](Node& n) {
    if (++fired < 3) wheel.arm(n, us(10 + 100 * fired));
  };
  wheel.expire(us(1000), 100, fire);
  wheel.expire(us(1000), 100, fire);
  wheel.expire(us(1000), 100, fire);
  EXPECT_EQ(fired, 3);
  EXPECT_FALSE(t.node.armed());
}

TEST(Wheel, FiresInOrderOfTheirTicks) {
  Wheel wheel(us(5));
  constexpr int kTimers = 500;
  std::vector<std::unique_ptr<Timer>> timers;
  for (int i = 0; i < kTimers; ++i) {
    timers.push_back(std::make_unique<Timer>());
    wheel.arm(timers.back()->node, us(5 + (i * 7919) % 100'000));
  }
  std::vector<Instant> order;
  wheel.expire(us(200'000), kTimers + 1, [&](Node& n) { order.push_back(n.deadline()); });
  EXPECT_EQ(order.size(), static_cast<std::size_t>(kTimers));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Wheel, TheLimitIsRespectedAndNothingIsLostByIt) {
  Wheel wheel(us(0));
  std::vector<std::unique_ptr<Timer>> timers;
  for (int i = 0; i < 25; ++i) {
    timers.push_back(std::make_unique<Timer>());
    wheel.arm(timers.back()->node, us(100 + (i % 3) * 5000));  // several slots, several in each
  }
  EXPECT_EQ(run(wheel, us(20'000), 0), 0);
  EXPECT_EQ(run(wheel, us(20'000), 10), 10);
  EXPECT_LE(wheel.next_deadline(), us(20'000));
  EXPECT_EQ(run(wheel, us(20'000), 10), 10);
  EXPECT_EQ(run(wheel, us(20'000), 10), 5);
  EXPECT_EQ(run(wheel, us(20'000), 10), 0);
  for (const auto& t : timers) EXPECT_EQ(t->fired.size(), 1u);
}

TEST(Wheel, NextDeadlineIsExactForTheNearestTicks) {
  Wheel wheel(us(0));
  Timer a, b;
  wheel.arm(a.node, us(40));
  EXPECT_EQ(wheel.next_deadline(), us(40));
  wheel.arm(b.node, us(20));
  EXPECT_EQ(wheel.next_deadline(), us(20));
  wheel.disarm(b.node);
  EXPECT_EQ(wheel.next_deadline(), us(40));
  wheel.disarm(a.node);
  EXPECT_EQ(wheel.next_deadline(), base::kNever);
}

// A driver that sleeps until next_deadline() must get there: what it is told is always later than where it is, until the
// timer fires. Deadlines past several cascades.
TEST(Wheel, SteppingFromDeadlineToDeadlineArrives) {
  for (const std::int64_t us : {1, 63, 64, 100, 4096, 70'000, 20'000'000}) {
    Wheel wheel(base::Instant{123'456'789});
    int owner = 0;
    Node node(&owner);
    const base::Instant deadline{123'456'789 + us * 1000};
    wheel.arm(node, deadline);
    base::Instant now{123'456'789};
    int fired = 0, steps = 0;
    for (; fired == 0 && steps < 20; ++steps) {
      const base::Instant next = wheel.next_deadline();
      ASSERT_GT(next, now) << us;
      now = next;
      fired = wheel.expire(now, 10, [](Node&) {});
    }
    EXPECT_EQ(fired, 1) << us;
    EXPECT_GE(now, deadline) << us;
  }
}

}  // namespace
}  // namespace uroce::timer::test
