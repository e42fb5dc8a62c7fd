// SPDX-License-Identifier: BSD-3-Clause
#include "transport/psn.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace uroce::transport::test {
namespace {

TEST(PsnTest, Keeps24Bits) {
  EXPECT_EQ(Psn().value(), 0u);
  EXPECT_EQ(Psn(0xffffff).value(), 0xffffffu);
  EXPECT_EQ(Psn(0x1000000).value(), 0u);
  EXPECT_EQ(Psn(0xabcdef12).value(), 0xcdef12u);
  EXPECT_EQ(Psn(0x1000005), Psn(5));
}

TEST(PsnTest, Wraps) {
  EXPECT_EQ((Psn(0xffffff) + 1).value(), 0u);
  EXPECT_EQ((Psn(0xfffffe) + 5).value(), 3u);
  EXPECT_EQ((Psn(0) - 1).value(), 0xffffffu);
  EXPECT_EQ((Psn(3) - 5).value(), 0xfffffeu);
  EXPECT_EQ(Psn(7) + 0x1000000, Psn(7));
  EXPECT_EQ(Psn(7) - 0xffffffff, Psn(8));
}

TEST(PsnTest, DistanceAtTheEdges) {
  constexpr std::int32_t kHalf = 1 << 23;
  for (std::uint32_t from : {0u, 1u, 5u, 0x7fffffu, 0x800000u, 0x800001u, 0xfffffeu, 0xffffffu}) {
    const Psn p(from);
    EXPECT_EQ(distance(p, p), 0);
    EXPECT_EQ(distance(p, p + 1), 1);
    EXPECT_EQ(distance(p, p - 1), -1);
    EXPECT_EQ(distance(p, p + (kHalf - 1)), kHalf - 1);
    EXPECT_EQ(distance(p, p - (kHalf - 1)), -(kHalf - 1));
    EXPECT_EQ(distance(p, p + kHalf), -kHalf);  // as far as it gets: counted as behind
    EXPECT_EQ(distance(p, p - kHalf), -kHalf);
    EXPECT_EQ(distance(p, p + (kHalf + 1)), -(kHalf - 1));
  }
}

TEST(PsnTest, BeforeIsStrictAndHoldsUpToHalfTheSpace) {
  for (std::uint32_t from : {0u, 9u, 0x7fffffu, 0x800000u, 0xffffffu}) {
    const Psn p(from);
    EXPECT_FALSE(before(p, p));
    EXPECT_TRUE(before(p, p + 1));
    EXPECT_FALSE(before(p + 1, p));
    EXPECT_TRUE(before(p, p + 0x7fffff));
    EXPECT_FALSE(before(p + 0x7fffff, p));
    EXPECT_FALSE(before(p, p + 0x800000));
    EXPECT_FALSE(before(p, p - 1));
  }
}

TEST(PsnTest, CountBetweenIsTheWayForward) {
  EXPECT_EQ(count_between(Psn(5), Psn(5)), 0u);
  EXPECT_EQ(count_between(Psn(5), Psn(4)), 0xffffffu);
  EXPECT_EQ(count_between(Psn(0xffffff), Psn(2)), 3u);
  EXPECT_EQ(count_between(Psn(0), Psn(0x800000)), 0x800000u);
}

TEST(PsnTest, RandomStepsAgreeWithArithmeticModulo2To24) {
  base::Rng rng(1);
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t a = rng.below(1 << 24), b = rng.below(1 << 24);
    std::int64_t d = (b - a) % (1 << 24);
    if (d < 0) d += 1 << 24;
    ASSERT_EQ(count_between(Psn(static_cast<std::uint32_t>(a)), Psn(static_cast<std::uint32_t>(b))), d);
    if (d >= 1 << 23) d -= 1 << 24;
    ASSERT_EQ(distance(Psn(static_cast<std::uint32_t>(a)), Psn(static_cast<std::uint32_t>(b))), d);
    ASSERT_EQ(before(Psn(static_cast<std::uint32_t>(a)), Psn(static_cast<std::uint32_t>(b))), d > 0);
  }
}

TEST(PsnTest, OutstandingPsnsStayUnderHalfTheSpace) {
  EXPECT_EQ(kMaxOutstandingPsns, 8388607u);
  EXPECT_TRUE(before(Psn(0xfffff0), Psn(0xfffff0) + kMaxOutstandingPsns));
  EXPECT_FALSE(before(Psn(0xfffff0), Psn(0xfffff0) + kMaxOutstandingPsns + 1));
}

}  // namespace
}  // namespace uroce::transport::test
