// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "congestion/flow.h"

namespace uroce::congestion {
namespace {

constexpr std::uint64_t kLine = 40'000'000'000;

TEST(Profile, SetsAndKeys) {
  const auto none = make_profile("none", kLine);
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->algorithm, nullptr);
  const auto p = make_profile("dcqcn:nvidia,rp_ai_rate=7,np_min_time_between_cnps=9", kLine);
  ASSERT_TRUE(p.has_value()) << p.error().message;
  EXPECT_EQ(p->algorithm->name, "dcqcn");
  EXPECT_EQ(p->cnp_gap.ns, 9000);
  for (std::size_t i = 0; i < p->algorithm->parameters.size(); ++i) {
    const std::string_view key = p->algorithm->parameters[i].key;
    if (key == "rp_ai_rate") { EXPECT_EQ(p->values[i], 7u); }
    if (key == "rp_time_reset") { EXPECT_EQ(p->values[i], 300u); }
  }
}

TEST(Profile, ErrorsSayWhatThereIs) {
  const auto message = [](std::string_view text) {
    const auto p = make_profile(text, kLine);
    return p ? std::string("accepted") : p.error().message;
  };
  EXPECT_EQ(message("dqcn"), "congestion control: 'dqcn' is not one of none, dcqcn, fixed_rate");
  EXPECT_EQ(message(""), "congestion control: '' is not one of none, dcqcn, fixed_rate");
  EXPECT_EQ(message("none,rate=1"), "congestion control: 'none' has no parameters");
  EXPECT_EQ(message("fixed_rate:fast"), "congestion control: 'fast' is no parameter set of fixed_rate, which has line");
  EXPECT_EQ(message("fixed_rate,speed=1"),
            "congestion control: 'speed' is no parameter of fixed_rate, which has rate, np_min_time_between_cnps, np_cnp_dscp");
  EXPECT_EQ(message("fixed_rate,rate=400001"),
            "congestion control: rate '400001' is not in 0 .. 400000 (Mb/s of each flow; 0: the line's)");
  for (const char* bad : {"fixed_rate,rate=", "fixed_rate,rate=-1", "fixed_rate,rate=1x", "fixed_rate,rate", "fixed_rate,rate=99999999999"}) {
    EXPECT_NE(message(bad), "accepted") << bad;
  }
  EXPECT_FALSE(make_profile("dcqcn", 0).has_value());
  EXPECT_FALSE(make_profile("dcqcn", 400'000'000'001).has_value());
}

// What holds for every algorithm there is.
TEST(EveryAlgorithm, IsWellFormed) {
  std::set<std::string_view> seen;
  for (const Algorithm* a : algorithms()) {
    EXPECT_TRUE(seen.insert(a->name).second) << a->name;
    EXPECT_FALSE(a->doc.empty());
    ASSERT_FALSE(a->sets.empty()) << a->name;
    for (const ParameterSet& s : a->sets) {
      EXPECT_FALSE(s.source.empty()) << s.name;
      for (std::size_t i = 0; i < a->parameters.size(); ++i) {
        EXPECT_LE(a->parameters[i].least, s.values[i]) << s.name << ' ' << a->parameters[i].key;
        EXPECT_GE(a->parameters[i].most, s.values[i]) << s.name << ' ' << a->parameters[i].key;
      }
    }
  }
}

// A flood of CNPs leaves every flow a rate above zero and at most the line's, and it finds back when they end.
TEST(EveryAlgorithm, SurvivesAFloodOfCnps) {
  for (const Algorithm* a : algorithms()) {
    for (const ParameterSet& s : a->sets) {
      const auto profile = make_profile(std::string(a->name) + ":" + std::string(s.name), kLine);
      ASSERT_TRUE(profile.has_value());
      Flow f;
      f.start(*profile, base::Instant{0});
      std::int64_t now = 0;
      for (int i = 0; i < 200'000; ++i, now += 500) {
        f.on_cnp({now});
        const std::uint64_t rate = f.rate_bps({now});
        ASSERT_GE(rate, kMinRate_bps) << a->name << ' ' << s.name;
        ASSERT_LE(rate, kLine);
      }
      for (int i = 0; i < 20'000; ++i, now += 1'000'000) ASSERT_LE(f.rate_bps({now}), kLine);
      EXPECT_GT(f.rate_bps({now}), kLine / 100 * 99) << a->name << ' ' << s.name;
    }
  }
}

// A call after a day of silence is answered like any other.
TEST(EveryAlgorithm, SurvivesALongSilence) {
  for (const Algorithm* a : algorithms()) {
    for (const ParameterSet& s : a->sets) {
      const auto profile = make_profile(std::string(a->name) + ":" + std::string(s.name), kLine);
      Flow f;
      f.start(*profile, base::Instant{0});
      f.on_cnp({1000});
      EXPECT_EQ(f.rate_bps({86'400'000'000'000}), kLine) << a->name << ' ' << s.name;
      f.on_cnp({86'400'000'000'001});
      EXPECT_LE(f.rate_bps({86'400'000'000'002}), kLine);
    }
  }
}

}  // namespace
}  // namespace uroce::congestion
