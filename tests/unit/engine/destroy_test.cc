// SPDX-License-Identifier: BSD-3-Clause
// Destroying a queue pair in whatever state: nothing of it completes afterwards, its peer gets the acknowledgements it
// missed for a while, and then the number is nobody's. In virtual time, run to completion.
#include <unistd.h>

#include "node_rig.h"

namespace uroce::engine::test {
namespace {

using base::Duration;

// Two nodes and a cable. The timeout of `attributes()` is 4.2 ms, so a queue pair lingers 16.8 ms.
class Destroy : public testing::Test {
 protected:
  static constexpr Duration kLinger = Duration::nanos(4 * (4096 << 10));
  void connect(transport::QpAttributes with = attributes(kHere, kThere)) {
    ours_ = make_qp(node_, cq_, cq_);
    theirs_ = make_qp(peer_, their_cq_, their_cq_);
    with.dest_qpn = theirs_->qpn();
    ASSERT_TRUE(raise(node_, *ours_, with));
    std::swap(with.path.source, with.path.destination);
    std::swap(with.path.source_mac, with.path.destination_mac);
    with.dest_qpn = ours_->qpn();
    ASSERT_TRUE(raise(peer_, *theirs_, with));
  }
  void turns(int n = 10) {
    for (int i = 0; i < n; ++i) node_.progress(), peer_.progress();
  }
  // Virtual time in steps shorter than any timer.
  void pass(Duration d) {
    for (const Duration step = Duration::micros(500); d.ns > 0; d = d - step) {
      clock_.pass(step);
      turns(4);
    }
  }
  [[nodiscard]] bool known(std::uint32_t qpn) { return node_.worker().qps().find(qpn) != nullptr; }
  [[nodiscard]] std::uint64_t unknown_drops() { return node_.worker().ingress().drops(wire::Drop::unknown_qp); }

