// SPDX-License-Identifier: BSD-3-Clause
// A neighbour's life in virtual time, through the table's own interface. Times are RFC 4861 section 10's.
#include "net/neighbours.h"

#include "station.h"

namespace uroce::net::test {
namespace {

class Neighbours : public ::testing::Test {
 protected:
  using Solicit = NeighbourTable::Solicit;

  // Everything asked for now, in order.
  std::vector<Solicit> asked() {
    std::vector<Solicit> all;
    while (auto s = table.next_solicit(now)) all.push_back(*s);
    return all;
  }
  void expect_asks_everybody() {
    const auto all = asked();
    ASSERT_EQ(all.size(), 1u) << now.ns;
    EXPECT_EQ(all[0].neighbour, kPeer4);
    EXPECT_EQ(all[0].mac, std::nullopt);
  }
  void expect_asks(const MacAddress& mac) {
    const auto all = asked();
    ASSERT_EQ(all.size(), 1u) << now.ns;
    EXPECT_EQ(all[0].neighbour, kPeer4);
    EXPECT_EQ(all[0].mac, mac);
  }
  // To this moment by way of every deadline, as an owner does.
  void pass(Duration d) {
    const Instant end = now + d;
    while (table.next_deadline() <= end) {
      now = std::max(now, table.next_deadline());
      table.on_timer(now, 1000);
    }
    now = end;
    table.on_timer(now, 1000);
  }
  void answer(const MacAddress& mac) { table.on_advertised(kPeer4, mac, true, true, now); }
  void make_reachable() {
    table.resolve(kPeer4);
    expect_asks_everybody();
    answer(kPeer);
    ASSERT_EQ(table.poll_change()->mac, kPeer);
  }

