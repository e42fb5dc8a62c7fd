// SPDX-License-Identifier: BSD-3-Clause
// Queue pair numbers: rested after use, and not to be guessed.
#include "engine/qpn_pool.h"

#include <algorithm>
#include <set>

#include "node_rig.h"

namespace uroce::engine::test {
namespace {

using base::Duration;
using base::Instant;

TEST(QpnPool, EveryNumberOnceThenNone) {
  QpnPool pool(2, 9, 1);
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 8; ++i) taken.insert(pool.take(Instant{0}));
  EXPECT_EQ(taken.size(), 8u);
  EXPECT_EQ(*taken.begin(), 2u);
  EXPECT_EQ(*taken.rbegin(), 9u);
  EXPECT_EQ(pool.take(Instant{0}), 0u);
}

TEST(QpnPool, ANumberRestsAfterUse) {
  QpnPool pool(2, 3, 1);
  const std::uint32_t first = pool.take(Instant{0}), second = pool.take(Instant{0});
  const Instant given_back{1'000'000};
  pool.give_back(first, given_back);
  const Instant end = given_back + QpnPool::kRest;
  EXPECT_EQ(pool.take(given_back), 0u);
  EXPECT_EQ(pool.take(end - Duration::nanos(1)), 0u);
  EXPECT_EQ(pool.take(end), first);
  pool.give_back(second, end);
  EXPECT_EQ(pool.take(end + QpnPool::kRest), second);
}

TEST(QpnPool, EachRestsFromItsOwnReturn) {
  QpnPool pool(2, 4, 7);
  std::uint32_t qpn[3];
  for (auto& q : qpn) q = pool.take(Instant{0});
  for (int i = 0; i < 3; ++i) pool.give_back(qpn[i], Instant{i * 1'000});
  for (int i = 0; i < 3; ++i) {
    const Instant due = Instant{i * 1'000} + QpnPool::kRest;
    EXPECT_EQ(pool.take(due - Duration::nanos(1)), 0u);
    EXPECT_EQ(pool.take(due), qpn[i]);
  }
}

TEST(QpnPool, FollowsTheSeed) {
  QpnPool one(2, 0xfffffe, 5), same(2, 0xfffffe, 5), other(2, 0xfffffe, 6);
  int alike = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t a = one.take(Instant{0});
    EXPECT_EQ(a, same.take(Instant{0}));
    alike += a == other.take(Instant{0}) ? 1 : 0;
  }
  EXPECT_LE(alike, 1);
}

// Neither near each other nor by a fixed step, and every bit of them moves about half of the time.
TEST(QpnPool, DoesNotTellTheNextFromTheLast) {
  QpnPool pool(2, 0xfffffe, 9);
  constexpr int kTaken = 4000;
  std::array<int, 24> flips{};
  std::set<std::uint32_t> steps;
  std::uint32_t last = pool.take(Instant{0});
  int near = 0;
  for (int i = 0; i < kTaken; ++i) {
    const std::uint32_t qpn = pool.take(Instant{0});
    ASSERT_GE(qpn, 2u);
    ASSERT_LE(qpn, 0xfffffeu);
    for (unsigned bit = 0; bit < 24; ++bit) flips[bit] += static_cast<int>((qpn ^ last) >> bit & 1u);
    const std::uint32_t step = (qpn - last) & 0xffffff;
    steps.insert(step);
    near += step < 1000 || step > 0xffffff - 1000 ? 1 : 0;
    last = qpn;
  }
  for (unsigned bit = 0; bit < 24; ++bit) EXPECT_NEAR(flips[bit], kTaken / 2, 200) << "bit " << bit;
  EXPECT_GT(steps.size(), kTaken - 10u);
  EXPECT_LE(near, 5);  // 2000 of 2^24 steps: 0.5 of 4000 expected
}

struct Renumbering {
  std::uint32_t make_and_destroy() {
    Qp* qp = make_qp(node, cq, cq);
    if (qp == nullptr) return 0;
    const std::uint32_t qpn = qp->qpn();
    node.destroy_qp(*qp);
    return qpn;
  }
  SilentPort port;
  ManualClock clock;
  Node node{port, clock, {.seed = 8}};  // one whose draws meet within 3000
  CompletionQueue cq{{}};
};

// O-33: a queue pair's number is not used again at once, whatever is made and destroyed meanwhile.
TEST(OCases, O_33b) {
  Renumbering r;
  std::set<std::uint32_t> used;
  for (int i = 0; i < 3000; ++i) {
    const std::uint32_t qpn = r.make_and_destroy();
    ASSERT_GT(qpn, 1u);
    EXPECT_TRUE(used.insert(qpn).second) << qpn << " came again within its rest";
    r.clock.pass(Duration::millis(3));  // 9 s for all: less than the rest
  }
}

// O-33: a connected one lingers first, and rests from when it is gone.
TEST(OCases, O_33c) {
  Renumbering r;
  Qp* qp = make_qp(r.node, r.cq, r.cq);
  ASSERT_TRUE(join(r.node, *qp, *qp));
  const std::uint32_t qpn = qp->qpn();
  r.node.destroy_qp(*qp);
  EXPECT_NE(r.node.worker().qps().find(qpn), nullptr) << "lingers";
  r.clock.pass(Duration::seconds(2));
  for (int i = 0; i < 10; ++i) r.node.progress();
  EXPECT_EQ(r.node.worker().qps().find(qpn), nullptr);
}

}  // namespace
}  // namespace uroce::engine::test