  ManualClock clock_;
  CableEnd port_, peer_port_{&port_};
  CompletionQueue cq_{{.events = true}}, their_cq_{{}};
  Node node_{port_, clock_, {.seed = 1}}, peer_{peer_port_, clock_, {.seed = 2}};
  Qp *ours_ = nullptr, *theirs_ = nullptr;
};

// SQE is missing: no reliable connection ever gets there.
TEST_F(Destroy, WithoutAConnectionItIsGoneAtOnce) {
  for (const QpState s : {QpState::reset, QpState::init, QpState::err}) {
    Qp* qp = make_qp(node_, cq_, cq_);
    const std::uint32_t qpn = qp->qpn();
    ASSERT_TRUE(raise(node_, *qp, attributes(kHere, kThere), QpState::init));
    ASSERT_EQ(receive(*qp, 1), PostError::none);
    if (s != QpState::init) {
      ASSERT_TRUE(to_state(node_, *qp, s));  // to ERR: the receive is flushed, and waits in the queue
    }
    ASSERT_EQ(qp->state(), s);
    node_.destroy_qp(*qp);
    EXPECT_FALSE(known(qpn)) << to_string(s);
    turns();
    EXPECT_TRUE(take(cq_).empty()) << to_string(s);
  }
}

TEST_F(Destroy, ConnectedItLingersAndIsGone) {
  for (const QpState s : {QpState::rtr, QpState::rts, QpState::sqd}) {
    Qp* qp = make_qp(node_, cq_, cq_);
    const std::uint32_t qpn = qp->qpn();
    ASSERT_TRUE(raise(node_, *qp, attributes(kHere, kThere), s == QpState::rtr ? s : QpState::rts));
    if (s == QpState::sqd) {
      ASSERT_TRUE(to_state(node_, *qp, s));
    }
    ASSERT_EQ(receive(*qp, 1), PostError::none);
    if (s != QpState::rtr) {
      for (std::uint64_t i = 0; i < 8; ++i) {
        ASSERT_EQ(send(node_, *qp, {.wr_id = i, .flags = SendFlag::signaled}), PostError::none);
      }
    }
    turns();
    const auto sent = port_.sent;
    EXPECT_EQ(sent != 0, s == QpState::rts) << "outstanding by now";
    port_.sent = 0;
    node_.destroy_qp(*qp);
    EXPECT_TRUE(known(qpn)) << to_string(s);
    // In RTR the timeout has not been set: its default, 14, holds.
    const Duration linger = s == QpState::rtr ? kLinger * 16 : kLinger;
    pass(linger - Duration::millis(1));
    EXPECT_TRUE(known(qpn)) << to_string(s);
    pass(Duration::millis(2) + linger);  // a timer fires between T and 2T
    EXPECT_FALSE(known(qpn)) << to_string(s);
    EXPECT_EQ(port_.sent, 0u) << "its requests are not sent again";
    EXPECT_TRUE(take(cq_).empty()) << to_string(s);
  }
}

// With a timeout of hours, and with none.
TEST_F(Destroy, LingersForASecondAtMost) {
  for (const std::uint8_t timeout : {std::uint8_t{31}, std::uint8_t{0}}) {
    auto with = attributes(kHere, kThere);
    with.timeout = timeout;
    connect(with);
    const std::uint32_t qpn = ours_->qpn();
    node_.destroy_qp(*ours_);
    pass(Duration::millis(990));
    EXPECT_TRUE(known(qpn));
    pass(Duration::millis(1100));
    EXPECT_FALSE(known(qpn));
  }
}

TEST_F(Destroy, WhatWaitedInTheQueueIsGoneAndTheOthersStay) {
  connect();
  Qp* bystander = make_qp(node_, cq_, cq_);
  ASSERT_TRUE(join(node_, *bystander, *bystander));
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(receive(*theirs_, i), PostError::none);
    ASSERT_EQ(receive(*bystander, 100 + i), PostError::none);
    ASSERT_EQ(send(node_, *ours_, {.wr_id = i, .flags = SendFlag::signaled}), PostError::none);
    ASSERT_EQ(send(node_, *bystander, {.wr_id = 200 + i, .flags = SendFlag::signaled}), PostError::none);
    turns(6);
  }
  node_.destroy_qp(*ours_);
  const auto left = take(cq_);
  EXPECT_EQ(left.size(), 20u);
  for (const Completion& c : left) EXPECT_EQ(c.qpn, bystander->qpn());
}

// Completed in the turn before, held back until the ACKs are out: destroyed, they never show.
TEST_F(Destroy, WhatWasNotYetVisibleNeverIs) {
  connect();
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(receive(*ours_, i), PostError::none);
    ASSERT_EQ(send(peer_, *theirs_, {.wr_id = i, .flags = SendFlag::signaled}), PostError::none);
  }
  peer_.progress();
  node_.progress();  // takes them and acknowledges
  node_.destroy_qp(*ours_);
  EXPECT_TRUE(take(cq_).empty());
  turns();
  EXPECT_TRUE(take(cq_).empty());
  EXPECT_EQ(take(their_cq_).size(), 5u) << "acknowledged all the same";
}

// O-31 for the destroyed: the peer's request arrived, its ACK was lost, and the application has gone.
TEST_F(Destroy, DuplicatesAreAcknowledgedWhileItLingers) {
  connect();
  ASSERT_EQ(receive(*ours_, 1), PostError::none);
  bool lossy = true;
  port_.loses = [&](CableEnd::Frame) { return lossy; };
  ASSERT_EQ(send(peer_, *theirs_, {.wr_id = 5, .flags = SendFlag::signaled}), PostError::none);
  turns();
  ASSERT_EQ(take(cq_).size(), 1u);
  ASSERT_TRUE(take(their_cq_).empty());
  node_.destroy_qp(*ours_);
  lossy = false;
  pass(Duration::millis(12));  // the peer's timeout, and its second try
  const auto done = take(their_cq_);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, WcStatus::success);
  EXPECT_EQ(done[0].wr_id, 5u);
}

