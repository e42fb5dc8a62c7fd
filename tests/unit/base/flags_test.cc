// SPDX-License-Identifier: BSD-3-Clause
#include "uroce/flags.h"

#include <gtest/gtest.h>

#include <uroce/types.h>

namespace uroce::test {
namespace {

enum class Bit { zero = 0, one = 1, seven = 7, top = 31 };
using Bits = FlagSet<Bit>;

TEST(FlagSet, ValuesAreBitNumbers) {
  EXPECT_EQ(Bits{}.bits(), 0u);
  EXPECT_EQ(Bits(Bit::zero).bits(), 1u);
  EXPECT_EQ(Bits(Bit::seven).bits(), 0x80u);
  EXPECT_EQ(Bits(Bit::top).bits(), 0x80000000u);
  EXPECT_EQ((Bits{Bit::zero, Bit::one, Bit::top}).bits(), 0x80000003u);
  EXPECT_EQ(Bits::from_bits(0x81), (Bits{Bit::zero, Bit::seven}));
}

TEST(FlagSet, HasAndEmpty) {
  const Bits s{Bit::one, Bit::top};
  EXPECT_TRUE(s.has(Bit::one) && s.has(Bit::top));
  EXPECT_FALSE(s.has(Bit::zero) || s.has(Bit::seven));
  EXPECT_FALSE(s.empty());
  EXPECT_TRUE(Bits{}.empty());
}

TEST(FlagSet, ContainsIsSubset) {
  for (std::uint32_t a = 0; a < 16; ++a) {
    for (std::uint32_t b = 0; b < 16; ++b) {
      bool subset = true;
      for (std::uint32_t i = 0; i < 4; ++i) {
        if ((b >> i & 1) != 0 && (a >> i & 1) == 0) subset = false;
      }
      EXPECT_EQ(Bits::from_bits(a).contains(Bits::from_bits(b)), subset) << a << " " << b;
    }
  }
}

TEST(FlagSet, UnionIntersectionDifference) {
  const Bits a{Bit::zero, Bit::one}, b{Bit::one, Bit::seven};
  EXPECT_EQ(a | b, (Bits{Bit::zero, Bit::one, Bit::seven}));
  EXPECT_EQ(a & b, Bits{Bit::one});
  EXPECT_EQ(a - b, Bits{Bit::zero});
  EXPECT_EQ(b - a, Bits{Bit::seven});
  Bits c = a;
  c |= Bit::top;
  EXPECT_EQ(c.bits(), 0x80000003u);
  EXPECT_NE(a, b);
}

// The numbers that verbs programs were compiled with (rdma-core, verbs.h).
TEST(FlagSet, PublicFlagsHaveTheNumbersOfTheVerbs) {
  EXPECT_EQ(AccessFlags(Access::local_write).bits(), 1u);
  EXPECT_EQ(AccessFlags(Access::remote_write).bits(), 2u);
  EXPECT_EQ(AccessFlags(Access::remote_read).bits(), 4u);
  EXPECT_EQ(AccessFlags(Access::remote_atomic).bits(), 8u);
  EXPECT_EQ(AccessFlags(Access::mw_bind).bits(), 16u);
  EXPECT_EQ(AccessFlags(Access::zero_based).bits(), 32u);
  EXPECT_EQ((SendFlags{SendFlag::fence}).bits(), 1u);
  EXPECT_EQ((SendFlags{SendFlag::signaled}).bits(), 2u);
  EXPECT_EQ((SendFlags{SendFlag::solicited}).bits(), 4u);
  EXPECT_EQ((SendFlags{SendFlag::inline_data}).bits(), 8u);
  EXPECT_EQ(QpAttrMask(QpAttrBit::state).bits(), 1u);
  EXPECT_EQ(QpAttrMask(QpAttrBit::access_flags).bits(), 1u << 3);
  EXPECT_EQ(QpAttrMask(QpAttrBit::av).bits(), 1u << 7);
  EXPECT_EQ(QpAttrMask(QpAttrBit::sq_psn).bits(), 1u << 16);
  EXPECT_EQ(QpAttrMask(QpAttrBit::dest_qpn).bits(), 1u << 20);
}

}  // namespace
}  // namespace uroce::test
