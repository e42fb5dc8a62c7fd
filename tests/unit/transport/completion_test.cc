// SPDX-License-Identifier: BSD-3-Clause
// Completion lanes, and how a worker fills, publishes and overflows them.
#include <gtest/gtest.h>

#include "rig.h"

namespace uroce::transport::test {
namespace {

Completion of(std::uint64_t id) {
  Completion c;
  c.wr_id = id;
  c.qpn = static_cast<std::uint32_t>(id * 3);
  c.status = id % 2 != 0 ? WcStatus::success : WcStatus::wr_flush_err;
  return c;
}

TEST(CompletionLaneTest, CarriesEntriesInOrder) {
  Lane<8> lane(7);
  EXPECT_EQ(lane.lane.cq(), 7u);
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(lane.lane.push(of(i), i == 3));
  LaneEntry e;
  EXPECT_FALSE(lane.lane.pop(e));
  lane.lane.publish();
  EXPECT_EQ(lane.lane.size(), 5u);
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(lane.lane.pop(e));
    EXPECT_EQ(e.completion.wr_id, i);
    EXPECT_EQ(e.completion.qpn, i * 3);
    EXPECT_EQ(e.completion.status, of(i).status);
    EXPECT_EQ(e.solicited, i == 3);
  }
  EXPECT_FALSE(lane.lane.pop(e));
  EXPECT_FALSE(lane.lane.overflowed());
}

TEST(CompletionLaneTest, OnceOverflowedItTakesNoMoreAndKeepsWhatItHolds) {
  Lane<4> lane(7, 3);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(lane.lane.push(of(i), false));
  EXPECT_FALSE(lane.lane.overflowed());
  EXPECT_FALSE(lane.lane.push(of(3), false));
  EXPECT_TRUE(lane.lane.overflowed());
  lane.lane.publish();
  EXPECT_EQ(lane.drain().size(), 3u);
  // A hole in the sequence of completions must not be papered over.
  EXPECT_FALSE(lane.lane.push(of(4), false));
  lane.lane.publish();
  EXPECT_EQ(lane.drain().size(), 0u);
}

// A queue of 4 and 8 completions that nobody polls: 4 can still be polled, and the overflow is reported once.
TEST(CompletionTest, EightCompletionsIntoAQueueOfFour) {
  Surroundings s;
  Lane<4> small(1);
  Lane<8> other(2);
  for (std::uint64_t i = 0; i < 8; ++i) {
    s.context.complete(small.lane, of(i), false);
    s.context.complete(other.lane, of(100 + i), false);
  }
  ASSERT_EQ(s.host.overflowed.size(), 1u);
  EXPECT_EQ(s.host.overflowed[0], &small.lane);
  EXPECT_EQ(s.counters[Counter::cq_overflows], 1u);
  EXPECT_TRUE(small.lane.overflowed());
  s.context.publish_completions();
  const std::vector<Completion> kept = small.drain();
  ASSERT_EQ(kept.size(), 4u);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(kept[i].wr_id, i);
  // The other queue is none the worse.
  const std::vector<Completion> rest = other.drain();
  ASSERT_EQ(rest.size(), 8u);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(rest[i].wr_id, 100 + i);
  EXPECT_FALSE(other.lane.overflowed());
  s.context.complete(small.lane, of(9), false);
  EXPECT_EQ(s.host.overflowed.size(), 1u);
  EXPECT_EQ(s.counters[Counter::cq_overflows], 1u);
}

TEST(CompletionTest, TwoQueuesThatOverflowAreReportedEach) {
  Surroundings s;
  Lane<1> a(1), b(2);
  for (std::uint64_t i = 0; i < 3; ++i) {
    s.context.complete(a.lane, of(i), false);
    s.context.complete(b.lane, of(i), false);
  }
  EXPECT_EQ(s.host.overflowed, (std::vector<CompletionLane*>{&a.lane, &b.lane}));
  EXPECT_EQ(s.counters[Counter::cq_overflows], 2u);
}

TEST(CompletionTest, NothingIsVisibleBeforeTheTurnsEnd) {
  Surroundings s;
  Lane<4> a(1), b(2), c(3);
  s.context.publish_completions();  // nothing dirty
  for (int turn = 0; turn < 5; ++turn) {
    s.context.complete(a.lane, of(1), true);
    s.context.complete(b.lane, of(2), false);
    s.context.complete(a.lane, of(3), false);
    if (turn % 2 == 0) s.context.complete(c.lane, of(4), false);
    EXPECT_EQ(a.drain().size() + b.drain().size() + c.drain().size(), 0u);
    s.context.publish_completions();
    EXPECT_EQ(s.context.dirty_lanes, nullptr);
    EXPECT_EQ(a.drain().size(), 2u);
    EXPECT_EQ(b.drain().size(), 1u);
    EXPECT_EQ(c.drain().size(), turn % 2 == 0 ? 1u : 0u);
  }
}

TEST(CompletionTest, ALaneThatOnlyOverflowsIsNotPublishedAgain) {
  Surroundings s;
  Lane<2> a(1);
  for (std::uint64_t i = 0; i < 2; ++i) s.context.complete(a.lane, of(i), false);
  s.context.publish_completions();
  s.context.complete(a.lane, of(2), false);
  EXPECT_EQ(s.context.dirty_lanes, nullptr);
  EXPECT_EQ(a.drain().size(), 2u);
}

}  // namespace
}  // namespace uroce::transport::test
