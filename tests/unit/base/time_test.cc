// SPDX-License-Identifier: BSD-3-Clause
#include "base/time.h"

#include <gtest/gtest.h>

namespace uroce::base::test {
namespace {

TEST(Time, UnitsAreNanoseconds) {
  EXPECT_EQ(Duration::nanos(7).ns, 7);
  EXPECT_EQ(Duration::micros(7).ns, 7000);
  EXPECT_EQ(Duration::millis(-7).ns, -7'000'000);
  EXPECT_EQ(Duration::seconds(8796).ns, 8'796'000'000'000);
}

TEST(Time, ArithmeticAndOrder) {
  const Instant a{1'000}, b = a + Duration::micros(2);
  EXPECT_EQ(b.ns, 3'000);
  EXPECT_EQ((b - a).ns, 2'000);
  EXPECT_EQ((a - b).ns, -2'000);
  EXPECT_EQ((a - Duration::micros(2)).ns, -1'000);
  EXPECT_EQ((Duration::micros(3) * 4).ns, 12'000);
  EXPECT_EQ((Duration::micros(3) - Duration::nanos(1)).ns, 2'999);
  EXPECT_LT(a, b);
  EXPECT_LT(Instant{INT64_MAX - 1}, kNever);
  EXPECT_LT(Duration::nanos(-1), Duration{});
}

}  // namespace
}  // namespace uroce::base::test
