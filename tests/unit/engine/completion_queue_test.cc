// SPDX-License-Identifier: BSD-3-Clause
// A completion queue, one thread: arming and events, lanes, purging, what is kept after it overflowed.
#include "engine/completion_queue.h"

#include "feeder.h"
#include "node_rig.h"

namespace uroce::engine::test {
namespace {

CompletionQueueConfig with_events(std::uint32_t workers = 1) {
  return {.number = 5, .capacity = 64, .workers = workers, .events = true};
}

std::vector<std::uint64_t> ids(const std::vector<Completion>& all) {
  std::vector<std::uint64_t> out;
  for (const Completion& c : all) out.push_back(c.wr_id);
  return out;
}
using Ids = std::vector<std::uint64_t>;

TEST(CompletionQueue, WakesOnceAnArm) {
  CompletionQueue cq(with_events());
  Feeder worker(cq);
  worker.complete_now(1);
  EXPECT_EQ(take_events(cq), 0u) << "nobody armed it";
  cq.arm(false);
  EXPECT_EQ(take_events(cq), 0u) << "what came before does not count";
  for (std::uint64_t i = 2; i < 5; ++i) worker.complete_now(i);
  EXPECT_EQ(take_events(cq), 1u);
  cq.arm(false);
  cq.arm(false);
  worker.complete_now(5);
  worker.complete_now(6);
  EXPECT_EQ(take_events(cq), 1u) << "armed twice before anything happened is armed once";
  EXPECT_EQ(ids(take(cq)), (Ids{1, 2, 3, 4, 5, 6}));
}

TEST(CompletionQueue, WakesWhenTheCompletionIsVisibleAndNotBefore) {
  CompletionQueue cq(with_events());
  Feeder worker(cq);
  cq.arm(false);
  worker.complete(1);
  EXPECT_TRUE(take(cq).empty());
  EXPECT_EQ(take_events(cq), 0u);
  worker.publish();
  EXPECT_EQ(take_events(cq), 1u);
  EXPECT_EQ(take(cq).size(), 1u);
}

TEST(CompletionQueue, SolicitedPassesOverOthers) {
  CompletionQueue cq(with_events());
  Feeder worker(cq);
  cq.arm(true);
  worker.complete_now(1, false);
  worker.complete_now(2, false);
  EXPECT_EQ(take_events(cq), 0u);
  worker.complete(3, true);  // in the midst of a turn's
  worker.complete(4, false);
  worker.publish();
  EXPECT_EQ(take_events(cq), 1u);
  worker.complete_now(5, true);
  EXPECT_EQ(take_events(cq), 0u) << "one event an arm";
  cq.arm(true);
  worker.complete_now(6, false);
  EXPECT_EQ(take_events(cq), 0u) << "5 was solicited, and before the arm";
}

TEST(CompletionQueue, NextWinsOverSolicited) {
  CompletionQueue cq(with_events());
  Feeder worker(cq);
  for (const bool solicited_first : {true, false}) {
    cq.arm(solicited_first);
    cq.arm(!solicited_first);
    worker.complete_now(1, false);
    EXPECT_EQ(take_events(cq), 1u) << "solicited first: " << solicited_first;
    worker.complete_now(2, true);
    EXPECT_EQ(take_events(cq), 0u) << "the one event is used up for both";
  }
}

TEST(CompletionQueue, WithoutADescriptorPaysNoWrite) {
  CompletionQueue cq({.number = 5, .capacity = 8});
  EXPECT_EQ(cq.event_fd(), -1);
  Feeder worker(cq);
  cq.arm(false);
  worker.complete_now(1, true);
  EXPECT_EQ(worker.notifications, 0) << "the worker does not even look";
  EXPECT_EQ(take(cq).size(), 1u);
}

TEST(CompletionQueue, EachLaneInOrderAndNoneStarves) {
  CompletionQueue cq(with_events(3));
  Feeder a(cq, 0), b(cq, 1), c(cq, 2);
  for (std::uint64_t i = 0; i < 20; ++i) a.complete(100 + i);
  for (std::uint64_t i = 0; i < 3; ++i) b.complete(200 + i);
  for (std::uint64_t i = 0; i < 3; ++i) c.complete(300 + i);
  a.publish(), b.publish(), c.publish();
  std::array<Completion, 4> some;
  Ids seen;
  for (int polls = 0; polls < 4; ++polls) {
    const std::size_t n = cq.poll(some);
    ASSERT_GT(n, 0u);
    for (std::size_t i = 0; i < n; ++i) seen.push_back(some[i].wr_id);
  }
  const auto of = [&](std::uint64_t lane) {
    Ids out;
    for (const std::uint64_t id : seen) {
      if (id / 100 == lane) out.push_back(id % 100);
    }
    return out;
  };
  EXPECT_EQ(of(2), (Ids{0, 1, 2})) << "waits behind the full lane";
  EXPECT_EQ(of(3), (Ids{0, 1, 2}));
  for (const Completion& w : take(cq)) seen.push_back(w.wr_id);
  Ids all(20);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  EXPECT_EQ(of(1), all);
}

TEST(CompletionQueue, TakesNoMoreThanThereIsRoomFor) {
  CompletionQueue cq(with_events(2));
  Feeder a(cq, 0), b(cq, 1);
  for (std::uint64_t i = 0; i < 3; ++i) a.complete(i), b.complete(10 + i);
  a.publish(), b.publish();
  std::array<Completion, 2> two;
  EXPECT_EQ(cq.poll(std::span(two).first(0)), 0u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cq.poll(two), 2u);
  EXPECT_EQ(cq.poll(two), 0u);
}

TEST(CompletionQueue, CapacityCountsOverAllLanes) {
  CompletionQueue cq({.capacity = 8, .workers = 2});
  Feeder a(cq, 0), b(cq, 1);
  // Far more than fit, as long as they are polled.
  for (std::uint64_t i = 0; i < 100; ++i) {
    for (int k = 0; k < 3; ++k) a.complete(i);
    for (int k = 0; k < 5; ++k) b.complete(i);
    a.publish(), b.publish();
    ASSERT_EQ(take(cq).size(), 8u);
  }
  EXPECT_EQ(a.overflows + b.overflows, 0);
  for (std::uint64_t i = 0; i < 5; ++i) a.complete(i);
  for (std::uint64_t i = 10; i < 13; ++i) b.complete(i);
  EXPECT_EQ(a.overflows + b.overflows, 0) << "just full";
  b.complete(13);
  EXPECT_EQ(b.overflows, 1);
  a.complete(5);
  EXPECT_EQ(a.overflows, 1) << "each worker is told, for its own queue pairs";
  a.complete(6), b.complete(14);
  EXPECT_EQ(a.overflows + b.overflows, 2) << "and once only";
  EXPECT_NE(a.lane().claim_report(), b.lane().claim_report()) << "one of them raises CQ_ERR";
  a.publish(), b.publish();
  auto kept = ids(take(cq));
  std::sort(kept.begin(), kept.end());
  EXPECT_EQ(kept, (Ids{0, 1, 2, 3, 4, 10, 11, 12}));
}

TEST(CompletionQueue, AFullPowerOfTwoAndAnOddCapacityHoldWhatTheySay) {
  for (const std::uint32_t capacity : {1u, 2u, 3u, 64u, 100u}) {
    CompletionQueue cq({.capacity = capacity});
    Feeder worker(cq);
    for (std::uint32_t i = 0; i < capacity; ++i) worker.complete(i);
    EXPECT_EQ(worker.overflows, 0) << capacity;
    worker.complete(capacity);
    EXPECT_EQ(worker.overflows, 1) << capacity;
    worker.publish();
    EXPECT_EQ(take(cq).size(), capacity);
  }
}

TEST(CompletionQueue, PurgeForgetsOneQueuePairOnly) {
  CompletionQueue cq(with_events(2));
  Feeder a(cq, 0), b(cq, 1);
  for (std::uint64_t i = 0; i < 6; ++i) a.complete(i, false, i % 2 == 0 ? 7 : 8);
  b.complete(10, false, 9);
  a.publish(), b.publish();
  cq.purge(7);
  EXPECT_EQ(ids(take(cq)), (Ids{1, 3, 5, 10}));
  a.complete_now(11);  // the number's next owner: the slots that were purged are clean again
  for (std::uint64_t i = 12; i < 80; ++i) {
    a.complete_now(i);
    ASSERT_EQ(take(cq).size(), i == 12 ? 2u : 1u);
  }
}

TEST(CompletionQueue, PurgedEntriesDoNotFillAPoll) {
  CompletionQueue cq(with_events());
  Feeder worker(cq);
  for (std::uint64_t i = 0; i < 20; ++i) worker.complete(i, false, 7);
  worker.complete(20, false, 8);
  worker.publish();
  cq.purge(7);
  std::array<Completion, 1> one;
  ASSERT_EQ(cq.poll(one), 1u);
  EXPECT_EQ(one[0].wr_id, 20u);
}

// O-41: what wakes a queue by what the traffic is. Plain SENDs, a SEND with the solicited bit, an error completion.
struct Notification {
  Notification() {
    a = make_qp(node, sent, received);
    b = make_qp(node, sent, received);
    EXPECT_TRUE(join(node, *a, *b));
    for (std::uint64_t i = 0; i < 16; ++i) EXPECT_EQ(receive(*b, i), PostError::none);
  }
  void send_one(SendFlags flags) {
    ASSERT_EQ(send(node, *a, {.wr_id = 1, .flags = flags | SendFlag::signaled}), PostError::none);
    for (int i = 0; i < 20; ++i) node.progress();
  }
  std::uint64_t take_received() { return take(received).size(); }