  Counters counters;
  NeighbourTable table{16, 1, Instant{0}, counters};
  Instant now{0};
};

TEST_F(Neighbours, ThreeQuestionsASecondApartThenFailed) {
  EXPECT_EQ(table.resolve(kPeer4), std::nullopt);
  for (int i = 0; i < 3; ++i) {
    expect_asks_everybody();
    pass(ms(999));
    EXPECT_TRUE(asked().empty());
    EXPECT_EQ(table.resolution(kPeer4), Resolution::resolving);
    EXPECT_EQ(table.poll_change(), std::nullopt);
    pass(ms(1));
  }
  EXPECT_TRUE(asked().empty());
  EXPECT_EQ(table.resolution(kPeer4), Resolution::failed);
  const auto change = table.poll_change();
  ASSERT_TRUE(change);
  EXPECT_EQ(change->neighbour, kPeer4);
  EXPECT_EQ(change->mac, std::nullopt);
  EXPECT_EQ(counters[Counter::neighbours_failed], 1u);
}

TEST_F(Neighbours, AFailureIsRememberedFiveSecondsThenForgotten) {
  table.resolve(kPeer4);
  for (int i = 0; i < 3; ++i) asked(), pass(seconds(1));
  ASSERT_TRUE(table.poll_change());
  pass(ms(4999));
  EXPECT_EQ(table.resolve(kPeer4), std::nullopt);
  EXPECT_TRUE(asked().empty()) << "not asked again so soon";
  EXPECT_EQ(table.resolution(kPeer4), Resolution::failed);
  pass(ms(1));
  EXPECT_EQ(table.resolution(kPeer4), Resolution::unknown);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.next_deadline(), base::kNever);
  table.resolve(kPeer4);
  expect_asks_everybody();
  answer(kPeer);
  EXPECT_EQ(table.resolve(kPeer4), kPeer);
}

TEST_F(Neighbours, AFailureThatNobodyHeardOfIsNotForgotten) {
  table.resolve(kPeer4);
  for (int i = 0; i < 3; ++i) asked(), pass(seconds(1));
  pass(seconds(60));
  const auto change = table.poll_change();
  ASSERT_TRUE(change);
  EXPECT_EQ(change->mac, std::nullopt);
  pass(seconds(5));
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(Neighbours, AFailedNeighbourThatShowsUpIsKnown) {
  table.resolve(kPeer4);
  for (int i = 0; i < 3; ++i) asked(), pass(seconds(1));
  table.on_advertised(kPeer4, kPeer, false, true, now);
  EXPECT_EQ(table.poll_change()->mac, kPeer);
  EXPECT_EQ(table.resolve(kPeer4), kPeer);
  pass(seconds(5));
  EXPECT_EQ(table.resolve(kPeer4), kPeer);
}

TEST_F(Neighbours, TheAnswerToTheLastQuestionCounts) {
  table.resolve(kPeer4);
  for (int i = 0; i < 2; ++i) asked(), pass(seconds(1));
  expect_asks_everybody();
  pass(ms(999));
  answer(kPeer);
  pass(seconds(20));
  EXPECT_EQ(table.resolve(kPeer4), kPeer);
  EXPECT_EQ(counters[Counter::neighbours_failed], 0u);
  EXPECT_EQ(counters[Counter::neighbours_resolved], 1u);
}

// A port that can't send (link down, ring full) makes nobody unreachable.
TEST_F(Neighbours, AQuestionThatWasNotSentDoesNotCount) {
  table.resolve(kPeer4);
  EXPECT_TRUE(table.owes_solicit());
  pass(seconds(100));
  EXPECT_EQ(table.resolution(kPeer4), Resolution::resolving);
  for (int i = 0; i < 3; ++i) {
    expect_asks_everybody();
    pass(seconds(1));
  }
  EXPECT_EQ(table.resolution(kPeer4), Resolution::failed);
}

// Section 7.3.3: after REACHABLE_TIME in use, PROBE by unicast. Where the RFC then deletes the entry and so begins
// anew by multicast, the MAC stays in use until nobody answered that either.
TEST_F(Neighbours, InUseItIsProbedAfterThirtySeconds) {
  make_reachable();
  pass(seconds(10));
  EXPECT_EQ(table.resolve(kPeer4), kPeer);
  pass(ms(19'999));
  EXPECT_TRUE(asked().empty());
  pass(ms(1));
  for (int i = 0; i < 3; ++i) {
    expect_asks(kPeer);
    EXPECT_EQ(table.resolve(kPeer4), kPeer) << "usable meanwhile";
    pass(seconds(1));
  }
  for (int i = 0; i < 3; ++i) {
    expect_asks_everybody();
    EXPECT_EQ(table.resolve(kPeer4), kPeer);
    EXPECT_EQ(table.resolution(kPeer4), Resolution::resolved);
    EXPECT_EQ(table.poll_change(), std::nullopt);
    pass(seconds(1));
  }
  EXPECT_TRUE(asked().empty());
  EXPECT_EQ(table.resolve(kPeer4), std::nullopt);
  EXPECT_EQ(table.resolution(kPeer4), Resolution::failed);
  EXPECT_EQ(table.poll_change()->mac, std::nullopt);
}

TEST_F(Neighbours, AnAnsweredProbeIsGoodForThirtySeconds) {
  make_reachable();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(table.resolve(kPeer4), kPeer);
    pass(ms(29'999));
    EXPECT_TRUE(asked().empty());
    pass(ms(1));
    expect_asks(kPeer);
    answer(kPeer);
  }
  EXPECT_EQ(table.poll_change(), std::nullopt) << "nothing new";
  EXPECT_EQ(counters[Counter::neighbours_resolved], 1u);
  EXPECT_EQ(counters[Counter::neighbours_changed], 0u);
}

TEST_F(Neighbours, OutOfUseItIsLeftAloneAndProbedWhenWanted) {
  make_reachable();
  pass(seconds(3600));
  EXPECT_TRUE(asked().empty());
  EXPECT_EQ(table.next_deadline(), base::kNever);
  EXPECT_EQ(table.resolve(kPeer4), kPeer);
  expect_asks(kPeer);
  answer(kPeer);
  pass(seconds(3600));
  EXPECT_TRUE(asked().empty());
}

TEST_F(Neighbours, ANeighbourThatMovedSilentlyIsFoundByAskingEverybody) {
  make_reachable();
  ASSERT_TRUE(table.hold(kPeer4));
  pass(seconds(30));
  for (int i = 0; i < 3; ++i) {
    expect_asks(kPeer);
    pass(seconds(1));
  }
  expect_asks_everybody();
  answer(kElsewhere);
  EXPECT_EQ(table.poll_change()->mac, kElsewhere);
  EXPECT_EQ(table.resolve(kPeer4), kElsewhere);
  pass(seconds(30));
  expect_asks(kElsewhere);
}

TEST_F(Neighbours, HeldItIsProbedForAsLongAsItIsHeld) {
  ASSERT_TRUE(table.hold(kPeer4));
  expect_asks_everybody();
  answer(kPeer);
  EXPECT_EQ(table.poll_change()->mac, kPeer);
  for (int i = 0; i < 4; ++i) {
    pass(seconds(30));
    expect_asks(kPeer);
    answer(kPeer);
  }
  table.release(kPeer4);
  pass(seconds(3600));
  EXPECT_TRUE(asked().empty());
}

TEST_F(Neighbours, HoldsAreCounted) {
  ASSERT_TRUE(table.hold(kPeer4));
  ASSERT_TRUE(table.hold(kPeer4));
  asked();
  answer(kPeer);
  table.release(kPeer4);
  pass(seconds(30));
  expect_asks(kPeer);
  answer(kPeer);
  table.release(kPeer4);
  pass(seconds(30));
  EXPECT_TRUE(asked().empty());
  EXPECT_DEATH(table.release(kPeer4), "holds");
  EXPECT_DEATH(table.release(kPeer6), "nullptr");
}

TEST_F(Neighbours, HeldItIsAskedAgainAfterItFailed) {
  ASSERT_TRUE(table.hold(kPeer4));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) {
      expect_asks_everybody();
      pass(seconds(1));
    }
    EXPECT_EQ(table.poll_change()->mac, std::nullopt);
    EXPECT_EQ(table.resolution(kPeer4), Resolution::failed);
    pass(ms(4999));
    EXPECT_TRUE(asked().empty());
    pass(ms(1));
    EXPECT_EQ(table.resolution(kPeer4), Resolution::resolving);
  }
  asked();
  answer(kPeer);
  EXPECT_EQ(table.poll_change()->mac, kPeer);
}

// A held neighbour that announced another MAC is tried out at once: there may be no resolve() to come.
TEST_F(Neighbours, HeldAnAnnouncementIsVerified) {
  make_reachable();
  ASSERT_TRUE(table.hold(kPeer4));
  table.on_advertised(kPeer4, kElsewhere, false, true, now);
  EXPECT_EQ(table.poll_change()->mac, kElsewhere);
  expect_asks(kElsewhere);
  answer(kElsewhere);
  EXPECT_EQ(table.poll_change(), std::nullopt);
}

TEST_F(Neighbours, HoldingALearnedNeighbourVerifiesIt) {
  table.on_solicited_by(kPeer4, kPeer, now);
  EXPECT_TRUE(asked().empty());
  ASSERT_TRUE(table.hold(kPeer4));
  expect_asks(kPeer);
  EXPECT_EQ(table.resolve(kPeer4), kPeer);
}

TEST_F(Neighbours, AnAnswerThatComesBeforeTheQuestionWasSentMakesItNeedless) {
  table.resolve(kPeer4);
  table.on_advertised(kPeer4, kPeer, false, true, now);
  EXPECT_FALSE(table.owes_solicit());
  EXPECT_TRUE(asked().empty());
}

TEST_F(Neighbours, AStaleNeighbourHasNoDeadline) {
  make_reachable();
  EXPECT_LT(table.next_deadline(), base::kNever);
  table.on_advertised(kPeer4, kElsewhere, false, false, now);
  EXPECT_EQ(table.next_deadline(), base::kNever);
}

// That it speaks does not show that it hears us (RFC 4861 section 7.3.1).
TEST_F(Neighbours, AskingForUsConfirmsNothing) {
  table.on_solicited_by(kPeer4, kPeer, now);
  table.on_solicited_by(kPeer4, kPeer, now);
  EXPECT_EQ(table.resolve(kPeer4), kPeer);
  expect_asks(kPeer);
  table.on_solicited_by(kPeer4, kPeer, now);
  pass(seconds(1));
  expect_asks(kPeer);
}

TEST_F(Neighbours, WhoAsksForUsAgainFromElsewhereHasMoved) {
  make_reachable();
  table.on_solicited_by(kPeer4, kPeer, now);
  EXPECT_EQ(table.poll_change(), std::nullopt);
  table.on_solicited_by(kPeer4, kElsewhere, now);
  EXPECT_EQ(table.poll_change()->mac, kElsewhere);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(counters[Counter::neighbours_learned], 0u);
}

TEST_F(Neighbours, OnlyTheLatestNewsIsTold) {
  table.resolve(kPeer4);
  asked();
  answer(kPeer);
  table.on_advertised(kPeer4, kElsewhere, false, true, now);
  EXPECT_EQ(table.poll_change()->mac, kElsewhere);
  EXPECT_EQ(table.poll_change(), std::nullopt);
}

TEST_F(Neighbours, LearnedNeighboursAreNoNewsUntilWanted) {
  table.on_solicited_by(kPeer4, kPeer, now);
  table.on_solicited_by(kPeer4, kElsewhere, now);
  EXPECT_EQ(table.poll_change(), std::nullopt);
  EXPECT_EQ(table.resolve(kPeer4), kElsewhere);
  table.on_solicited_by(kPeer4, kPeer, now);
  EXPECT_EQ(table.poll_change()->mac, kPeer);
}

TEST_F(Neighbours, TimersBeyondTheLimitWaitForTheNextCall) {
  for (std::uint8_t i = 0; i < 10; ++i) table.resolve(IpAddress::v4(10, 0, 0, i));
  EXPECT_EQ(asked().size(), 10u);
  now = now + seconds(1);
  EXPECT_EQ(table.on_timer(now, 4), 4);
  EXPECT_LE(table.next_deadline(), now);
  EXPECT_EQ(asked().size(), 4u);
  EXPECT_EQ(table.on_timer(now, 100), 6);
  EXPECT_EQ(asked().size(), 6u);
}

}  // namespace
}  // namespace uroce::net::test
