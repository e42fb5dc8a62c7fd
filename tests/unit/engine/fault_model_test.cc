// SPDX-License-Identifier: BSD-3-Clause
// Rates are compared with the binomial distribution: five standard deviations, at fixed seeds.
#include "engine/fault_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace uroce::engine::test {
namespace {

constexpr int kFrames = 400'000;
constexpr std::uint32_t kBytes = 100;

struct Tally {
  int drop = 0, duplicate = 0, hold = 0, corrupt = 0, truncate = 0;
};

Tally tally(const FaultRates& rates, std::uint64_t seed) {
  FaultModel model(rates, seed);
  Tally t;
  for (int i = 0; i < kFrames; ++i) {
    const FaultVerdict v = model.judge(kBytes);
    t.drop += v.drop ? 1 : 0;
    t.duplicate += v.duplicate ? 1 : 0;
    t.hold += v.hold_frames != 0 ? 1 : 0;
    t.corrupt += v.corrupt ? 1 : 0;
    t.truncate += v.truncate ? 1 : 0;
  }
  return t;
}

void expect_rate(int hits, double p) {
  EXPECT_NEAR(hits, kFrames * p, 5 * std::sqrt(kFrames * p * (1 - p)) + 1e-9);
}

TEST(FaultModelTest, NoRatesNoFaults) {
  const Tally t = tally({}, 1);
  EXPECT_EQ(t.drop + t.duplicate + t.hold + t.corrupt + t.truncate, 0);
}

TEST(FaultModelTest, EachRateAloneGivesItsFaultAtThatRateAndNoOther) {
  for (std::uint32_t ppm : {1000u, 20'000u, 500'000u, 1'000'000u}) {
    const double p = ppm / 1e6;
    const Tally drop = tally({.drop_ppm = ppm}, 2);
    expect_rate(drop.drop, p);
    EXPECT_EQ(drop.duplicate + drop.hold + drop.corrupt + drop.truncate, 0);
    const Tally duplicate = tally({.duplicate_ppm = ppm}, 3);
    expect_rate(duplicate.duplicate, p);
    EXPECT_EQ(duplicate.drop + duplicate.hold + duplicate.corrupt + duplicate.truncate, 0);
    const Tally reorder = tally({.reorder_ppm = ppm}, 4);
    expect_rate(reorder.hold, p);
    EXPECT_EQ(reorder.drop + reorder.duplicate + reorder.corrupt + reorder.truncate, 0);
    const Tally corrupt = tally({.corrupt_ppm = ppm}, 5);
    expect_rate(corrupt.corrupt, p);
    EXPECT_EQ(corrupt.drop + corrupt.duplicate + corrupt.hold + corrupt.truncate, 0);
    const Tally truncate = tally({.truncate_ppm = ppm}, 6);
    expect_rate(truncate.truncate, p);
    EXPECT_EQ(truncate.drop + truncate.duplicate + truncate.hold + truncate.corrupt, 0);
  }
}

TEST(FaultModelTest, FaultsCombineIndependentlyAmongFramesThatArrive) {
  const FaultRates rates{.drop_ppm = 100'000,
                         .duplicate_ppm = 200'000,
                         .reorder_ppm = 300'000,
                         .corrupt_ppm = 50'000,
                         .truncate_ppm = 150'000};
  FaultModel model(rates, 9);
  int duplicate_and_hold = 0, corrupt_and_truncate = 0, drop = 0;
  for (int i = 0; i < kFrames; ++i) {
    const FaultVerdict v = model.judge(kBytes);
    if (v.drop) {
      ++drop;
      ASSERT_FALSE(v.duplicate || v.corrupt || v.truncate || v.hold_frames != 0) << "a lost frame suffers nothing else";
    }
    duplicate_and_hold += v.duplicate && v.hold_frames != 0 ? 1 : 0;
    corrupt_and_truncate += v.corrupt && v.truncate ? 1 : 0;
  }
  expect_rate(drop, 0.1);
  expect_rate(duplicate_and_hold, 0.9 * 0.2 * 0.3);
  expect_rate(corrupt_and_truncate, 0.9 * 0.05 * 0.15);
}

// Chi-square of counts that should be equal, in standard deviations from its mean.
double unevenness(const std::vector<int>& counts) {
  double total = 0, chi = 0;
  for (int n : counts) total += n;
  const double expected = total / static_cast<double>(counts.size()), freedom = static_cast<double>(counts.size()) - 1;
  for (int n : counts) chi += (n - expected) * (n - expected) / expected;
  return (chi - freedom) / std::sqrt(2 * freedom);
}

TEST(FaultModelTest, EveryBitIsFlippedAlikeAndNoneBeyondTheFrame) {
  for (std::uint32_t bytes : {1u, 60u, 99u}) {
    FaultModel model({.corrupt_ppm = 1'000'000}, bytes);
    std::vector<int> hit(bytes * 8);
    for (int i = 0; i < kFrames; ++i) {
      const FaultVerdict v = model.judge(bytes);
      ASSERT_LT(v.corrupt_bit, bytes * 8);
      ++hit[v.corrupt_bit];
    }
    EXPECT_LT(unevenness(hit), 5) << bytes;
  }
}

TEST(FaultModelTest, EveryShorterLengthIsCutToAlike) {
  FaultModel model({.truncate_ppm = 1'000'000}, 8);
  std::vector<int> hit(kBytes);
  for (int i = 0; i < kFrames; ++i) {
    const FaultVerdict v = model.judge(kBytes);
    ASSERT_TRUE(v.truncate);
    ASSERT_LT(v.truncate_to, kBytes);
    ++hit[v.truncate_to];
  }
  EXPECT_LT(unevenness(hit), 5);
}

TEST(FaultModelTest, HoldsBackByOneToTheDepth) {
  for (std::uint32_t depth : {1u, 2u, 8u}) {
    FaultModel model({.reorder_ppm = 1'000'000, .reorder_depth = depth}, depth);
    std::vector<int> hit(depth);
    for (int i = 0; i < kFrames; ++i) {
      const FaultVerdict v = model.judge(kBytes);
      ASSERT_GE(v.hold_frames, 1u);
      ASSERT_LE(v.hold_frames, depth);
      ++hit[v.hold_frames - 1];
    }
    if (depth > 1) {
      EXPECT_LT(unevenness(hit), 5) << depth;
    }
  }
}

// Lengths of the runs of losses.
std::vector<int> runs(const FaultRates& rates, std::uint64_t seed, int frames) {
  FaultModel model(rates, seed);
  std::vector<int> out;
  int run = 0;
  for (int i = 0; i < frames; ++i) {
    if (model.judge(kBytes).drop) {
      ++run;
    } else if (run != 0) {
      out.push_back(run);
      run = 0;
    }
  }
  return out;
}

TEST(FaultModelTest, BurstsHaveTheLengthAskedForAndStartAtTheirRate) {
  for (std::uint32_t length : {1u, 2u, 3u, 10u, 1000u}) {
    const int frames = 2'000'000;
    const double p = 0.0005;
    const std::vector<int> seen = runs({.burst_ppm = 500, .burst_length = length}, length, frames);
    int bursts = 0;
    for (int run : seen) {
      ASSERT_EQ(run % static_cast<int>(length), 0) << "of " << length;  // two bursts may touch
      bursts += run / static_cast<int>(length);
    }
    // Frames outside a burst start one with p, and each start takes `length` frames off the rest.
    const double expected = frames * p / (1 + p * (length - 1));
    EXPECT_NEAR(bursts, expected, 5 * std::sqrt(expected) + 1) << length;
  }
}

bool same(const FaultVerdict& a, const FaultVerdict& b) {
  return a.drop == b.drop && a.duplicate == b.duplicate && a.hold_frames == b.hold_frames && a.corrupt == b.corrupt &&
         a.corrupt_bit == b.corrupt_bit && a.truncate == b.truncate && a.truncate_to == b.truncate_to;
}

constexpr FaultRates kEverything{.drop_ppm = 50'000,
                                 .burst_ppm = 1000,
                                 .burst_length = 4,
                                 .duplicate_ppm = 60'000,
                                 .reorder_ppm = 70'000,
                                 .reorder_depth = 5,
                                 .corrupt_ppm = 80'000,
                                 .truncate_ppm = 90'000};

TEST(FaultModelTest, OneSeedOneFate) {
  FaultModel a(kEverything, 5), b(kEverything, 5), other(kEverything, 6);
  int different = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto bytes = static_cast<std::uint32_t>(60 + i % 1000);
    const FaultVerdict v = a.judge(bytes);
    ASSERT_TRUE(same(v, b.judge(bytes))) << i;
    different += same(v, other.judge(bytes)) ? 0 : 1;
  }
  EXPECT_GT(different, 1000);
}

TEST(FaultModelTest, RatesMayChangeOnTheWay) {
  FaultModel model({.drop_ppm = 1'000'000}, 5);
  EXPECT_TRUE(model.judge(kBytes).drop);
  model.set_rates({.duplicate_ppm = 1'000'000});
  EXPECT_FALSE(model.judge(kBytes).drop);
  EXPECT_TRUE(model.judge(kBytes).duplicate);
  model.set_rates({});
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(same(model.judge(kBytes), {}));
}

// A network that is healed loses nothing more, not even the rest of a burst.
TEST(FaultModelTest, HealingEndsABurst) {
  FaultModel model({.burst_ppm = 1'000'000, .burst_length = 1000}, 5);
  EXPECT_TRUE(model.judge(kBytes).drop);
  model.set_rates({});
  EXPECT_FALSE(model.judge(kBytes).drop);
}

TEST(FaultModelTest, AFrameOfNothing) {
  FaultModel model({.corrupt_ppm = 1'000'000, .truncate_ppm = 1'000'000}, 5);
  for (int i = 0; i < 100; ++i) {
    const FaultVerdict v = model.judge(0);
    EXPECT_EQ(v.corrupt_bit, 0u);
    EXPECT_EQ(v.truncate_to, 0u);
  }
}

}  // namespace
}  // namespace uroce::engine::test
