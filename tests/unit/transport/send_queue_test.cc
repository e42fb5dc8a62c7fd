// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "transport/work_queue.h"

namespace uroce::transport::test {
namespace {

std::uint64_t at(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

SendWr wr_of(std::uint64_t id, std::span<const Sge> sges = {}, WrOpcode opcode = WrOpcode::send, SendFlags flags = {}) {
  SendWr wr;
  wr.wr_id = id;
  wr.opcode = opcode;
  wr.flags = flags;
  wr.sges = sges;
  return wr;
}

bool same(const Sge& a, const Sge& b) {
  return a.address == b.address && a.length == b.length && a.lkey == b.lkey;
}

std::string inline_text(const SendEntry& e) {
  return {reinterpret_cast<const char*>(e.inline_bytes()), e.length};
}

TEST(SendQueueTest, KeepsEveryFieldOfARequest) {
  SendQueue q(4, 4, 64);
  const Sge sges[] = {{0x1111222233334444, 100, 0xaabbccdd}, {0x5555, 0, 1}, {0x9999, 23, 2}};
  SendWr wr = wr_of(0xfeedfacecafebeef, sges, WrOpcode::rdma_write_with_imm, {SendFlag::signaled, SendFlag::fence});
  wr.remote_address = 0x123456789abcdef0;
  wr.rkey = 0xdeadbeef;
  wr.immediate = {1, 2, 3, 4};
  ASSERT_EQ(q.post(wr), PostError::none);
  EXPECT_EQ(q.ring().size(), 1u);
  const SendEntry& e = q.at(0);
  EXPECT_EQ(e.wr_id, 0xfeedfacecafebeefu);
  EXPECT_EQ(e.opcode, WrOpcode::rdma_write_with_imm);
  EXPECT_TRUE(e.has(SendFlag::signaled) && e.has(SendFlag::fence));
  EXPECT_FALSE(e.has(SendFlag::solicited) || e.has(SendFlag::inline_data));
  EXPECT_EQ(e.remote_address, 0x123456789abcdef0u);
  EXPECT_EQ(e.rkey, 0xdeadbeefu);
  EXPECT_EQ(e.length, 123u);
  const std::uint8_t immediate[] = {1, 2, 3, 4};
  EXPECT_EQ(std::memcmp(&e.immediate_or_key, immediate, 4), 0);
  ASSERT_EQ(e.sges().size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same(e.sges()[i], sges[i])) << i;
}

TEST(SendQueueTest, TheKeyToInvalidateIsKept) {
  SendQueue q(1, 1, 0);
  SendWr wr = wr_of(1, {}, WrOpcode::send_with_inv);
  wr.invalidate_rkey = 0x01020304;
  wr.immediate = {9, 9, 9, 9};
  ASSERT_EQ(q.post(wr), PostError::none);
  EXPECT_EQ(q.at(0).immediate_or_key, 0x01020304u);
}

TEST(SendQueueTest, HoldsWhatWasAskedAlsoWhenThatIsNoPowerOfTwo) {
  for (std::uint32_t depth : {1u, 2u, 3u, 5u, 64u, 100u}) {
    SendQueue q(depth, 1, 0);
    for (std::uint32_t i = 0; i < depth; ++i) ASSERT_EQ(q.post(wr_of(i)), PostError::none) << depth;
    EXPECT_EQ(q.post(wr_of(99)), PostError::queue_full) << depth;
    for (std::uint32_t i = 0; i < depth; ++i) EXPECT_EQ(q.at(i).wr_id, i);
    q.ring().set_head(1);
    EXPECT_EQ(q.post(wr_of(depth)), PostError::none);
    EXPECT_EQ(q.post(wr_of(99)), PostError::queue_full) << depth;
    EXPECT_EQ(q.at(depth).wr_id, depth);
  }
}

TEST(SendQueueTest, TooManySges) {
  for (std::uint32_t max : {1u, 4u, kMaxSges}) {
    SendQueue q(2, max, 64);
    std::vector<Sge> sges(max + 1, Sge{0x1000, 1, 7});
    EXPECT_EQ(q.post(wr_of(1, sges)), PostError::too_many_sges);
    EXPECT_EQ(q.post(wr_of(1, sges, WrOpcode::send, SendFlag::inline_data)), PostError::too_many_sges);
    EXPECT_EQ(q.ring().size(), 0u);
    EXPECT_EQ(q.post(wr_of(1, std::span(sges).first(max))), PostError::none);
    EXPECT_EQ(q.at(0).sges().size(), max);
  }
}

TEST(SendQueueTest, OneMessageIsAtMost2To31Bytes) {
  SendQueue q(8, kMaxSges, 0);
  const Sge exact[] = {{0, 0x80000000, 1}}, two[] = {{0, 0x7fffffff, 1}, {0, 1, 1}};
  const Sge over[] = {{0, 0x80000000, 1}, {0, 1, 1}}, one_over[] = {{0, 0x80000001, 1}};
  const Sge wraps_to_0[] = {{0, 0x80000000, 1}, {0, 0x80000000, 1}};
  const Sge wraps_to_16[] = {{0, 0x80000000, 1}, {0, 0x80000010, 1}};
  const std::vector<Sge> most(kMaxSges, Sge{0, 0xffffffff, 1});
  for (WrOpcode op : {WrOpcode::send, WrOpcode::rdma_write, WrOpcode::rdma_read}) {
    for (std::span<const Sge> sges :
         {std::span<const Sge>(over), std::span<const Sge>(one_over), std::span<const Sge>(wraps_to_0),
          std::span<const Sge>(wraps_to_16), std::span<const Sge>(most)}) {
      EXPECT_EQ(q.post(wr_of(1, sges, op)), PostError::message_too_long);
    }
  }
  EXPECT_EQ(q.ring().size(), 0u);
  ASSERT_EQ(q.post(wr_of(1, exact)), PostError::none);
  ASSERT_EQ(q.post(wr_of(2, two)), PostError::none);
  EXPECT_EQ(q.at(0).length, 0x80000000u);
  EXPECT_EQ(q.at(1).length, 0x80000000u);
}

TEST(SendQueueTest, UnknownOpcodesAreRefused) {
  SendQueue q(2, 1, 0);
  for (int op : {8, 9, 100, 255})
    EXPECT_EQ(q.post(wr_of(1, {}, static_cast<WrOpcode>(op))), PostError::bad_opcode) << op;
  for (int op = 0; op <= 7; ++op)
    EXPECT_NE(q.post(wr_of(1, {}, static_cast<WrOpcode>(op))), PostError::bad_opcode) << op;
}

TEST(SendQueueTest, InlineDataIsCapturedWhenPosted) {
  SendQueue q(2, 4, 64);
  char text[] = "captured at once", more[] = "!";
  const Sge sges[] = {{at(text), 8, 0xbad}, {at(text + 8), 0, 0xbad}, {at(text + 8), 8, 0xbad}, {at(more), 1, 0xbad}};
  ASSERT_EQ(q.post(wr_of(1, sges, WrOpcode::send, SendFlag::inline_data)), PostError::none);
  std::memset(text, '#', sizeof(text));
  more[0] = '#';
  EXPECT_EQ(q.at(0).length, 17u);
  EXPECT_EQ(inline_text(q.at(0)), "captured at once!");
  EXPECT_TRUE(q.at(0).sges().empty());
}

TEST(SendQueueTest, InlineLimitIsExact) {
  for (std::uint32_t limit : {0u, 1u, 31u, 64u, 200u, kMaxInline}) {
    SendQueue q(2, 4, limit);
    const std::string text(limit + 1, 'x');
    const Sge exact[] = {{at(text.data()), limit, 0}}, over[] = {{at(text.data()), limit + 1, 0}};
    EXPECT_EQ(q.post(wr_of(1, over, WrOpcode::send, SendFlag::inline_data)), PostError::inline_too_long) << limit;
    EXPECT_EQ(q.ring().size(), 0u);
    ASSERT_EQ(q.post(wr_of(1, exact, WrOpcode::rdma_write, SendFlag::inline_data)), PostError::none) << limit;
    EXPECT_EQ(inline_text(q.at(0)), text.substr(0, limit));
    const Sge in_parts[] = {
        {at(text.data()), limit / 2, 0}, {at(text.data()), limit - limit / 2, 0}, {at(text.data()), 1, 0}};
    EXPECT_EQ(q.post(wr_of(2, in_parts, WrOpcode::send, SendFlag::inline_data)), PostError::inline_too_long);
    EXPECT_EQ(q.post(wr_of(2, std::span(in_parts).first(2), WrOpcode::send, SendFlag::inline_data)), PostError::none);
  }
}

// The lengths add up to 16 in 32 bits; the addresses must not be looked at.
TEST(SendQueueTest, InlineLengthsThatWrap32BitsAreRefused) {
  SendQueue q(2, 4, 64);
  const Sge sges[] = {{0, 0x80000000, 0}, {0, 0x80000010, 0}};
  const PostError e = q.post(wr_of(1, sges, WrOpcode::send, SendFlag::inline_data));
  EXPECT_TRUE(e == PostError::message_too_long || e == PostError::inline_too_long) << static_cast<int>(e);
  const Sge long_but_legal[] = {{0, 0x80000000, 0}};
  EXPECT_EQ(q.post(wr_of(1, long_but_legal, WrOpcode::send, SendFlag::inline_data)), PostError::inline_too_long);
  EXPECT_EQ(q.ring().size(), 0u);
}

TEST(SendQueueTest, InlineOfNothingTouchesNothing) {
  SendQueue q(2, 2, 0);
  const Sge nothing[] = {{0, 0, 0}, {0xdeadbeefdeadbeef, 0, 0}};
  ASSERT_EQ(q.post(wr_of(1, nothing, WrOpcode::send, SendFlag::inline_data)), PostError::none);
  ASSERT_EQ(q.post(wr_of(2, {}, WrOpcode::send, SendFlag::inline_data)), PostError::none);
  EXPECT_EQ(q.at(0).length, 0u);
}

TEST(SendQueueTest, AReadHasNothingToInline) {
  SendQueue q(2, 2, 64);
  char room[8];
  const Sge sges[] = {{at(room), 8, 0}};
  EXPECT_NE(q.post(wr_of(1, sges, WrOpcode::rdma_read, SendFlag::inline_data)), PostError::none);
  EXPECT_EQ(q.ring().size(), 0u);
  EXPECT_EQ(q.post(wr_of(1, sges, WrOpcode::rdma_read)), PostError::none);
}

TEST(SendQueueTest, AtomicsNeedOneEntryOfEightBytes) {
  for (WrOpcode op : {WrOpcode::cmp_swap, WrOpcode::fetch_add}) {
    SendQueue q(2, 4, 64);
    std::uint64_t room[2] = {};
    const Sge eight{at(room), 8, 5}, four{at(room), 4, 5}, sixteen{at(room), 16, 5}, none{at(room), 0, 5};
    const std::vector<std::vector<Sge>> wrong{{},           {four},        {sixteen},     {none},
                                              {four, four}, {eight, none}, {eight, eight}};
    for (const auto& sges : wrong) {
      EXPECT_NE(q.post(wr_of(1, sges, op)), PostError::none) << sges.size();
      EXPECT_NE(q.post(wr_of(1, sges, op, SendFlag::inline_data)), PostError::none) << sges.size();
    }
    EXPECT_EQ(q.ring().size(), 0u);
    EXPECT_EQ(q.post(wr_of(1, std::span(&eight, 1), op)), PostError::none);
  }
}

TEST(SendQueueTest, AtomicOperandsLieBehindTheEntryAndInItsSlot) {
  SendQueue q(4, 1, 0);  // the least room that may be asked for
  std::uint64_t room = 0;
  const Sge eight{at(&room), 8, 5};
  for (std::uint64_t i = 0; i < 4; ++i) {
    SendWr wr = wr_of(i, std::span(&eight, 1), WrOpcode::cmp_swap, {SendFlag::signaled, SendFlag::inline_data});
    wr.compare_add = 0x1122334455667788 + i;
    wr.swap = 0x99aabbccddeeff00 + i;
    ASSERT_EQ(q.post(wr), PostError::none);
  }
  for (std::uint32_t i = 0; i < 4; ++i) {
    const SendEntry& e = q.at(i);
    EXPECT_EQ(e.wr_id, i);
    EXPECT_TRUE(e.is_atomic() && e.wants_response());
    EXPECT_TRUE(e.has(SendFlag::signaled));
    ASSERT_EQ(e.sges().size(), 1u);  // where the answer goes: never inline
    EXPECT_TRUE(same(e.sges()[0], eight));
    EXPECT_EQ(e.operands()[0], 0x1122334455667788u + i);
    EXPECT_EQ(e.operands()[1], 0x99aabbccddeeff00u + i);
  }
}

TEST(SendQueueTest, FullSlotsDoNotTouchTheirNeighbours) {
  for (const auto& [max_sges, max_inline] : {std::pair{kMaxSges, 0u}, {1u, kMaxInline}, {1u, 25u}, {3u, 49u}}) {
    SendQueue q(8, max_sges, max_inline);
    std::vector<Sge> sges(max_sges);
    std::string text(max_inline, ' ');
    for (std::uint32_t i = 0; i < 8; ++i) {
      for (std::uint32_t k = 0; k < max_sges; ++k) sges[k] = {i * 1000 + k, i + k, ~i};
      text.assign(max_inline, static_cast<char>('a' + i));
      const Sge from{at(text.data()), max_inline, 0};
      const bool as_inline = max_inline != 0 && i % 2 == 0;
      ASSERT_EQ(
          q.post(as_inline ? wr_of(i, std::span(&from, 1), WrOpcode::send, SendFlag::inline_data) : wr_of(i, sges)),
          PostError::none);
    }
    for (std::uint32_t i = 0; i < 8; ++i) {
      EXPECT_EQ(q.at(i).wr_id, i);
      if (q.at(i).has(SendFlag::inline_data)) {
        EXPECT_EQ(inline_text(q.at(i)), std::string(max_inline, static_cast<char>('a' + i)));
      } else {
        ASSERT_EQ(q.at(i).sges().size(), max_sges);
        for (std::uint32_t k = 0; k < max_sges; ++k) EXPECT_TRUE(same(q.at(i).sges()[k], {i * 1000 + k, i + k, ~i}));
      }
    }
  }
}

TEST(SendQueueTest, SlotsAreReusedOver2To17Posts) {
  SendQueue q(5, 2, 32);
  std::uint32_t posted = 0, taken = 0;
  while (taken < (1u << 17)) {
    for (std::uint32_t burst = 1 + posted % 5; burst != 0; --burst) {
      const std::uint64_t data = ~std::uint64_t{posted};
      const Sge in{at(&data), 8, 0}, out{posted, posted % 4096, posted ^ 0x55};
      const bool as_inline = posted % 3 == 0;
      const PostError e = q.post(as_inline ? wr_of(posted, std::span(&in, 1), WrOpcode::send, SendFlag::inline_data)
                                           : wr_of(posted, std::span(&out, 1)));
      ASSERT_EQ(e, posted - taken < 5 ? PostError::none : PostError::queue_full);
      if (e == PostError::none) ++posted;
    }
    const SendEntry& e = q.at(taken);
    ASSERT_EQ(e.wr_id, taken);
    if (taken % 3 == 0) {
      std::uint64_t data = 0;
      std::memcpy(&data, e.inline_bytes(), 8);
      ASSERT_EQ(data, ~std::uint64_t{taken});
    } else {
      ASSERT_EQ(e.sges().size(), 1u);
      ASSERT_TRUE(same(e.sges()[0], {taken, taken % 4096, taken ^ 0x55}));
    }
    q.ring().set_head(++taken);
  }
}

}  // namespace
}  // namespace uroce::transport::test
