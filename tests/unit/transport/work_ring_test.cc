// SPDX-License-Identifier: BSD-3-Clause
// The rings under two threads, and where their 32-bit numbers wrap.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "transport/work_queue.h"

namespace uroce::transport::test {
namespace {

// Private counters are moved to just before the wrap: an explicit instantiation may name them.
template <auto Tail, auto Head>
struct Mover {
  friend void move_numbers(WorkRing& ring, std::uint32_t to) {
    (ring.*Tail).store(to);
    (ring.*Head).store(to);
  }
};
void move_numbers(WorkRing& ring, std::uint32_t to);
template struct Mover<&WorkRing::tail_, &WorkRing::head_>;

TEST(WorkRingTest, NumbersPassTheirWrap) {
  for (std::uint32_t depth : {1u, 3u, 8u}) {
    SendQueue q(depth, 1, 8);
    const std::uint32_t start = 0u - 2 * depth;
    move_numbers(q.ring(), start);
    std::uint64_t id = 0;
    for (std::uint32_t head = start; head != start + 6 * depth; ++head) {
      SendWr wr;
      while (q.ring().size() < depth) {
        wr.wr_id = id++;
        ASSERT_EQ(q.post(wr), PostError::none) << head;
      }
      ASSERT_EQ(q.post(wr), PostError::queue_full) << head;
      ASSERT_EQ(q.at(head).wr_id, head - start);
      q.ring().set_head(head + 1);
    }
  }
}

TEST(WorkRingTest, SlotsAreCacheLinesOfTheirOwn) {
  for (std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{1064}}) {
    WorkRing ring(5, bytes);
    EXPECT_EQ(ring.capacity(), 5u);
    for (std::uint32_t a = 0; a < 5; ++a) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ring.slot(a)) % 64, 0u);
      for (std::uint32_t b = 0; b < a; ++b) {
        const std::ptrdiff_t apart = ring.slot(a) - ring.slot(b);
        EXPECT_GE(static_cast<std::size_t>(apart < 0 ? -apart : apart), bytes);
      }
    }
  }
}

TEST(WorkRingDeathTest, RefusesImpossibleDepths) {
  EXPECT_DEATH(WorkRing(0, 64), "assertion failed");
  EXPECT_DEATH(WorkRing(kMaxQueueDepth + 1, 64), "assertion failed");
}

constexpr std::uint32_t kPosts = 400'000;

// The entry, its list and its inline data are whole when the worker sees the tail, and not written again before the
// worker has moved the head.
TEST(WorkRingTest, AnApplicationPostsSendsWhileAWorkerTakesThem) {
  SendQueue q(61, 3, 64);
  std::atomic<std::uint64_t> bad{0};
  std::thread worker([&] {
    for (std::uint32_t n = 0; n != kPosts;) {
      if (n == q.ring().tail()) {
        std::this_thread::yield();
        continue;
      }
      for (int look = 0; look < 2; ++look) {  // as a retransmission does
        const SendEntry& e = q.at(n);
        bool good = e.wr_id == n && e.rkey == ~n;
        if (n % 2 == 0) {
          good = good && e.length == 48 && e.has(SendFlag::inline_data);
          for (int i = 0; good && i < 48; ++i) good = e.inline_bytes()[i] == static_cast<std::uint8_t>(n);
        } else {
          good = good && e.sges().size() == 3;
          for (const Sge& s : e.sges()) good = good && s.address == n && s.length == n % 1000 && s.lkey == n + 1;
        }
        if (!good) ++bad;
      }
      q.ring().set_head(++n);
    }
  });
  std::uint8_t data[48];
  for (std::uint32_t n = 0; n != kPosts;) {
    std::memset(data, static_cast<int>(n & 0xff), sizeof(data));
    const Sge inlined{reinterpret_cast<std::uintptr_t>(data), 48, 0};
    const std::vector<Sge> list(3, Sge{n, n % 1000, n + 1});
    SendWr wr;
    wr.wr_id = n;
    wr.rkey = ~n;
    wr.sges = n % 2 == 0 ? std::span<const Sge>(&inlined, 1) : std::span<const Sge>(list);
    if (n % 2 == 0) wr.flags = SendFlag::inline_data;
    if (q.post(wr) == PostError::none) {
      ++n;
    } else {
      std::this_thread::yield();
    }
  }
  worker.join();
  EXPECT_EQ(bad.load(), 0u);
  EXPECT_EQ(q.ring().size(), 0u);
}

TEST(WorkRingTest, AnApplicationPostsReceivesWhileAWorkerTakesThem) {
  RecvQueue q(64, 4);
  std::atomic<std::uint64_t> bad{0};
  std::thread worker([&] {
    for (std::uint32_t n = 0; n != kPosts;) {
      const RecvEntry* e = q.front();
      if (e == nullptr) {
        std::this_thread::yield();
        continue;
      }
      bool good = e->wr_id == n && e->sges().size() == n % 5 && e->length == std::uint64_t{n % 5} * n;
      for (const Sge& s : e->sges()) good = good && s.length == n && s.lkey == ~n;
      if (!good) ++bad;
      q.pop();
      ++n;
    }
  });
  for (std::uint32_t n = 0; n != kPosts;) {
    const std::vector<Sge> list(n % 5, Sge{n, n, ~n});
    if (q.post({n, list}) == PostError::none) {
      ++n;
    } else {
      std::this_thread::yield();
    }
  }
  worker.join();
  EXPECT_EQ(bad.load(), 0u);
}

}  // namespace
}  // namespace uroce::transport::test
