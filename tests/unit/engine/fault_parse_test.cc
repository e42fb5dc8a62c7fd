// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "engine/fault_model.h"

namespace uroce::engine::test {
namespace {

FaultRates parsed(std::string_view text, std::uint64_t* seed = nullptr) {
  std::uint64_t ignored = 0;
  const auto r = FaultRates::parse(text, seed != nullptr ? *seed : ignored);
  if (r) return *r;
  ADD_FAILURE() << r.error().message;
  return {};
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) out.append(part);
  return out;
}

TEST(FaultParse, NothingMeansNoFaults) {
  const FaultRates r = parsed("");
  EXPECT_FALSE(r.any());
  EXPECT_EQ(r.drop_ppm + r.burst_ppm + r.duplicate_ppm + r.reorder_ppm + r.corrupt_ppm + r.truncate_ppm, 0u);
}

TEST(FaultParse, EachNameSetsItsOwnField) {
  std::uint64_t seed = 0;
  const FaultRates r = parsed(
      "drop=0.01,dup=0.02,reorder=0.05,corrupt=0.001,truncate=0.003,burst=0.004,burst_length=7,reorder_depth=8,seed=12",
      &seed);
  EXPECT_EQ(r.drop_ppm, 10'000u);
  EXPECT_EQ(r.duplicate_ppm, 20'000u);
  EXPECT_EQ(r.reorder_ppm, 50'000u);
  EXPECT_EQ(r.corrupt_ppm, 1'000u);
  EXPECT_EQ(r.truncate_ppm, 3'000u);
  EXPECT_EQ(r.burst_ppm, 4'000u);
  EXPECT_EQ(r.burst_length, 7u);
  EXPECT_EQ(r.reorder_depth, 8u);
  EXPECT_EQ(seed, 12u);
}

TEST(FaultParse, EachRateAloneIsAFault) {
  for (const char* name : {"drop", "dup", "reorder", "corrupt", "truncate", "burst"}) {
    EXPECT_TRUE(parsed(joined({name, "=0.5"})).any()) << name;
    EXPECT_FALSE(parsed(joined({name, "=0"})).any()) << name;
  }
  EXPECT_FALSE(parsed("burst_length=9,reorder_depth=9,seed=9").any());
}

TEST(FaultParse, ProbabilitiesBecomePartsPerMillion) {
  EXPECT_EQ(parsed("drop=0").drop_ppm, 0u);
  EXPECT_EQ(parsed("drop=1").drop_ppm, 1'000'000u);
  EXPECT_EQ(parsed("drop=1.0").drop_ppm, 1'000'000u);
  EXPECT_EQ(parsed("drop=0.000001").drop_ppm, 1u);
  EXPECT_EQ(parsed("drop=1e-6").drop_ppm, 1u);
  EXPECT_EQ(parsed("drop=0.3").drop_ppm, 300'000u);
  // No binary fractions: rounded, not cut.
  EXPECT_EQ(parsed("drop=0.000249").drop_ppm, 249u);
  EXPECT_EQ(parsed("drop=0.001001").drop_ppm, 1001u);
  EXPECT_EQ(parsed("drop=0.000007").drop_ppm, 7u);
  EXPECT_EQ(parsed("drop=.5").drop_ppm, 500'000u);
}

TEST(FaultParse, SeedIsUntouchedUnlessNamed) {
  std::uint64_t seed = 77;
  parsed("drop=0.1", &seed);
  EXPECT_EQ(seed, 77u);
  parsed("seed=18446744073709551615", &seed);
  EXPECT_EQ(seed, UINT64_MAX);
}

TEST(FaultParse, CountsReachTheirEdges) {
  EXPECT_EQ(parsed("burst_length=1").burst_length, 1u);
  EXPECT_EQ(parsed("burst_length=1000").burst_length, 1000u);
  EXPECT_EQ(parsed("reorder_depth=1").reorder_depth, 1u);
  EXPECT_EQ(parsed("reorder_depth=1000").reorder_depth, 1000u);
}

TEST(FaultParse, ErrorsNameThePartAndWhatIsAllowed) {
  static constexpr std::string_view kBad[] = {"drop",
                                              "drop=",
                                              "drop=1.1",
                                              "drop=-0.1",
                                              "drop=-0.0000001",
                                              "drop=x",
                                              "drop=0.1x",
                                              "drop=nan",
                                              "drop=inf",
                                              "drop= 0.1",
                                              "drop=2e0",
                                              "Drop=0.1",
                                              "drops=0.1",
                                              "=0.1",
                                              "burst_length=0",
                                              "burst_length=1001",
                                              "burst_length=1.5",
                                              "burst_length=-1",
                                              "burst_length=4294967297",
                                              "reorder_depth=0",
                                              "reorder_depth=1001",
                                              "reorder_depth=",
                                              "seed=",
                                              "seed=-1",
                                              "seed=x",
                                              "seed=1.5",
                                              "seed=18446744073709551616",
                                              "loss=0.1",
                                              " drop=0.1"};
  for (const std::string_view part : kBad) {
    for (const std::string& text : {joined({part}), joined({"dup=0.1,", part}), joined({part, ",dup=0.1"})}) {
      std::uint64_t seed = 0;
      const auto r = FaultRates::parse(text, seed);
      ASSERT_FALSE(r) << text;
      EXPECT_EQ(r.error().code, ErrorCode::invalid_argument);
      EXPECT_NE(r.error().message.find(joined({"'", part, "'"})), std::string::npos) << r.error().message;
      for (const char* known : {"fault", "drop", "dup", "reorder", "corrupt", "truncate", "burst", "burst_length",
                                "reorder_depth", "seed", "0 .. 1", "1 .. 1000"}) {
        EXPECT_NE(r.error().message.find(known), std::string::npos) << known << " is not in: " << r.error().message;
      }
    }
  }
}

TEST(FaultParse, EmptyPartsAreErrors) {
  std::uint64_t seed = 0;
  for (const char* text : {",", ",drop=0.1", "drop=0.1,,dup=0.1"}) EXPECT_FALSE(FaultRates::parse(text, seed)) << text;
}

}  // namespace
}  // namespace uroce::engine::test
