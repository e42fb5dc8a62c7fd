// SPDX-License-Identifier: BSD-3-Clause
#include "congestion/pacer.h"

#include <gtest/gtest.h>

#include "congestion/flow.h"

namespace uroce::congestion {
namespace {

using base::Duration;
using base::Instant;

// What a backlogged flow sends in `span`, woken at each of its times, `late` after it.
std::uint64_t bytes_sent(std::uint64_t rate_bps, std::uint32_t frame, Duration span, Duration late) {
  Pacer p;
  const Instant start{1'000'000'000};
  std::uint64_t bytes = 0;
  for (Instant now = start; now < start + span; now = p.next() + late) {
    while (p.may_send(now)) {
      p.sent(frame, rate_bps, now);
      bytes += frame;
    }
    p.wait();
  }
  return bytes;
}

// Within 1 % over the longer of 10 ms and 1 000 frames, from 1 Mb/s to 400 Gb/s.
TEST(Pacer, KeepsItsRate) {
  for (const std::uint64_t rate : {1'000'000ull, 33'000'000ull, 1'000'000'000ull, 25'000'000'000ull, 99'999'999'999ull, 400'000'000'000ull}) {
    for (const std::uint32_t frame : {84u, 1098u, 4194u}) {
      const auto thousand = static_cast<std::int64_t>(1000ull * frame * 8'000'000'000ull / rate);
      const Duration span = std::max(Duration::millis(10), Duration::nanos(thousand));
      for (const Duration late : {Duration::nanos(0), Duration::nanos(15), Duration::micros(1), Duration::micros(10)}) {
        const double wanted = static_cast<double>(rate) * static_cast<double>(span.ns) / 8e9;
        const double got = static_cast<double>(bytes_sent(rate, frame, span, late));
        EXPECT_NEAR(got / wanted, 1.0, 0.01) << rate << " b/s, frames of " << frame << ", late by " << late.ns;
      }
    }
  }
}

TEST(Pacer, AFlowThatHadNothingToSendDoesNotCatchUp) {
  Pacer p;
  p.sent(1250, 1'000'000'000, Instant{0});  // 10 us
  p.rest();
  const Instant later{1'000'000};
  ASSERT_TRUE(p.may_send(later));
  p.sent(1250, 1'000'000'000, later);
  EXPECT_EQ(p.next().ns, 1'010'000);
}

TEST(Pacer, CatchesUpABoundedTime) {
  Pacer p;
  p.sent(1250, 1'000'000'000, Instant{0});
  p.wait();
  const Instant late{1'000'000};
  int burst = 0;
  for (; p.may_send(late); ++burst) p.sent(1250, 1'000'000'000, late);
  EXPECT_EQ(burst, 2);  // 16 us of a millisecond
}

TEST(Flow, AtTheLinesRateItIsNotPaced) {
  const auto profile = make_profile("dcqcn", 100'000'000'000);
  Flow f;
  f.start(*profile, Instant{0});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(f.may_send(Instant{0}));
    f.sent(4170, Instant{0});
  }
  f.on_cnp(Instant{0});
  EXPECT_FALSE(f.may_send(Instant{0}));
}

TEST(NotificationPoint, OneCnpAFlowAGap) {
  const auto profile = make_profile("dcqcn:paper", 100'000'000'000);
  Flow f;
  f.start(*profile, Instant{0});
  EXPECT_TRUE(f.on_marked(Instant{0}));
  EXPECT_FALSE(f.on_marked(Instant{0})) << "owed already";
  f.cnp_sent();
  EXPECT_FALSE(f.on_marked(Instant{49'999}));
  EXPECT_TRUE(f.on_marked(Instant{50'000}));
}

}  // namespace
}  // namespace uroce::congestion
