// SPDX-License-Identifier: BSD-3-Clause
// The fluid model's fixed points and its stability under delay, against independent solutions of the same equations: the
// root of the fixed-point equation by bisection, and a delay-differential solver's ranges. What the equations say is what
// the packet simulator is to be compared with.
#include "fluid_model.h"

#include <gtest/gtest.h>

#include <array>

namespace uroce::sim {
namespace {

struct FixedPoint {
  int flows;
  double queue_kb;
};
constexpr std::array kAt40Gbps{FixedPoint{2, 20.2}, FixedPoint{4, 41.8},   FixedPoint{8, 93.8},   FixedPoint{10, 122.6},
                               FixedPoint{16, 217.0}, FixedPoint{32, 504.6}, FixedPoint{64, 1156.5}};
constexpr std::array kAt100Gbps{FixedPoint{2, 9.7},   FixedPoint{4, 16.4},   FixedPoint{8, 32.7},
                                FixedPoint{16, 71.9}, FixedPoint{32, 165.4}, FixedPoint{64, 384.8}};

TEST(Fluid, SettlesAtItsFixedPointsWhenFeedbackIsQuick) {
  for (const auto& f : kAt40Gbps) {
    const FluidResult r = integrate({.flows = f.flows});
    EXPECT_NEAR(r.mean, f.queue_kb, 0.1) << f.flows;
    EXPECT_LT(r.sd, 0.01 * r.mean) << f.flows;
  }
  for (const auto& f : kAt100Gbps) {
    const FluidResult r = integrate({.flows = f.flows, .line = 100e9 / 8e3});
    EXPECT_NEAR(r.mean, f.queue_kb, 0.1) << f.flows;
  }
}

// Not monotonic in the number of flows: at 85 us 4 to 16 oscillate, fewer and many more do not.
TEST(Fluid, OscillatesUnderDelay) {
  const FluidResult two = integrate({.flows = 2, .feedback_delay = 85e-6, .length = 1.5});
  EXPECT_NEAR(two.mean, 20.2, 0.2);
  EXPECT_LT(two.sd, 0.1 * two.mean);
  constexpr std::array kMost{FixedPoint{4, 87}, FixedPoint{8, 205}, FixedPoint{10, 271}, FixedPoint{16, 480}};
  for (const auto& f : kMost) {
    const FluidResult r = integrate({.flows = f.flows, .feedback_delay = 85e-6});
    EXPECT_EQ(r.least, 0) << f.flows;
    EXPECT_NEAR(r.most, f.queue_kb, 1) << f.flows;
    EXPECT_GT(r.sd, 0.3 * r.mean) << f.flows;
  }
  for (const int flows : {32, 64}) {
    const FluidResult r = integrate({.flows = flows, .feedback_delay = 85e-6});
    EXPECT_LT(r.sd, 0.01 * r.mean) << flows;
  }
}

}  // namespace
}  // namespace uroce::sim
