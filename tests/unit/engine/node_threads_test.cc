// SPDX-License-Identifier: BSD-3-Clause
// A node in each way of threading and of idling: it is made, connects, carries traffic, and ends.
#include <poll.h>
#include <unistd.h>

#include <fstream>
#include <numeric>
#include <string>

#include "threads_rig.h"

namespace uroce::engine::test {
namespace {

using Mode = std::tuple<Threading, Idle>;

std::string mode_name(const testing::TestParamInfo<Mode>& info) {
  return std::string(name_of(std::get<0>(info.param))) + name_of(std::get<1>(info.param));
}

int thread_count() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  }
  return -1;
}

class NodeModes : public testing::TestWithParam<Mode> {
 protected:
  [[nodiscard]] static NodeConfig config(std::uint64_t seed) {
    return {.seed = seed, .max_regions = 64, .threading = std::get<0>(GetParam()), .idle = std::get<1>(GetParam())};
  }
  // SENDs with data both ways, and each one compared.
  static void exchange(Node& a, Node& b, Qp& at_a, Qp& at_b, CompletionQueue& cq_a, CompletionQueue& cq_b) {
    constexpr std::size_t kBytes = 5000, kMessages = kSanitized ? 8 : 40;
    Buffer out(a, kBytes), in(b, kBytes);
    const Sge to = in.sge(0, kBytes), from = out.sge(0, kBytes);
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      out.fill(i);
      ASSERT_EQ(receive(at_b, i, {&to, 1}), PostError::none);
      ASSERT_EQ(send(a, at_a, {.wr_id = i, .flags = SendFlag::signaled, .sges = {&from, 1}}), PostError::none);
      // One queue for both ends is possible: then both completions come from it.
      std::size_t wanted = &cq_a == &cq_b ? 2 : 1;
      ASSERT_EQ(collect({&a, &b}, cq_b, wanted).size(), wanted);
      if (&cq_a != &cq_b) {
        ASSERT_EQ(collect({&a, &b}, cq_a, 1).size(), 1u);
      }
      ASSERT_EQ(in.bytes, out.bytes);
    }
  }
};

TEST_P(NodeModes, MakesConnectsCarriesAndEnds) {
  const int before = thread_count();
  for (int life = 0; life < (kSanitized ? 2 : 3); ++life) {
    SilentPort port;
    WallClock clock;
    Node node(port, clock, config(7));
    EXPECT_EQ(thread_count(), before + (std::get<0>(GetParam()) == Threading::dedicated ? 1 : 0));
    CompletionQueue cq{{}};
    Qp* a = make_qp(node, cq, cq);
    Qp* b = make_qp(node, cq, cq);
    ASSERT_TRUE(join(node, *a, *b));
    exchange(node, node, *a, *b, cq, cq);
    node.destroy_qp(*a);
    if (life == 1) node.destroy_qp(*b);  // else the node dies with it
  }
  EXPECT_EQ(thread_count(), before);
}

TEST_P(NodeModes, TwoNodesOverACable) {
  WallClock clock;
  CableEnd port_a, port_b(&port_a);
  CompletionQueue cq_a{{}}, cq_b{{}};
  Node a(port_a, clock, config(7)), b(port_b, clock, config(8));
  Qp* at_a = make_qp(a, cq_a, cq_a);
  Qp* at_b = make_qp(b, cq_b, cq_b);
  auto with = attributes(kHere, kThere);
  with.timeout = 17;  // a busy machine is no lossy network
  with.dest_qpn = at_b->qpn();
  ASSERT_TRUE(raise(a, *at_a, with));
  std::swap(with.path.source, with.path.destination);
  with.dest_qpn = at_a->qpn();
  ASSERT_TRUE(raise(b, *at_b, with));
  exchange(a, b, *at_a, *at_b, cq_a, cq_b);
  a.destroy_qp(*at_a);
  b.destroy_qp(*at_b);
}

