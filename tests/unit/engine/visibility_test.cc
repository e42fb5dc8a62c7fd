// SPDX-License-Identifier: BSD-3-Clause
// What other threads see of memory that a worker writes: a message's last byte last, and ATOMICs that are atomic
// towards everybody.
#include <algorithm>

#include "threads_rig.h"

namespace uroce::engine::test {
namespace {

struct Looped {
  Looped() {
    EXPECT_TRUE(join(node, *a, *b));
    EXPECT_NE(out.key, 0u);
  }
  SilentPort port;
  WallClock clock;
  CompletionQueue cq{{}};
  Node node{port, clock, {.seed = 3, .max_regions = 8, .threading = Threading::dedicated}};
  Qp *a = make_qp(node, cq, cq), *b = make_qp(node, cq, cq);
  Buffer out{node, 20'000}, in{node, 20'000};
};

enum class How : std::uint8_t { write, read, send };

// The reader knows of a message by its last byte alone; what it reads then is plain memory.
class Visibility : public testing::TestWithParam<How> {};

TEST_P(Visibility, TheLastByteComesLast) {
  Looped l;
  std::atomic<std::uint32_t> round{0}, length{0}, seen{0}, torn{0};
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    const OnCore core(1);
    for (std::uint32_t r = 1;; ++r) {
      const auto value = static_cast<std::uint8_t>(r);
      while (round.load(std::memory_order_acquire) < r) {
        if (stop.load(std::memory_order_acquire)) return;
        sched_yield();
      }
      const std::uint32_t n = length.load(std::memory_order_acquire);
      std::atomic_ref<std::uint8_t> last(l.in.bytes[n - 1]);
      for (int spins = 0; last.load(std::memory_order_acquire) != value; ++spins) {
        if (stop.load(std::memory_order_acquire)) return;
        if (spins > 1000) sched_yield();
      }
      if (std::count(l.in.bytes.begin(), l.in.bytes.begin() + n, value) != n) torn.fetch_add(1);
      seen.store(r, std::memory_order_release);
    }
  });
  std::uint32_t r = 0;
  bool well = true;
  for (const auto end = Wall::now() + kRaceTime; well && Wall::now() < end;) {
    const std::uint32_t n = 1 + (++r * 7919) % 20'000;
    std::fill_n(l.out.bytes.begin(), n, static_cast<std::uint8_t>(r));
    length.store(n, std::memory_order_release);
    round.store(r, std::memory_order_release);
    const Sge from = l.out.sge(0, n), to = l.in.sge(0, n);
    SendWr wr{r, WrOpcode::rdma_write, SendFlag::signaled, {&from, 1}, l.in.iova(), l.in.key};
    if (GetParam() == How::read) wr = {r, WrOpcode::rdma_read, SendFlag::signaled, {&to, 1}, l.out.iova(), l.out.key};
    if (GetParam() == How::send) {
      wr = {r, WrOpcode::send, SendFlag::signaled, {&from, 1}};
      EXPECT_EQ(receive(*l.b, r, {&to, 1}), PostError::none);
    }
    EXPECT_EQ(send(l.node, *l.a, wr), PostError::none);
    well = until({}, [&] { return seen.load(std::memory_order_acquire) == r; });
    // The sender's completion, and the receiver's.
    well = well && collect({&l.node}, l.cq, GetParam() == How::send ? 2 : 1).size() != 0;
  }
  stop.store(true, std::memory_order_release);
  reader.join();
  EXPECT_TRUE(well) << "stuck at message " << r;
  EXPECT_EQ(torn.load(), 0u) << "of " << r << " messages";
}

INSTANTIATE_TEST_SUITE_P(Operations, Visibility, testing::Values(How::write, How::read, How::send),
                         [](const auto& how) {
                           return how.param == How::write ? "Write" : how.param == How::read ? "Read" : "Send";
                         });

// FETCH_ADD against a thread's own additions: nothing is lost.
TEST(Atomics, AreAtomicTowardsTheApplication) {
  Looped l;
  alignas(8) std::uint64_t counter = 0, result = 0;
  using A = Access;
  const AccessFlags all{A::local_write, A::remote_write, A::remote_read, A::remote_atomic};
  const auto key = l.node.register_region({reinterpret_cast<std::uint8_t*>(&counter), 8, 0, all, 0});
  const auto mine = l.node.register_region({reinterpret_cast<std::uint8_t*>(&result), 8, 0, all, 0});
  ASSERT_TRUE(key && mine);
  std::atomic<bool> stop{false};
  std::uint64_t added = 0, posted = 0;
  std::thread other([&] {
    const OnCore core(1);
    std::atomic_ref<std::uint64_t> ours(counter);
    for (; !stop.load(std::memory_order_acquire); ++added) ours.fetch_add(1, std::memory_order_relaxed);
  });
  const Sge in{0, 8, *mine};
  std::uint64_t last = 0;
  for (const auto end = Wall::now() + kRaceTime; Wall::now() < end;) {
    for (int i = 0; i < 8; ++i, ++posted) {
      ASSERT_EQ(send(l.node, *l.a,
                     {.wr_id = posted,
                      .opcode = WrOpcode::fetch_add,
                      .flags = SendFlag::signaled,
                      .sges = {&in, 1},
                      .rkey = *key,
                      .compare_add = 1}),
                PostError::none);
    }
    ASSERT_EQ(collect({&l.node}, l.cq, 8).size(), 8u);
    EXPECT_GE(result, last) << "what was there before only grows";
    last = result;
  }
  stop.store(true, std::memory_order_release);
  other.join();
  EXPECT_EQ(counter, added + posted);
  EXPECT_TRUE(l.node.deregister(*key) && l.node.deregister(*mine));
}

}  // namespace
}  // namespace uroce::engine::test
