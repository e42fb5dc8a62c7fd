// SPDX-License-Identifier: BSD-3-Clause
// A stream under random loss delivers what go-back-N can: within 10 % of (1 - p) / (1 + p W). Virtual time and fixed
// seeds, so a result never varies.
#include <gtest/gtest.h>

#include "goodput_run.h"

namespace uroce::bench {
namespace {

constexpr std::uint32_t kWindow = 64;
constexpr std::uint64_t kPackets = 400'000, kSeed = 1;
constexpr unsigned kSeeds = 4;

TEST(Goodput, the_link_is_what_the_bound_assumes) {
  const Rig s = Rig::make(kWindow, 1);
  EXPECT_LE(s.round_trip, s.slot * kWindow);
  EXPECT_GE(s.round_trip, s.slot * kWindow - base::Duration::nanos(1));  // the delay is a whole number of ns
  EXPECT_GT(s.timeout, s.round_trip);
  EXPECT_LE(s.timeout, s.round_trip * 2);
}

TEST(Goodput, without_loss_the_window_sustains_line_rate) {
  const Rig s = Rig::make(kWindow, 1);
  const Estimate e = estimate(s, 0, s.timeout_code, kPackets / 4, kSeed, 2);
  ASSERT_EQ(e.total.failure, "");
  EXPECT_GT(e.line_share, 0.999 * full_line_share());
  EXPECT_LE(e.line_share, full_line_share());
  EXPECT_EQ(e.total.retransmitted, 0u);
}

// One packet less and the line has idle slots: the window is no larger than the round trip.
TEST(Goodput, without_loss_a_smaller_window_does_not) {
  Rig s = Rig::make(kWindow, 1);
  s.window = kWindow - 1;
  const Estimate e = estimate(s, 0, s.timeout_code, kPackets / 4, kSeed, 2);
  ASSERT_EQ(e.total.failure, "");
  EXPECT_NEAR(e.line_share / full_line_share(), (kWindow - 1.0) / kWindow, 0.001);
}

class UnderLoss : public testing::TestWithParam<std::uint32_t> {};

TEST_P(UnderLoss, goodput_is_within_a_tenth_of_the_bound) {
  const std::uint32_t ppm = GetParam();
  const double p = ppm / 1e6;
  const Rig s = Rig::make(kWindow, 1);
  const Estimate lossless = estimate(s, 0, s.timeout_code, kPackets / 8, kSeed, 2);
  const Estimate e = estimate(s, ppm, s.timeout_code, kPackets, kSeed, kSeeds);
  ASSERT_EQ(e.total.failure, "");
  EXPECT_NEAR(static_cast<double>(e.total.lost) / static_cast<double>(e.total.sent), p, 0.15 * p);
  EXPECT_LT(e.standard_error, 0.02);
  EXPECT_NEAR(e.line_share / lossless.line_share / bound(p, kWindow), 1, 0.1)
      << e.total.naks << " NAKs, " << e.total.timeouts << " timeouts";
}

INSTANTIATE_TEST_SUITE_P(Ppm, UnderLoss, testing::Values(1'000, 10'000, 50'000));

}  // namespace
}  // namespace uroce::bench
