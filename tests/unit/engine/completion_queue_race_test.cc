// SPDX-License-Identifier: BSD-3-Clause
// A completion queue between threads: no wake-up is lost, no completion either, and none comes twice.
#include <algorithm>

#include "feeder.h"
#include "threads_rig.h"

namespace uroce::engine::test {
namespace {

// One application and `workers` workers. A worker publishes its next completion as soon as the last was polled, so the
// application is always about to arm, to poll once more, or to sleep. Returns how many rounds there were.
std::uint64_t race_to_sleep(std::uint32_t workers) {
  CompletionQueue cq({.capacity = 64, .workers = workers, .events = true});
  std::vector<std::atomic<std::uint64_t>> taken(workers);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      const OnCore core(1 + w);
      Feeder feeder(cq, w);
      base::Rng rng(w + 1);
      for (std::uint64_t n = 0; !stop.load(std::memory_order_relaxed);) {
        feeder.complete_now(w);
        ++n;
        for (int spins = 0; taken[w].load(std::memory_order_acquire) != n; ++spins) {
          if (stop.load(std::memory_order_relaxed)) return;
          if (spins > 200) sched_yield();
        }
        pause_a_little(rng, 20);
      }
    });
  }
  const OnCore core(0);
  std::uint64_t rounds = 0, arms = 0, events = 0, sleeps = 0;
  std::array<Completion, 8> some;
  const auto drain = [&] {
    std::size_t all = 0;
    while (const std::size_t n = cq.poll(some)) {
      for (std::size_t i = 0; i < n; ++i) taken[some[i].wr_id].fetch_add(1, std::memory_order_release);
      all += n;
    }
    return all;
  };
  base::Rng rng(99);
  for (const auto end = Wall::now() + kRaceTime; Wall::now() < end; ++rounds) {
    drain();
    pause_a_little(rng, 20);
    cq.arm(false);
    ++arms;
    if (drain() != 0) continue;
    ++sleeps;
    // Light sleep first: more rounds than the kernel's wake-ups would allow.
    std::uint64_t woken = 0;
    for (int looks = 0; looks < 100 && woken == 0; ++looks) woken = take_events(cq);
    if (woken == 0 && !wait_for_event(cq, 5000)) {
      ADD_FAILURE() << "asleep for ever in round " << rounds << "; waiting: " << drain();
      break;
    }
    events += woken != 0 ? woken : take_events(cq);
  }
  stop.store(true);
  for (auto& t : threads) t.join();
  events += take_events(cq);
  EXPECT_LE(events, arms);
  EXPECT_GT(sleeps, 0u);
  return rounds;
}

// O-41: poll, arm, poll again, sleep, while completions come.
TEST(OCases, O_41c) {
  EXPECT_GT(race_to_sleep(1), 0u);
}
TEST(OCases, O_41d) {
  EXPECT_GT(race_to_sleep(2), 0u);
}

// Several workers at once and one arm after the other: never more events than arms, and one for each arm that is
// followed by a completion.
TEST(CompletionQueueRace, WorkersThatPublishAtOnceWriteOneEvent) {
  constexpr std::uint32_t kWorkers = 3;
  CompletionQueue cq({.capacity = 64, .workers = kWorkers, .events = true});
  std::atomic<std::uint64_t> round{0}, ready{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < kWorkers; ++w) {
    threads.emplace_back([&, w] {
      Feeder feeder(cq, w);
      for (std::uint64_t mine = 1;; ++mine) {
        while (round.load(std::memory_order_acquire) < mine) {
          if (stop.load(std::memory_order_acquire)) return;
          sched_yield();
        }
        feeder.complete_now(mine);
        ready.fetch_add(1, std::memory_order_acq_rel);
      }
    });
  }
  std::uint64_t rounds = 0;
  for (const auto end = Wall::now() + kRaceTime; Wall::now() < end;) {
    cq.arm(false);
    round.store(++rounds, std::memory_order_release);
    while (ready.load(std::memory_order_acquire) != rounds * kWorkers) sched_yield();
    const std::uint64_t events = take_events(cq);
    const std::size_t polled = take(cq).size();
    if (events != 1 || polled != kWorkers) {
      ADD_FAILURE() << events << " events, " << polled << " completions in round " << rounds;
      break;
    }
  }
  stop.store(true, std::memory_order_release);
  for (auto& t : threads) t.join();
  EXPECT_GT(rounds, 0u);
}

