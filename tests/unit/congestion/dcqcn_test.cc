// SPDX-License-Identifier: BSD-3-Clause
// DCQCN's reaction point against the paper's equations, worked in floating point.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "congestion/flow.h"

namespace uroce::congestion {
namespace {

constexpr double kLine = 40e9;
constexpr std::uint64_t kLineBps = 40'000'000'000;

class Dcqcn : public ::testing::Test {
 protected:
  void begin(const std::string& text) {
    const auto p = make_profile("dcqcn:" + text, kLineBps);
    ASSERT_TRUE(p.has_value()) << p.error().message;
    profile_ = *p;
    flow_.start(profile_, {0});
  }
  double rate(std::int64_t us) { return static_cast<double>(flow_.rate_bps({us * 1000})); }
  void cnp(std::int64_t us) { flow_.on_cnp({us * 1000}); }
  Profile profile_;
  Flow flow_;
};

TEST_F(Dcqcn, StartsAtTheLinesRateAndHalvesOnTheFirstCnp) {
  begin("paper");
  EXPECT_EQ(rate(1000), kLine);
  cnp(1000);
  EXPECT_EQ(rate(1000), kLine / 2);
}

TEST_F(Dcqcn, AlphaDecaysWithoutCnps) {
  begin("paper,rp_time_reset=1000000,rp_byte_reset=0");
  cnp(0);
  // Ten quiet periods of 55 us, then a cut by half of alpha.
  double alpha = 1;
  for (int i = 0; i < 10; ++i) alpha *= 1 - 1.0 / 256;
  cnp(10 * 55);
  EXPECT_NEAR(rate(10 * 55), kLine / 2 * (1 - alpha / 2), kLine * 1e-6);
  // At once again: alpha has gone up by the CNP.
  alpha += (1 - alpha) / 256;
  const double before = rate(10 * 55);
  cnp(10 * 55);
  EXPECT_NEAR(rate(10 * 55), before * (1 - alpha / 2), kLine * 1e-6);
}

TEST_F(Dcqcn, RecoversFastThenAddsThenByBoth) {
  begin("paper,rp_byte_reset=0");  // by time alone: 55 us a stage
  cnp(0);
  double current = kLine / 2, target = kLine;
  for (int stage = 1; stage < 5; ++stage) {
    current = (current + target) / 2;
    EXPECT_NEAR(rate(55 * stage), current, 2000) << stage;
  }
  // A cut sets the target to the current rate, so that additive increase shows.
  cnp(55 * 5 - 1);
  const double cut = rate(55 * 5 - 1);
  const std::int64_t start = 55 * 5 - 1;
  target = current;
  current = cut;
  for (int stage = 1; stage <= 8; ++stage) {
    if (stage > 5) target += 400e6 * (stage - 5);
    if (stage == 5) target += 40e6;
    target = std::min(target, kLine);
    current = (current + target) / 2;
    EXPECT_NEAR(rate(start + 55 * stage), std::min(current, kLine), 3000) << stage;
  }
}

TEST_F(Dcqcn, BytesCountAStageOfTheirOwn) {
  begin("paper,rp_byte_reset=1000000,rp_time_reset=1000000");
  cnp(0);
  const auto send = [&](std::uint32_t bytes) { flow_.sent(bytes - kFramingBytes, {0}); };
  double current = kLine / 2, target = kLine;
  for (int stage = 1; stage < 5; ++stage) {
    send(999'999);
    EXPECT_NEAR(rate(0), current, 2000) << "not yet";
    send(1);
    current = (current + target) / 2;
    EXPECT_NEAR(rate(0), current, 2000) << stage;
  }
  cnp(0);  // the count starts anew
  target = current;
  current = rate(0);
  for (int stage = 1; stage <= 7; ++stage) {
    send(1'000'000);
    if (stage >= 5) target += 40e6;  // the time stage is behind: additive, never hyper
    current = (current + target) / 2;
    EXPECT_NEAR(rate(0), current, 4000) << stage;
  }
}

TEST_F(Dcqcn, NoCutGoesBelowTheMinimum) {
  begin("paper,rp_min_rate=123");
  for (int i = 0; i < 1000; ++i) cnp(0);
  EXPECT_EQ(rate(0), 123e6);
}

// NVIDIA's: the target stays when no time stage has counted since the last cut, and a CNP within the period waits for its end.
TEST_F(Dcqcn, CutsAtMostOnceAMonitorPeriod) {
  begin("nvidia,rp_dce_tcp_rtt=1000000,rp_initial_alpha_value=1024,rp_byte_reset=0");
  cnp(0);
  EXPECT_EQ(rate(0), kLine / 2);
  cnp(1);
  cnp(2);
  EXPECT_EQ(rate(3), kLine / 2);
  EXPECT_LT(rate(4), kLine / 2);
  EXPECT_GE(rate(4), kLine / 4);
  const double low = rate(4);
  EXPECT_EQ(rate(303), low);
  // Fast recovery is one stage long at most here (threshold 1), so the first event adds; the target is still the line's.
  EXPECT_NEAR(rate(304), (low + kLine) / 2, 2000);
}

// HPCC's ns-3 model: the first cut a period after the first CNP; threshold 1: halfway, then + ai, then + hai.
TEST_F(Dcqcn, TheNs3ModelsStages) {
  begin("ns3-hpcc,rp_dce_tcp_rtt=1000000,rp_ai_rate=20,rp_hai_rate=200,rp_clamp_tgt_rate=1");
  cnp(0);
  EXPECT_EQ(rate(3), kLine);
  EXPECT_EQ(rate(4), kLine / 2);
  // A second cut, on the beat of 4 us, so that the target is below the line.
  cnp(9);
  EXPECT_EQ(rate(11), kLine / 2);
  EXPECT_EQ(rate(12), kLine / 4);
  double current = kLine / 4, target = kLine / 2;
  for (int stage = 0; stage < 5; ++stage) {
    target += stage == 0 ? 0 : stage == 1 ? 20e6 : 200e6;
    current = (current + target) / 2;
    EXPECT_NEAR(rate(12 + 300 * (stage + 1)), current, 4000) << stage;
  }
}

}  // namespace
}  // namespace uroce::congestion