// New requests get no answer, then the number is unknown; the peer ends by itself.
TEST_F(Destroy, NothingNewIsTaken) {
  connect();
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(receive(*ours_, i), PostError::none);
  std::vector<std::uint8_t> memory(4096, 7);
  const auto key = node_.register_region({memory.data(), 4096, 0, {Access::local_write, Access::remote_write}, 0});
  ASSERT_TRUE(key);
  node_.destroy_qp(*ours_);
  Buffer source(peer_, 64);
  const Sge out = source.sge(0, 64);
  port_.sent = 0;
  ASSERT_EQ(send(peer_, *theirs_, {1, WrOpcode::rdma_write, SendFlag::signaled, {&out, 1}, 0, *key}), PostError::none);
  ASSERT_EQ(send(peer_, *theirs_, {.wr_id = 2, .flags = SendFlag::signaled}), PostError::none);
  turns();
  EXPECT_EQ(unknown_drops(), 0u);
  pass(kLinger * 3);
  EXPECT_GT(unknown_drops(), 0u) << "the peer still tries";
  pass(Duration::millis(200));
  EXPECT_EQ(port_.sent, 0u);
  EXPECT_EQ(memory, std::vector<std::uint8_t>(4096, 7));
  EXPECT_TRUE(take(cq_).empty());
  const auto done = take(their_cq_);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].status, WcStatus::retry_exc_err);
  EXPECT_EQ(done[1].status, WcStatus::wr_flush_err);
}

// O-33: frames of the old connection after its end, whoever has a queue pair by then.
TEST_F(Destroy, OldFramesReachNobody) {
  connect();
  const std::uint32_t qpn = ours_->qpn();
  std::vector<std::uint8_t> recorded;
  peer_port_.on_sent = [&](CableEnd::Frame f) { recorded.assign(f.begin(), f.end()); };
  ASSERT_EQ(receive(*ours_, 1), PostError::none);
  ASSERT_EQ(send(peer_, *theirs_, {.wr_id = 1}), PostError::none);
  turns();
  ASSERT_EQ(opcode_name(recorded), "RC_SEND_ONLY");
  node_.destroy_qp(*ours_);
  pass(kLinger * 3);
  take(cq_);
  for (int i = 0; i < 50; ++i) {
    Qp* next = make_qp(node_, cq_, cq_);
    ASSERT_NE(next->qpn(), qpn);
    ASSERT_TRUE(raise(node_, *next, attributes(kHere, kThere)));
    ASSERT_EQ(receive(*next, 9), PostError::none);
    std::array<TxFrame, 1> again;
    ASSERT_EQ(peer_port_.tx_alloc(again), 1u);
    std::memcpy(again[0].data, recorded.data(), recorded.size());
    again[0].length = static_cast<std::uint32_t>(recorded.size());
    peer_port_.tx_burst(again);
    turns(2);
  }
  EXPECT_EQ(unknown_drops(), 50u);
  EXPECT_TRUE(take(cq_).empty());
}

// Its answers that are owed and its place in the egress lists go with it; a node may die with lingering queue pairs.
TEST_F(Destroy, InTheMiddleOfALongReadAndOfLongWrites) {
  connect();
  Buffer here(node_, 1 << 20), there(peer_, 1 << 20);
  const Sge in = there.sge(0, 1 << 20), out = here.sge(0, 1 << 20);
  ASSERT_EQ(send(peer_, *theirs_, {1, WrOpcode::rdma_read, SendFlag::signaled, {&in, 1}, here.iova(), here.key}),
            PostError::none);
  ASSERT_EQ(send(node_, *ours_, {1, WrOpcode::rdma_write, SendFlag::signaled, {&out, 1}, there.iova(), there.key}),
            PostError::none);
  turns(2);
  node_.destroy_qp(*ours_);
  turns();
  EXPECT_TRUE(take(cq_).empty());
  Qp* next = make_qp(node_, cq_, cq_);
  ASSERT_TRUE(join(node_, *next, *next));
  ASSERT_EQ(receive(*next, 1), PostError::none);
  ASSERT_EQ(send(node_, *next, {.wr_id = 7, .flags = SendFlag::signaled}), PostError::none);
  turns();
  EXPECT_EQ(take(cq_).size(), 2u) << "others are served";
}

TEST_F(Destroy, EventsOfTheDestroyedWakeForNothingAtMostOnce) {
  connect();
  cq_.arm(false);
  ASSERT_EQ(receive(*ours_, 1), PostError::none);
  node_.destroy_qp(*ours_);
  pass(kLinger * 3);
  std::uint64_t events = 0;
  EXPECT_NE(read(cq_.event_fd(), &events, sizeof(events)), static_cast<ssize_t>(sizeof(events)));
}

}  // namespace
}  // namespace uroce::engine::test
