// SPDX-License-Identifier: BSD-3-Clause
// What passes between stages: rings, completions, buffers, timers, keys. In one thread, so that it is the instructions
// that are timed; uroce_round_trip has what a second core adds.
#include <benchmark/benchmark.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <array>
#include <boost/lockfree/spsc_queue.hpp>

#include "engine/completion_queue.h"
#include "memory/memory_table.h"
#include "platform/dpdk/clock.h"
#include "platform/dpdk/eal.h"
#include "ring/deferred_spsc.h"
#include "timer/wheel.h"

namespace uroce::bench {
namespace {

bool eal() {
  platform::EalConfig config;
  if (const auto cores = platform::usable_cores(); !cores.empty()) config.main_core = cores.front();
  return platform::eal_start(config).has_value();
}

void limit_rte_ring(benchmark::State& s) {
  if (!eal()) return s.SkipWithError("no EAL");
  rte_ring* ring = rte_ring_create("hop", 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  void* item = &s;
  for (auto _ : s) {
    rte_ring_enqueue(ring, item);
    rte_ring_dequeue(ring, &item);
  }
  rte_ring_free(ring);
}

void limit_boost_spsc(benchmark::State& s) {
  boost::lockfree::spsc_queue<void*, boost::lockfree::capacity<1024>> ring;
  void* item = &s;
  for (auto _ : s) {
    ring.push(item);
    ring.pop(item);
    benchmark::DoNotOptimize(item);
  }
}

void deferred_spsc(benchmark::State& s) {
  std::array<void*, 1024> slots{};
  ring::DeferredSpsc<void*> ring;
  ring.init(slots.data(), 1024, 1024);
  void* item = &s;
  for (auto _ : s) {
    ring.push(item);
    ring.publish();
    ring.pop(item);
    benchmark::DoNotOptimize(item);
  }
}

void completion(benchmark::State& s) {
  engine::CompletionQueue queue({.capacity = 1024, .single_threaded = true});
  std::array<Completion, 1> out;
  for (auto _ : s) {
    queue.lane(0).append(false)->wr_id = 1;
    queue.lane(0).publish();
    benchmark::DoNotOptimize(queue.poll(out));
  }
}

rte_mempool* pool() {
  static rte_mempool* p = eal() ? rte_pktmbuf_pool_create("bench", 2047, 256, 0, 4352 + 128, SOCKET_ID_ANY) : nullptr;
  return p;
}

void limit_mbuf_one(benchmark::State& s) {
  if (pool() == nullptr) return s.SkipWithError("no EAL");
  for (auto _ : s) rte_pktmbuf_free(rte_pktmbuf_alloc(pool()));
}

// Time of 32.
void limit_mbuf_bulk_of_32(benchmark::State& s) {
  if (pool() == nullptr) return s.SkipWithError("no EAL");
  std::array<rte_mbuf*, 32> m;
  for (auto _ : s) {
    if (rte_pktmbuf_alloc_bulk(pool(), m.data(), 32) != 0) return s.SkipWithError("no buffers");
    rte_pktmbuf_free_bulk(m.data(), 32);
  }
}

void limit_clock(benchmark::State& s) {
  if (!eal()) return s.SkipWithError("no EAL");
  const platform::TscClock clock;
  for (auto _ : s) benchmark::DoNotOptimize(clock.now());
}

void timer_arm_and_fire(benchmark::State& s) {
  timer::Wheel wheel({0});
  int owner = 0;
  timer::Node node(&owner);
  base::Instant now{0};
  for (auto _ : s) {
    wheel.arm(node, now + base::Duration{2000});
    now = now + base::Duration{3000};
    benchmark::DoNotOptimize(wheel.expire(now, 8, [](timer::Node&) {}));
  }
}

void translate(benchmark::State& s) {
  memory::MemoryTable table(1024, 7);
  std::array<std::uint8_t, 4096> memory{};
  const auto key = table.register_region({memory.data(), memory.size(), 0x1000, {Access::local_write}, 1});
  memory::KeyFault why;
  for (auto _ : s) benchmark::DoNotOptimize(table.translate(*key, 1, 0x1010, 64, Access::local_write, why));
}

BENCHMARK(limit_rte_ring);
BENCHMARK(limit_boost_spsc);
BENCHMARK(deferred_spsc);
BENCHMARK(completion);
BENCHMARK(limit_mbuf_one);
BENCHMARK(limit_mbuf_bulk_of_32);
BENCHMARK(limit_clock);
BENCHMARK(timer_arm_and_fire);
BENCHMARK(translate);

}  // namespace
}  // namespace uroce::bench
