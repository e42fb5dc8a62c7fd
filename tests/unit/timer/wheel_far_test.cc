// SPDX-License-Identifier: BSD-3-Clause
// Far deadlines: every level of the wheel, the edge of its reach at 2^36 us, and what lies beyond.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "timers.h"

namespace uroce::timer::test {
namespace {

constexpr std::int64_t kReach = std::int64_t{1} << 36;  // us

// Sleeps from next_deadline() to next_deadline(), as an idle worker does. Returns how many turns it took until the
// timer fired; the timer has noted when.
int sleep_until_fired(Wheel& wheel, Timer& t, Instant start) {
  Instant now = start;
  for (int turns = 1; turns <= 1000; ++turns) {
    const Instant next = wheel.next_deadline();
    if (next == base::kNever) return -1;
    now = std::max(now, next);
    run(wheel, now);
    if (!t.fired.empty()) return turns;
  }
  return -1;
}

void expect_on_time_asleep(std::int64_t start, std::int64_t deadline) {
  SCOPED_TRACE(testing::Message() << "from " << start << " us to " << deadline << " us");
  Wheel wheel(us(start));
  Timer t;
  wheel.arm(t.node, us(deadline));
  EXPECT_LE(wheel.next_deadline(), us(deadline));
  const int turns = sleep_until_fired(wheel, t, us(start));
  EXPECT_GE(turns, 1);
  EXPECT_LE(turns, 200);
  ASSERT_EQ(t.fired.size(), 1u);
  EXPECT_EQ(t.fired[0], us(deadline));
  EXPECT_EQ(wheel.next_deadline(), base::kNever);
}

void expect_on_time_after_jumps(std::int64_t start, std::int64_t deadline) {
  SCOPED_TRACE(testing::Message() << "from " << start << " us to " << deadline << " us, by jumps");
  Wheel wheel(us(start));
  Timer t;
  wheel.arm(t.node, us(deadline));
  if (deadline > start) {
    ASSERT_EQ(run(wheel, us(start + (deadline - start) / 2)), 0);
  }
  if (deadline > start) {
    ASSERT_EQ(run(wheel, us(deadline - 1)), 0);
  }
  EXPECT_EQ(run(wheel, us(deadline)), 1);
  wheel.disarm(t.node);
}

TEST(WheelFar, EveryLevelCascadesOnTime) {
  for (unsigned bits = 1; bits <= 35; ++bits) {
    for (std::int64_t nudge : {-1, 0, 1}) {
      const std::int64_t after = (std::int64_t{1} << bits) + nudge;
      expect_on_time_asleep(0, after);
      expect_on_time_after_jumps(0, after);
      expect_on_time_asleep(12'345'678, 12'345'678 + after);
      expect_on_time_after_jumps(12'345'678, 12'345'678 + after);
    }
  }
}

// Where a digit of the clock rolls over between now and the deadline, however near that is.
TEST(WheelFar, NearDeadlinesAcrossARolloverOfEachLevel) {
  for (unsigned bits = 6; bits <= 30; bits += 6) {
    for (std::int64_t turn : {1, 5, 63}) {
      const std::int64_t edge = turn << bits;
      for (std::int64_t before : {1, 2, 60, 1000}) {
        if (before > edge) continue;
        for (std::int64_t after : {0, 1, 2, 70, 5000}) {
          expect_on_time_asleep(edge - before, edge + after);
          expect_on_time_after_jumps(edge - before, edge + after);
        }
      }
    }
  }
}

// The longest local ack timeout: 4.096 us * 2^31 = 8 796.093 s, and twice that, when expiry may be filed again.
TEST(WheelFar, TheLongestAckTimeoutFromAnyHourOfTheClock) {
  const std::int64_t longest = 8'796'093'022;
  for (std::int64_t hour = 0; hour <= 40; ++hour) {
    const std::int64_t start = hour * 3'600'000'000 + 17;
    expect_on_time_asleep(start, start + longest);
    expect_on_time_after_jumps(start, start + 2 * longest);
  }
}

TEST(WheelFar, ShortTimersWorkWhenTheClockPassesTheReachOfTheWheel) {
  for (std::int64_t turn : {1, 2, 7}) {
    for (std::int64_t before : {1, 1000, 1'000'000}) {
      for (std::int64_t after : {0, 1, 1000, 2'000'000}) {
        expect_on_time_asleep(turn * kReach - before, turn * kReach + after);
        expect_on_time_after_jumps(turn * kReach - before, turn * kReach + after);
      }
    }
  }
}

TEST(WheelFar, DeadlinesAtAndBeyondTheReach) {
  for (std::int64_t start : {std::int64_t{0}, std::int64_t{1'000'000}, kReach / 3}) {
    for (std::int64_t after : {kReach - 1, kReach, kReach + 1, kReach + kReach / 2, 2 * kReach, 5 * kReach + 12'345}) {
      expect_on_time_asleep(start, start + after);
      expect_on_time_after_jumps(start, start + after);
    }
  }
}

TEST(WheelFar, AJumpOverEverythingFiresEverything) {
  Wheel wheel(us(3));
  std::vector<std::unique_ptr<Timer>> timers;
  for (unsigned bits = 0; bits <= 37; ++bits) {
    timers.push_back(std::make_unique<Timer>());
    wheel.arm(timers.back()->node, us(3 + (std::int64_t{1} << bits)));
  }
  EXPECT_EQ(run(wheel, us(10 * kReach)), 38);
  EXPECT_EQ(wheel.next_deadline(), base::kNever);
}

TEST(WheelFar, RearmedFromFarToNearAndBack) {
  Wheel wheel(us(0));
  Timer t;
  wheel.arm(t.node, us(3 * kReach));
  wheel.arm(t.node, us(5));
  EXPECT_EQ(wheel.next_deadline(), us(5));
  wheel.arm(t.node, us(40'000'000'000));
  EXPECT_EQ(run(wheel, us(39'999'999'999)), 0);
  EXPECT_EQ(run(wheel, us(40'000'000'000)), 1);
}

}  // namespace
}  // namespace uroce::timer::test