// Workers, each with two queue pairs, and pollers. The queue is kept as full as it may be.
void crowd(std::uint32_t workers, int pollers, bool single_threaded) {
  constexpr std::uint32_t kCapacity = 48;
  const std::uint64_t kEach = kSanitized ? 5'000 : 60'000;
  CompletionQueue cq({.capacity = kCapacity, .workers = workers, .single_threaded = single_threaded});
  std::atomic<std::int64_t> room{kCapacity};
  std::atomic<std::uint64_t> left{kEach * workers};
  std::atomic<int> overflows{0};
  std::vector<std::vector<std::atomic<std::uint8_t>>> delivered;
  for (std::uint32_t w = 0; w < workers; ++w) delivered.emplace_back(kEach);
  std::atomic<std::uint64_t> disorder{0};
  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      Feeder feeder(cq, w);
      base::Rng rng(w);
      for (std::uint64_t i = 0; i < kEach;) {
        for (std::uint64_t n = 1 + rng.below(8); n != 0 && i < kEach; --n) {
          while (room.fetch_sub(1, std::memory_order_acq_rel) <= 0) {
            room.fetch_add(1, std::memory_order_acq_rel);
            feeder.publish();
            sched_yield();
          }
          feeder.complete(i++, false, 2 * w + rng.below(2));
        }
        feeder.publish();
      }
      overflows += feeder.overflows;
    });
  }
  for (int p = 0; p < pollers; ++p) {
    threads.emplace_back([&, p] {
      base::Rng rng(static_cast<std::uint64_t>(100 + p));
      std::vector<std::int64_t> last(2 * workers, -1);
      std::array<Completion, 8> some;
      while (left.load(std::memory_order_acquire) != 0) {
        const std::size_t n = cq.poll(std::span(some).first(1 + rng.below(8)));
        for (std::size_t i = 0; i < n; ++i) {
          const auto id = static_cast<std::int64_t>(some[i].wr_id);
          if (id <= last[some[i].qpn]) disorder.fetch_add(1);
          last[some[i].qpn] = id;
          delivered[some[i].qpn / 2][some[i].wr_id].fetch_add(1, std::memory_order_relaxed);
        }
        room.fetch_add(static_cast<std::int64_t>(n), std::memory_order_acq_rel);
        left.fetch_sub(n, std::memory_order_acq_rel);
        if (n == 0) sched_yield();
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(overflows.load(), 0) << "it was never more than full";
  EXPECT_EQ(disorder.load(), 0u) << "what one poller sees of one queue pair is in order";
  for (const auto& of_worker : delivered) {
    const auto wrong = std::count_if(of_worker.begin(), of_worker.end(), [](const auto& n) { return n.load() != 1; });
    EXPECT_EQ(wrong, 0) << "lost or delivered twice";
  }
  EXPECT_TRUE(take(cq).empty());
}

TEST(CompletionQueueRace, OneWorkerOnePoller) {
  crowd(1, 1, true);
}
TEST(CompletionQueueRace, OneWorkerThreePollers) {
  crowd(1, 3, false);
}
TEST(CompletionQueueRace, ThreeWorkersOnePoller) {
  crowd(3, 1, true);
}
TEST(CompletionQueueRace, ThreeWorkersThreePollers) {
  crowd(3, 3, false);
}

// Several workers fill the queue at once, and nobody polls: it holds what it says, each worker is told once, and one of
// them raises CQ_ERR.
TEST(CompletionQueueRace, OverflowsAtItsCapacityWhoeverFillsIt) {
  constexpr std::uint32_t kWorkers = 3, kCapacity = 100;
  for (int round = 0; round < (kSanitized ? 20 : 100); ++round) {
    CompletionQueue cq({.capacity = kCapacity, .workers = kWorkers});
    std::atomic<int> reports{0}, told{0};
    std::atomic<std::uint32_t> waiting{kWorkers};
    std::vector<std::thread> threads;
    for (std::uint32_t w = 0; w < kWorkers; ++w) {
      threads.emplace_back([&, w] {
        Feeder feeder(cq, w);
        waiting.fetch_sub(1);
        while (waiting.load() != 0) sched_yield();
        for (std::uint64_t i = 0; i < kCapacity; ++i) {
          feeder.complete(i, false, w);
          if (i % 16 == 0) feeder.publish();
        }
        feeder.publish();
        told += feeder.overflows;
        if (feeder.lane().overflowed() && feeder.lane().claim_report()) ++reports;
      });
    }
    for (auto& t : threads) t.join();
    const auto kept = take(cq);
    ASSERT_EQ(kept.size(), kCapacity) << "round " << round;
    std::array<std::uint64_t, kWorkers> next{};
    for (const Completion& c : kept) ASSERT_EQ(c.wr_id, next[c.qpn]++) << "what is stored is each worker's first";
    EXPECT_EQ(reports.load(), 1);
    EXPECT_GE(told.load(), 2);
  }
}

// A queue pair is destroyed while others complete and somebody polls: nothing of it comes after purge(), everything
// else does.
TEST(CompletionQueueRace, PurgeAmongPollers) {
  CompletionQueue cq({.capacity = 256, .workers = 2});
  std::atomic<bool> stop{false};
  std::atomic<std::uint32_t> purged_below{1000};  // queue pairs 1000 .. this - 1 are gone
  std::atomic<std::uint64_t> late{0}, others_seen{0};
  std::thread poller([&] {
    std::array<Completion, 4> some;
    while (!stop.load(std::memory_order_acquire)) {
      const std::uint32_t gone = purged_below.load(std::memory_order_acquire);
      const std::size_t n = cq.poll(some);
      for (std::size_t i = 0; i < n; ++i) {
        if (some[i].qpn >= 1000 && some[i].qpn < gone) late.fetch_add(1);
        if (some[i].qpn == 1) others_seen.fetch_add(1, std::memory_order_acq_rel);
      }
      if (n == 0) sched_yield();
    }
  });
  std::uint64_t others = 0;
  std::thread other([&] {
    Feeder feeder(cq, 1);
    while (!stop.load(std::memory_order_acquire)) {
      if (others - others_seen.load(std::memory_order_acquire) > 60) {
        sched_yield();
        continue;
      }
      feeder.complete(others++, false, 1);
      feeder.publish();
    }
  });
  Feeder feeder(cq, 0);
  std::uint32_t qpn = 1000;
  for (const auto end = Wall::now() + kRaceTime; Wall::now() < end; ++qpn) {
    while (feeder.lane().size() > 64) sched_yield();
    for (std::uint64_t i = 0; i < 40; ++i) feeder.complete(i, false, qpn);
    feeder.publish();
    if (qpn % 2 == 0) sched_yield();
    cq.purge(qpn);
    purged_below.store(qpn + 1, std::memory_order_release);
  }
  until({}, [&] { return cq.lane(0).size() == 0; });
  stop.store(true, std::memory_order_release);
  other.join();
  poller.join();
  for (const Completion& c : take(cq)) others_seen += c.qpn == 1 ? 1 : 0;
  EXPECT_EQ(late.load(), 0u);
  EXPECT_EQ(others_seen.load(), others);
  EXPECT_GT(qpn, 1000u);
}

}  // namespace
}  // namespace uroce::engine::test
