// SPDX-License-Identifier: BSD-3-Clause
// DCQCN end to end on a simulated star; uroce_dcqcn has the whole table beside published runs.
#include <gtest/gtest.h>

#include "star_run.h"

namespace uroce::bench {
namespace {

StarConfig two_at_40() {
  StarConfig c;
  c.length = base::Duration::millis(12);
  c.watch_from = base::Duration::millis(4);
  c.watch_to = base::Duration::millis(10);
  return c;
}

// Published: 0.978 of one flow alone, Jain .9996, mean queue 48 KB; here over half of the time.
TEST(Star, TwoFlowsShareABottleneck) {
  StarConfig c = two_at_40();
  c.length = base::Duration::millis(56);
  c.watch_from = base::Duration::millis(20);
  c.watch_to = base::Duration::millis(50);
  c.congestion = "dcqcn:ns3-paper";
  const StarResult two = run_star(c);
  c.senders = 1;
  const StarResult one = run_star(c);
  ASSERT_EQ(two.failure, "");
  ASSERT_EQ(one.failure, "");
  EXPECT_NEAR(two.goodput_gbps / one.goodput_gbps, 0.978, 0.03);
  EXPECT_GT(two.jain, 0.99);
  EXPECT_NEAR(two.queue_mean_kb, 48, 12);
  EXPECT_GT(two.marked, 0u);
  EXPECT_EQ(one.marked, 0u);
  EXPECT_EQ(two.retransmitted, 0u);
}

// Without control the queue takes what the windows let out: megabytes.
TEST(Star, ItIsTheControlThatKeepsTheQueueShort) {
  StarConfig c = two_at_40();
  c.congestion = "none";
  EXPECT_GT(run_star(c).queue_mean_kb, 2000);
  c.congestion = "dcqcn:paper";
  EXPECT_LT(run_star(c).queue_mean_kb, 100);
}

TEST(Star, SameSeedSameResult) {
  const StarConfig c = two_at_40();
  const StarResult a = run_star(c), b = run_star(c);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.marked, b.marked);
  EXPECT_EQ(a.goodput_gbps, b.goodput_gbps);
}

}  // namespace
}  // namespace uroce::bench