  SilentPort port;
  ManualClock clock;
  Node node{port, clock, {.seed = 1}};
  CompletionQueue sent{with_events()}, received{with_events()};
  Qp *a = nullptr, *b = nullptr;
};

TEST(OCases, O_41a) {
  Notification n;
  // Solicited, then next: any completion wakes.
  n.received.arm(true);
  n.received.arm(false);
  n.send_one({});
  EXPECT_EQ(take_events(n.received), 1u);
  n.send_one({});
  EXPECT_EQ(take_events(n.received), 0u) << "not armed again";
  // Next, then solicited: the request for every completion stands.
  n.received.arm(false);
  n.received.arm(true);
  n.send_one({});
  EXPECT_EQ(take_events(n.received), 1u);
  // Solicited only: passes over a plain SEND, wakes on the one with the bit, once.
  n.received.arm(true);
  n.send_one({});
  EXPECT_EQ(take_events(n.received), 0u);
  n.send_one(SendFlag::solicited);
  EXPECT_EQ(take_events(n.received), 1u);
  n.send_one(SendFlag::solicited);
  EXPECT_EQ(take_events(n.received), 0u);
  EXPECT_EQ(n.take_received(), 6u);
}

TEST(OCases, O_41b) {
  Notification n;
  // Error completions count as solicited, at both queues; the sender's successes never do.
  n.sent.arm(true);
  n.received.arm(true);
  n.send_one({});
  n.send_one(SendFlag::solicited);
  EXPECT_EQ(take_events(n.sent), 0u);
  EXPECT_EQ(take_events(n.received), 1u);
  n.received.arm(true);
  ASSERT_EQ(send(n.node, *n.a, {.wr_id = 9, .opcode = WrOpcode::rdma_write, .remote_address = 0, .rkey = 0}),
            PostError::none);
  for (int i = 0; i < 20; ++i) n.node.progress();
  EXPECT_EQ(take_events(n.sent), 0u) << "a WRITE of nothing needs no key";
  Buffer source(n.node, 64);
  const Sge sge = source.sge(0, 64);
  ASSERT_EQ(send(n.node, *n.a, {.wr_id = 10, .opcode = WrOpcode::rdma_write, .sges = {&sge, 1}, .rkey = 0xdead}),
            PostError::none);
  for (int i = 0; i < 20; ++i) n.node.progress();
  EXPECT_EQ(take_events(n.sent), 1u);
  EXPECT_EQ(take_events(n.received), 1u) << "14 flushed receives, one event";
  const auto done = take(n.sent);
  ASSERT_EQ(done.size(), 3u);
  EXPECT_EQ(done[2].status, WcStatus::rem_access_err);
  EXPECT_EQ(n.take_received(), 16u);
}

}  // namespace
}  // namespace uroce::engine::test
