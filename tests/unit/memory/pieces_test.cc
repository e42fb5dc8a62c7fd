// SPDX-License-Identifier: BSD-3-Clause
#include "memory/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "region.h"

namespace uroce::memory::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

class PiecesTest : public testing::Test {
 protected:
  PiecesTest() {
    std::iota(first_.begin(), first_.end(), std::uint8_t{0});
    std::iota(second_.begin(), second_.end(), std::uint8_t{128});
    first_key_ = add(table_, first_.data(), first_.size(), 0x10000);
    second_key_ = add(table_, second_.data(), second_.size(), 0x20000);
    read_only_ = add(table_, second_.data(), second_.size(), 0x20000, {});
    other_pd_ = add(table_, second_.data(), second_.size(), 0x20000, kAll, kPd + 1);
  }
  bool resolve(const std::vector<Sge>& sges, std::uint64_t offset, std::uint32_t length,
               AccessFlags needed = Access::local_write) {
    return pieces_.resolve(table_, kPd, sges, offset, length, needed);
  }
  Bytes gathered(std::size_t length) const {
    Bytes out(length + 1, 0xee);
    pieces_.gather(out.data());
    EXPECT_EQ(out.back(), 0xee) << "wrote past the run";
    out.pop_back();
    return out;
  }

  MemoryTable table_{16, 3};
  Bytes first_ = Bytes(128), second_ = Bytes(128);
  std::uint32_t first_key_, second_key_, read_only_, other_pd_;
  Pieces pieces_;
};

TEST_F(PiecesTest, ARunGoesAcrossEntries) {
  const std::vector<Sge> sges{{0x10004, 3, first_key_}, {0x20000, 2, second_key_}, {0x10000, 4, first_key_}};
  ASSERT_TRUE(resolve(sges, 0, 9));
  EXPECT_EQ(gathered(9), (Bytes{4, 5, 6, 128, 129, 0, 1, 2, 3}));
  ASSERT_TRUE(resolve(sges, 2, 4));
  EXPECT_EQ(gathered(4), (Bytes{6, 128, 129, 0}));
  ASSERT_TRUE(resolve(sges, 3, 2));
  EXPECT_EQ(gathered(2), (Bytes{128, 129}));
  ASSERT_TRUE(resolve(sges, 8, 1));
  EXPECT_EQ(gathered(1), (Bytes{3}));
}

TEST_F(PiecesTest, AListTooShortIsRefused) {
  const std::vector<Sge> sges{{0x10000, 3, first_key_}, {0x20000, 2, second_key_}};
  EXPECT_TRUE(resolve(sges, 0, 5));
  EXPECT_FALSE(resolve(sges, 0, 6));
  EXPECT_FALSE(resolve(sges, 4, 2));
  EXPECT_FALSE(resolve(sges, 5, 1));
  EXPECT_FALSE(resolve(sges, 500, 1));
  EXPECT_FALSE(resolve({}, 0, 1));
}

TEST_F(PiecesTest, NothingNeedsNothing) {
  EXPECT_TRUE(resolve({}, 0, 0));
  EXPECT_TRUE(resolve({{0xbad, 5, 0xbad}}, 0, 0));
  EXPECT_EQ(gathered(0), Bytes{});
}

// IBTA 10.6.6.3 as the verbs have it: an entry of length 0 is nothing, whatever its key and address say.
TEST_F(PiecesTest, EmptyEntriesAreSkippedUnseen) {
  const Sge garbage{0xdeadbeefdeadbeef, 0, 0xdeadbeef};
  ASSERT_TRUE(resolve({garbage, {0x10000, 2, first_key_}, garbage, garbage, {0x20000, 2, second_key_}, garbage}, 0, 4));
  EXPECT_EQ(gathered(4), (Bytes{0, 1, 128, 129}));
  ASSERT_TRUE(resolve({garbage, {0x10000, 2, first_key_}, garbage, {0x20000, 2, second_key_}}, 2, 2));
  EXPECT_EQ(gathered(2), (Bytes{128, 129}));
  EXPECT_FALSE(resolve({garbage, garbage}, 0, 1));
}

