// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "transport/work_queue.h"

namespace uroce::transport::test {
namespace {

RecvWr wr_of(std::uint64_t id, std::span<const Sge> sges = {}) {
  return {id, sges};
}

TEST(RecvQueueTest, OldestFirstAndStaysUntilPopped) {
  RecvQueue q(3, 2);
  EXPECT_EQ(q.front(), nullptr);
  const Sge sges[] = {{0x1111222233334444, 7, 0xaabbccdd}, {0x99, 5, 3}};
  ASSERT_EQ(q.post(wr_of(0xfeedfacecafebeef, sges)), PostError::none);
  ASSERT_EQ(q.post(wr_of(2)), PostError::none);
  EXPECT_EQ(q.size(), 2u);
  for (int look = 0; look < 2; ++look) {
    const RecvEntry* e = q.front();
    ASSERT_NE(e, nullptr);
    EXPECT_EQ(e->wr_id, 0xfeedfacecafebeefu);
    EXPECT_EQ(e->length, 12u);
    ASSERT_EQ(e->sges().size(), 2u);
    EXPECT_EQ(e->sges()[0].address, 0x1111222233334444u);
    EXPECT_EQ(e->sges()[0].lkey, 0xaabbccddu);
    EXPECT_EQ(e->sges()[1].length, 5u);
  }
  q.pop();
  EXPECT_EQ(q.front()->wr_id, 2u);
  EXPECT_TRUE(q.front()->sges().empty());
  EXPECT_EQ(q.front()->length, 0u);
  q.pop();
  EXPECT_EQ(q.front(), nullptr);
  EXPECT_EQ(q.size(), 0u);
}

TEST(RecvQueueTest, FullAndTooManySges) {
  for (std::uint32_t depth : {1u, 3u, 64u, 100u}) {
    RecvQueue q(depth, kMaxSges);
    const std::vector<Sge> sges(kMaxSges + 1);
    EXPECT_EQ(q.post(wr_of(1, sges)), PostError::too_many_sges);
    EXPECT_EQ(q.size(), 0u);
    for (std::uint32_t i = 0; i < depth; ++i)
      ASSERT_EQ(q.post(wr_of(i, std::span(sges).first(kMaxSges))), PostError::none);
    EXPECT_EQ(q.post(wr_of(1)), PostError::queue_full);
    q.pop();
    EXPECT_EQ(q.post(wr_of(1)), PostError::none);
    EXPECT_EQ(q.post(wr_of(1)), PostError::queue_full);
  }
}

TEST(RecvQueueTest, TheSumOfSixteenLongEntriesDoesNotWrap) {
  RecvQueue q(1, kMaxSges);
  const std::vector<Sge> sges(kMaxSges, Sge{0, 0xffffffff, 1});
  ASSERT_EQ(q.post(wr_of(1, sges)), PostError::none);
  EXPECT_EQ(q.front()->length, 16u * 0xffffffffull);
}

TEST(RecvQueueTest, ClearForgetsAllAndLeavesRoom) {
  RecvQueue q(3, 1);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(q.post(wr_of(i)), PostError::none);
  q.clear();
  EXPECT_EQ(q.size(), 0u);
  EXPECT_EQ(q.front(), nullptr);
  for (std::uint64_t i = 10; i < 13; ++i) ASSERT_EQ(q.post(wr_of(i)), PostError::none);
  EXPECT_EQ(q.post(wr_of(13)), PostError::queue_full);
  EXPECT_EQ(q.front()->wr_id, 10u);
}

TEST(RecvQueueTest, SlotsAreReusedOver2To17Posts) {
  RecvQueue q(6, 3);
  std::uint32_t posted = 0, taken = 0;
  while (taken < (1u << 17)) {
    const std::vector<Sge> sges(posted % 4, Sge{posted, 8, ~posted});
    const PostError e = q.post(wr_of(posted, sges));
    if (e == PostError::none) {
      ASSERT_LT(posted - taken, 6u);
      ++posted;
      continue;
    }
    ASSERT_EQ(e, PostError::queue_full);
    ASSERT_EQ(posted - taken, 6u);
    for (std::uint32_t n = 1 + taken % 6; n != 0; --n, ++taken) {
      ASSERT_EQ(q.front()->wr_id, taken);
      ASSERT_EQ(q.front()->sges().size(), taken % 4);
      for (const Sge& s : q.front()->sges()) ASSERT_TRUE(s.address == taken && s.lkey == ~taken);
      q.pop();
    }
  }
}

}  // namespace
}  // namespace uroce::transport::test