// Ends while frames fly and requests wait, many times.
TEST_P(NodeModes, EndsInTheMidstOfTraffic) {
  for (int life = 0; life < (kSanitized ? 5 : 50); ++life) {
    SilentPort port;
    WallClock clock;
    CompletionQueue cq{{}};
    Node node(port, clock, config(static_cast<std::uint64_t>(life)));
    Qp* qp = make_qp(node, cq, cq);
    ASSERT_TRUE(join(node, *qp, *qp));
    Buffer memory(node, 100'000);
    const Sge out = memory.sge(0, 50'000);
    for (std::uint64_t i = 0; i < 16; ++i) {
      ASSERT_EQ(send(node, *qp, {i, WrOpcode::rdma_write, {}, {&out, 1}, memory.iova() + 50'000, memory.key}),
                PostError::none);
    }
    for (int i = 0; i < life; ++i) node.progress();
  }
}

TEST_P(NodeModes, EventsReachTheApplication) {
  SilentPort port;
  WallClock clock;
  CompletionQueue cq{{}};
  Node node(port, clock, config(7));
  Qp* qp = make_qp(node, cq, cq);
  ASSERT_TRUE(join(node, *qp, *qp));
  Buffer memory(node, 64);
  const Sge out = memory.sge(0, 64);
  ASSERT_EQ(send(node, *qp, {1, WrOpcode::rdma_write, {}, {&out, 1}, memory.iova(), 0xbad}), PostError::none);
  pollfd fd{node.event_fd(), POLLIN, 0};
  EXPECT_TRUE(until({&node}, [&] { return ::poll(&fd, 1, 0) == 1; }));
  const auto e = node.poll_event();
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(e->number, qp->qpn());
  EXPECT_TRUE(e->type == AsyncEventType::qp_access_err || e->type == AsyncEventType::comm_est);
}

INSTANTIATE_TEST_SUITE_P(Modes, NodeModes,
                         testing::Combine(testing::Values(Threading::single, Threading::shared, Threading::dedicated),
                                          testing::Values(Idle::spin, Idle::yield, Idle::nap)),
                         mode_name);

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

TEST(NodeIdle, ANappingThreadLeavesTheCore) {
  SilentPort port;
  WallClock clock;
  Node node(port, clock, {.seed = 1, .max_regions = 64, .threading = Threading::dedicated, .idle = Idle::nap});
  usleep(20'000);
  const double before = cpu_seconds();
  usleep(200'000);
  EXPECT_LT(cpu_seconds() - before, 0.12);
}

TEST(NodeIdle, ADedicatedThreadRunsOnItsCore) {
  SilentPort port;
  WallClock clock;
  cpu_set_t allowed;
  ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof(allowed), &allowed), 0);
  int core = CPU_SETSIZE - 1;
  while (!CPU_ISSET(static_cast<unsigned>(core), &allowed)) --core;
  Node node(port, clock, {.seed = 1, .max_regions = 64, .threading = Threading::dedicated, .core = core});
  usleep(1000);
  int seen = -1;
  node.on_worker([&](Worker&) { seen = sched_getcpu(); });
  EXPECT_EQ(seen, core);
}

// Several application threads, each with its own queue pairs and queue; in shared mode all of them do the work.
class NodeThreads : public testing::TestWithParam<Threading> {};

TEST_P(NodeThreads, SeveralApplicationsAtOnce) {
  SilentPort port;
  WallClock clock;
  Node node(port, clock, {.seed = 9, .max_regions = 64, .threading = GetParam()});
  std::atomic<std::uint64_t> carried{0};
  std::vector<std::thread> threads;
  const auto end = Wall::now() + kRaceTime;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (Wall::now() < end) {
        CompletionQueue cq{{}};
        Qp* a = make_qp(node, cq, cq);
        Qp* b = make_qp(node, cq, cq);
        ASSERT_TRUE(a != nullptr && b != nullptr && join(node, *a, *b));
        {
          Buffer out(node, 3000), in(node, 3000);
          const Sge from = out.sge(0, 3000);
          for (std::uint32_t i = 0; i < 10; ++i) {
            out.fill(i);
            ASSERT_EQ(send(node, *a, {i, WrOpcode::rdma_write, SendFlag::signaled, {&from, 1}, in.iova(), in.key}),
                      PostError::none);
            const auto done = collect({&node}, cq, 1);
            ASSERT_EQ(done.size(), 1u);
            ASSERT_EQ(done[0].status, WcStatus::success);
            ASSERT_EQ(in.bytes, out.bytes);
            carried.fetch_add(1);
          }
        }
        node.destroy_qp(*a);
        node.destroy_qp(*b);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_GT(carried.load(), 0u);
}

// Queue pairs that fail while the application posts: every request completes, once, whatever the moment (O-38, O-39).
TEST_P(NodeThreads, PostsMeetErrors) {
  SilentPort port;
  WallClock clock;
  CompletionQueue sent{{.capacity = 1024}}, received{{.capacity = 1024}};
  Node node(port, clock, {.seed = 9, .max_regions = 64, .threading = GetParam()});
  std::optional<Pump> pump;
  if (GetParam() == Threading::shared) pump.emplace(node);
  const OnCore core(0);
  base::Rng rng(3);
  for (const auto end = Wall::now() + kRaceTime; Wall::now() < end;) {
    Qp* qp = make_qp(node, sent, received, queue_pair(256));
    ASSERT_TRUE(join(node, *qp, *qp));
    std::thread breaker([&node, qp, pause = rng.below(3000)] {
      for (std::uint32_t i = pause; i != 0; --i) __builtin_ia32_pause();
      to_state(node, *qp, QpState::err);
    });
    constexpr std::uint64_t kPosts = 100;
    for (std::uint64_t i = 0; i < kPosts; ++i) {
      ASSERT_EQ(receive(*qp, i), PostError::none);
      // As the public call does: see QueuePair::post_recv().
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (qp->state() == QpState::err) node.doorbell(*qp);
      ASSERT_EQ(send(node, *qp, {.wr_id = i, .flags = SendFlag::signaled}), PostError::none);
    }
    breaker.join();
    for (CompletionQueue* cq : {&sent, &received}) {
      const auto all = collect({&node}, *cq, kPosts, 5s);
      ASSERT_EQ(all.size(), kPosts);
      for (std::uint64_t i = 0; i < kPosts; ++i) ASSERT_EQ(all[i].wr_id, i);
    }
    node.destroy_qp(*qp);
  }
}

// Destroyed in the midst of its traffic while another thread polls.
TEST_P(NodeThreads, NothingCompletesAfterDestroy) {
  SilentPort port;
  WallClock clock;
  CompletionQueue cq{{.capacity = 4096}};
  Node node(port, clock, {.seed = 9, .max_regions = 64, .threading = GetParam()});
  // By QPN, the later of two that meet: the epoch in which destroy had returned, and the QPN.
  std::vector<std::atomic<std::uint64_t>> gone(1u << 16);
  std::atomic<std::uint32_t> epoch{0};
  std::atomic<std::uint64_t> late{0}, seen{0};
  std::atomic<bool> stop{false};
  std::thread poller([&] {
    const OnCore core(1);
    std::array<Completion, 4> some;
    while (!stop.load(std::memory_order_acquire)) {
      const std::uint32_t now = epoch.load(std::memory_order_acquire);
      const std::size_t n = cq.poll(some);
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t when = gone[some[i].qpn & 0xffffu].load(std::memory_order_acquire);
        if ((when & 0xffffffu) == some[i].qpn && when >> 24 <= now) late.fetch_add(1);
      }
      seen.fetch_add(n);
      if (n == 0 && node.progress() == 0) sched_yield();
    }
  });
  {
    const OnCore core(0);
    base::Rng rng(4);
    Buffer memory(node, 8192);
    const Sge out = memory.sge(0, 4096);
    for (const auto end = Wall::now() + kRaceTime; Wall::now() < end;) {
      Qp* pair[2] = {make_qp(node, cq, cq), make_qp(node, cq, cq)};
      ASSERT_TRUE(join(node, *pair[0], *pair[1]));
      for (std::uint64_t i = 0; i < 30; ++i) {
        for (Qp* qp : pair) {
          ASSERT_EQ(receive(*qp, i), PostError::none);
          const bool write = rng.below(2) == 0;
          ASSERT_EQ(send(node, *qp,
                         {i, write ? WrOpcode::rdma_write : WrOpcode::send, SendFlag::signaled,
                          write ? std::span(&out, 1) : std::span<const Sge>{}, memory.iova() + 4096, memory.key}),
                    PostError::none);
        }
      }
      pause_a_little(rng, kSanitized ? 50'000 : 2000);
      for (Qp* qp : pair) {
        const std::uint32_t qpn = qp->qpn();
        node.destroy_qp(*qp);
        gone[qpn & 0xffffu].store(std::uint64_t{epoch.load() + 1} << 24 | qpn, std::memory_order_release);
        epoch.fetch_add(1, std::memory_order_release);
      }
    }
  }
  stop.store(true, std::memory_order_release);
  poller.join();
  EXPECT_EQ(late.load(), 0u);
  if (!kSanitized && seen.load() < 100) GTEST_SKIP() << "the threads only took turns: hardly anything completed";
}

INSTANTIATE_TEST_SUITE_P(Modes, NodeThreads, testing::Values(Threading::shared, Threading::dedicated),
                         [](const auto& mode) { return name_of(mode.param); });

}  // namespace
}  // namespace uroce::engine::test