TEST_F(PiecesTest, AnyBadEntryOfTheRangeRefusesAll) {
  const Sge good{0x10000, 4, first_key_};
  EXPECT_TRUE(resolve({good, {0x20000, 4, read_only_}}, 0, 8, {}));
  EXPECT_FALSE(resolve({good, {0x20000, 4, read_only_}}, 0, 8, Access::local_write));
  EXPECT_FALSE(resolve({good, {0x20000, 4, other_pd_}}, 0, 8));
  EXPECT_FALSE(resolve({good, {0x20000, 4, 0xdead}}, 0, 8));
  EXPECT_FALSE(resolve({{0x20000, 4, 0xdead}, good}, 0, 8));
  EXPECT_FALSE(resolve({good, {0x20000 + 125, 4, second_key_}}, 0, 8));
  EXPECT_FALSE(resolve({good, {0x20000 - 1, 4, second_key_}}, 0, 8));
  EXPECT_TRUE(resolve({good, {0x20000, 4, 0xdead}}, 0, 4));  // not in the range
}

// An entry that runs over 2^64 is no range, also for the part that would come out at address 0.
TEST_F(PiecesTest, AnEntryThatWraps2To64IsRefusedFromEveryOffset) {
  const std::uint32_t zero_based = add(table_, first_.data(), first_.size(), 0);
  const std::vector<Sge> sges{{0xfffffffffffffff0, 0x20, zero_based}};
  EXPECT_FALSE(resolve(sges, 0, 0x20));
  EXPECT_FALSE(resolve(sges, 0, 0x10));
  EXPECT_FALSE(resolve(sges, 0x10, 0x10));
  EXPECT_FALSE(resolve(sges, 0x18, 1));
}

TEST_F(PiecesTest, LongListsAndLengths) {
  std::vector<Sge> sges;
  Bytes expected;
  for (std::uint32_t i = 0; i < kMaxSges; ++i) {
    sges.push_back({0x10000 + i, 1, first_key_});
    expected.push_back(static_cast<std::uint8_t>(i));
  }
  ASSERT_TRUE(resolve(sges, 0, kMaxSges));
  EXPECT_EQ(gathered(kMaxSges), expected);
  // Offsets beyond 2^32 into a list whose entries add up to more.
  const std::vector<Sge> huge{{0, 0xffffffff, 0xdead}, {0, 0xffffffff, 0xdead}, {0x10000, 5, first_key_}};
  ASSERT_TRUE(resolve(huge, std::uint64_t{0xffffffff} * 2 + 1, 3));
  EXPECT_EQ(gathered(3), (Bytes{1, 2, 3}));
}

TEST_F(PiecesTest, RandomRangesAgreeWithTheListLaidOut) {
  base::Rng rng(4);
  for (int round = 0; round < 5000; ++round) {
    std::vector<Sge> sges(1 + rng.below(kMaxSges));
    Bytes flat;
    for (Sge& s : sges) {
      const bool second = rng.below(2) != 0;
      const std::uint32_t at = rng.below(100), n = rng.below(3) == 0 ? 0 : rng.below(129 - at);
      s = {(second ? 0x20000u : 0x10000u) + at, n, second ? second_key_ : first_key_};
      const Bytes& from = second ? second_ : first_;
      flat.insert(flat.end(), from.begin() + at, from.begin() + at + n);
    }
    const auto size = static_cast<std::uint32_t>(flat.size());
    const std::uint32_t offset = rng.below(size + 2), length = rng.below(size + 2);
    const bool fits = length == 0 || std::uint64_t{offset} + length <= size;
    ASSERT_EQ(resolve(sges, offset, length), fits) << offset << " " << length << " of " << size;
    if (!fits || length == 0) continue;
    ASSERT_EQ(gathered(length), Bytes(flat.begin() + offset, flat.begin() + offset + length));
  }
}

TEST_F(PiecesTest, ScatterIsTheWayBack) {
  const std::vector<Sge> sges{{0x10004, 3, first_key_}, {0, 0, 0}, {0x20000, 2, second_key_}, {0x10000, 4, first_key_}};
  ASSERT_TRUE(resolve(sges, 1, 7));
  Bytes first = first_, second = second_;
  const Bytes in{201, 202, 203, 204, 205, 206, 207};
  pieces_.scatter(in.data());
  first[5] = 201, first[6] = 202, second[0] = 203, second[1] = 204, first[0] = 205, first[1] = 206, first[2] = 207;
  EXPECT_EQ(first_, first);
  EXPECT_EQ(second_, second);
}

}  // namespace
}  // namespace uroce::memory::test
