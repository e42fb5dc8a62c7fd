// SPDX-License-Identifier: BSD-3-Clause
// Completion lanes, and how a worker fills, publishes and overflows them.
#include <gtest/gtest.h>

#include "rig.h"

namespace uroce::transport::test {
namespace {

void complete(Context& c, CompletionLane* lane, const Completion& what, bool solicited) {
  if (Completion* slot = c.complete(lane, solicited)) *slot = what;
}

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
    complete(s.context, &small.lane, of(i), false);
    complete(s.context, &other.lane, of(100 + i), false);
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
  complete(s.context, &small.lane, of(9), false);
  EXPECT_EQ(s.host.overflowed.size(), 1u);
  EXPECT_EQ(s.counters[Counter::cq_overflows], 1u);
}

TEST(CompletionTest, TwoQueuesThatOverflowAreReportedEach) {
  Surroundings s;
  Lane<1> a(1), b(2);
  for (std::uint64_t i = 0; i < 3; ++i) {
    complete(s.context, &a.lane, of(i), false);
    complete(s.context, &b.lane, of(i), false);
  }
  EXPECT_EQ(s.host.overflowed, (std::vector<CompletionLane*>{&a.lane, &b.lane}));
  EXPECT_EQ(s.counters[Counter::cq_overflows], 2u);
}

TEST(CompletionTest, NothingIsVisibleBeforeTheTurnsEnd) {
  Surroundings s;
  Lane<4> a(1), b(2), c(3);
  s.context.publish_completions();  // nothing dirty
  for (int turn = 0; turn < 5; ++turn) {
    complete(s.context, &a.lane, of(1), true);
    complete(s.context, &b.lane, of(2), false);
    complete(s.context, &a.lane, of(3), false);
    if (turn % 2 == 0) complete(s.context, &c.lane, of(4), false);
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
  for (std::uint64_t i = 0; i < 2; ++i) complete(s.context, &a.lane, of(i), false);
  s.context.publish_completions();
  complete(s.context, &a.lane, of(2), false);
  EXPECT_EQ(s.context.dirty_lanes, nullptr);
  EXPECT_EQ(a.drain().size(), 2u);
}

TEST(CompletionLaneTest, PublishSaysOnceWhetherSomethingSolicitedCame) {
  Lane<8> lane(1);
  EXPECT_FALSE(lane.lane.publish());
  ASSERT_TRUE(lane.lane.push(of(1), false));
  EXPECT_FALSE(lane.lane.publish());
  ASSERT_TRUE(lane.lane.push(of(2), true));
  ASSERT_TRUE(lane.lane.push(of(3), false));
  EXPECT_TRUE(lane.lane.publish());
  ASSERT_TRUE(lane.lane.push(of(4), false));
  EXPECT_FALSE(lane.lane.publish());
}

TEST(CompletionLaneTest, WaitingEntriesCanBeMarked) {
  Lane<4> lane(1);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(lane.lane.push(of(i), false));
  lane.lane.publish();
  LaneEntry e;
  ASSERT_TRUE(lane.lane.pop(e));
  ASSERT_TRUE(lane.lane.push(of(3), false));
  lane.lane.publish();
  ASSERT_TRUE(lane.lane.push(of(4), false));  // not published: does not wait yet
  std::vector<std::uint64_t> seen;
  lane.lane.for_each_waiting([&](LaneEntry& waiting) {
    seen.push_back(waiting.completion.wr_id);
    waiting.purged = waiting.completion.wr_id == 2;
  });
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2, 3}));
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(lane.lane.pop(e));
    EXPECT_EQ(e.completion.wr_id, i);
    EXPECT_EQ(e.purged, i == 2);
  }
}

// A queue that two workers feed: its capacity counts over both lanes.
TEST(CompletionLaneTest, LanesShareTheCapacityOfTheirQueue) {
  CqState queue(4);
  Lane<4> a(1, 4, &queue), b(1, 4, &queue);
  for (std::uint64_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(a.lane.push(of(i), false));
    ASSERT_TRUE(b.lane.push(of(i), false));
  }
  a.lane.publish();
  LaneEntry e;
  ASSERT_TRUE(a.lane.pop(e));
  EXPECT_TRUE(b.lane.push(of(2), false));  // what was polled from one lane makes room in the other
  EXPECT_FALSE(a.lane.overflowed() || b.lane.overflowed());
  EXPECT_FALSE(b.lane.push(of(3), false));
  EXPECT_TRUE(a.lane.overflowed() && b.lane.overflowed());
  EXPECT_FALSE(a.lane.push(of(4), false));
  a.lane.publish();
  b.lane.publish();
  EXPECT_EQ(a.drain().size(), 1u);
  EXPECT_EQ(b.drain().size(), 3u);
  EXPECT_FALSE(a.lane.push(of(5), false));
  EXPECT_TRUE(a.lane.claim_report());
  EXPECT_FALSE(b.lane.claim_report());
  EXPECT_FALSE(a.lane.claim_report());
}

TEST(CompletionTest, ADestroyedQueuePairCompletesNothing) {
  Surroundings s;
  complete(s.context, nullptr, of(1), true);
  EXPECT_EQ(s.context.dirty_lanes, nullptr);
  EXPECT_TRUE(s.host.overflowed.empty());
}

TEST(CompletionTest, OnlyQueuesThatNotifyAreToldOfPublications) {
  Surroundings s;
  Lane<4> silent(1), loud(2);
  loud.lane.notifies = true;
  complete(s.context, &silent.lane, of(1), true);
  complete(s.context, &loud.lane, of(1), false);
  s.context.publish_completions();
  s.context.publish_completions();  // nothing new
  complete(s.context, &loud.lane, of(2), true);
  complete(s.context, &loud.lane, of(3), false);
  s.context.publish_completions();
  EXPECT_EQ(s.host.published, (std::vector<std::pair<CompletionLane*, bool>>{{&loud.lane, false}, {&loud.lane, true}}));
}

}  // namespace
}  // namespace uroce::transport::test
