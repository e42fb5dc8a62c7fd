// SPDX-License-Identifier: BSD-3-Clause
// Who sends when: order kept, nothing lost, nobody starved, whatever the port takes.
#include "engine/egress.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>

#include "base/rng.h"
#include "connection.h"
#include "fake_port.h"

namespace uroce::engine::test {
namespace {

class EgressTest : public testing::Test, protected transport::QpHost {
 protected:
  static constexpr std::size_t kBuffers = 100;

  EgressTest() { egress_ = std::make_unique<Egress>(port_); }
  void enlist_answers(Qp& qp) override { egress_->enlist_answers(qp); }
  void enlist_requests(Qp& qp) override { egress_->enlist_requests(qp); }
  void set_timer(Qp&, base::Instant) override {}
  void pace(Qp&, base::Instant) override {}
  void on_cq_overflow(CompletionLane&) override {}
  void on_published(CompletionLane&, bool) override {}

  Qp& connection(std::uint32_t qpn, std::uint32_t first_psn) {
    qps_.push_back(std::make_unique<Qp>(config_of(qpn, lane_.lane, lane_.lane)));
    Qp& qp = *qps_.back();
    connect(qp, first_psn,
            [&](const transport::QpAttributes& a, QpAttrMask m) { return qp.modify(a, m, context_).has_value(); });
    return qp;
  }
  // A SEND from the peer for which there is no receive: the queue pair owes an RNR NAK.
  void owe_an_answer(Qp& qp) {
    wire::Path back = some_path();
    std::swap(back.source, back.destination);
    std::array<std::uint8_t, FakePort::kFrameBytes> frame;
    const wire::FrameTemplate t(back);
    wire::FrameWriter w(t, frame.data(), wire::opcode::kSendOnly, 0);
    w.bth().dest_qp.set(qp.qpn());
    w.bth().psn.set(500);
    const std::size_t length = w.finish();
    wire::Drop why{};
    const auto p = wire::parse_frame({frame.data(), length}, why);
    ASSERT_TRUE(p);
    qp.on_packet(*p, context_);
  }
  // Polls until nothing is left; returns how often.
  int drain() {
    for (int turns = 1; turns <= 10'000; ++turns) {
      const std::size_t before = port_.sent.size();
      const int said = egress_->poll(context_);
      EXPECT_EQ(static_cast<std::size_t>(said), port_.sent.size() - before);
      if (egress_->idle()) return turns;
    }
    ADD_FAILURE() << "never idle";
    return 0;
  }
  // Each connection's frames carry the PSNs from its first on, one by one, `n` of them.
  void expect_in_order(const std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>& first_and_count) {
    std::map<std::uint32_t, std::uint32_t> seen;
    for (std::size_t i = 0; i < port_.sent.size(); ++i) {
      const wire::RocePacket p = port_.packet(i);
      const std::uint32_t qpn = p.dest_qp() - 1000;
      ASSERT_EQ(p.info().op, wire::Op::send);
      ASSERT_TRUE(first_and_count.contains(qpn));
      ASSERT_EQ(p.psn(), (first_and_count.at(qpn).first + seen[qpn]++) & 0xffffff) << "frame " << i << " of qp " << qpn;
    }
    for (const auto& [qpn, what] : first_and_count) EXPECT_EQ(seen[qpn], what.second) << "qp " << qpn;
  }

  FakePort port_{kBuffers};
  memory::MemoryTable memory_{4, 1};
  Events events_;
  transport::Counters counters_;
  transport::Context context_{base::Instant{1000}, memory_, events_, *this, counters_};
  Lane<64> lane_{1};
  std::vector<std::unique_ptr<Qp>> qps_;
  std::unique_ptr<Egress> egress_;
};

TEST_F(EgressTest, IdleWithoutWork) {
  EXPECT_TRUE(egress_->idle());
  EXPECT_TRUE(egress_->clear());
  EXPECT_EQ(egress_->poll(context_), 0);
  connection(7, 1);  // ready to send, but nothing posted
  drain();
  EXPECT_TRUE(port_.sent.empty());
}

TEST_F(EgressTest, TwoConnectionsThroughPortsThatTakeFew) {
  for (std::size_t take :
       {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{16}, std::size_t{63}, SIZE_MAX}) {
    for (std::size_t alloc : {std::size_t{1}, std::size_t{5}, std::size_t{64}}) {
      SCOPED_TRACE(testing::Message() << "takes " << take << ", gives buffers for " << alloc);
      egress_ = std::make_unique<Egress>(port_);
      qps_.clear();
      port_.sent.clear();
      port_.take_at_once = take;
      port_.alloc_at_once = alloc;
      Qp& a = connection(1, 0xfffff0);  // wraps on the way
      Qp& b = connection(2, 77);
      post_sends(a, 150);
      post_sends(b, 90);
      drain();
      expect_in_order({{1, {0xfffff0, 150}}, {2, {77, 90}}});
    }
  }
}

TEST_F(EgressTest, AMoodyPortLosesNothing) {
  base::Rng rng(4);
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> expected;
  for (std::uint32_t q = 0; q < 5; ++q) {
    connection(q + 10, 1000 * q);
    expected[q + 10] = {1000 * q, 0};
  }
  for (int turn = 0; turn < 3000; ++turn) {
    port_.take_at_once = rng.below(3) == 0 ? 0 : rng.below(40);
    port_.alloc_at_once = rng.below(4) == 0 ? 0 : rng.below(64);
    if (turn < 2000 && rng.below(4) == 0) {
      Qp& qp = *qps_[rng.below(5)];
      const std::uint32_t n = rng.below(20);
      if (expected[qp.qpn()].second + n <= 512) {  // they stay in the queue until acknowledged
        post_sends(qp, static_cast<int>(n));
        expected[qp.qpn()].second += n;
        egress_->enlist_requests(qp);
      }
    }
    egress_->poll(context_);
    ASSERT_LE(kBuffers - port_.free_buffers(), Egress::kBatch);
  }
  port_.take_at_once = port_.alloc_at_once = SIZE_MAX;
  drain();
  expect_in_order(expected);
  EXPECT_GT(port_.sent.size(), 1000u);
}

// While both have work, neither is ahead by more than a quantum.
TEST_F(EgressTest, NeitherOfTwoStarves) {
  for (std::size_t alloc : {std::size_t{3}, std::size_t{16}, std::size_t{20}, std::size_t{64}}) {
    for (std::size_t take : {std::size_t{5}, SIZE_MAX}) {
      SCOPED_TRACE(testing::Message() << "takes " << take << ", gives buffers for " << alloc);
      egress_ = std::make_unique<Egress>(port_);
      qps_.clear();
      port_.sent.clear();
      port_.alloc_at_once = alloc;
      port_.take_at_once = take;
      Qp& a = connection(1, 0);
      Qp& b = connection(2, 0);
      post_sends(a, 300);
      post_sends(b, 300);
      drain();
      int ahead = 0, a_sent = 0, b_sent = 0;
      for (std::size_t i = 0; i < port_.sent.size(); ++i) {
        (port_.packet(i).dest_qp() == 1001 ? a_sent : b_sent)++;
        if (a_sent < 300 && b_sent < 300) ahead = std::max(ahead, std::abs(a_sent - b_sent));
      }
      EXPECT_EQ(a_sent, 300);
      EXPECT_EQ(b_sent, 300);
      EXPECT_LE(ahead, static_cast<int>(Egress::kQuantum));
    }
  }
}

TEST_F(EgressTest, AQuantumAtATimeAndTheBatchFull) {
  std::vector<Qp*> qps;
  for (std::uint32_t q = 1; q <= 6; ++q) {
    qps.push_back(&connection(q, 0));
    post_sends(*qps.back(), 40);
  }
  EXPECT_EQ(egress_->poll(context_), static_cast<int>(Egress::kBatch));
  for (std::size_t i = 0; i < Egress::kBatch; ++i)
    EXPECT_EQ(port_.packet(i).dest_qp(), 1001 + i / Egress::kQuantum) << i;
  // Who had no turn comes first now.
  egress_->poll(context_);
  EXPECT_EQ(port_.packet(Egress::kBatch).dest_qp(), 1005u);
  EXPECT_EQ(port_.packet(Egress::kBatch + Egress::kQuantum).dest_qp(), 1006u);
}

TEST_F(EgressTest, AnswersGoBeforeRequests) {
  Qp& talker = connection(1, 0);
  Qp& answerer = connection(2, 0);
  post_sends(talker, 100);
  owe_an_answer(answerer);
  egress_->poll(context_);
  ASSERT_GE(port_.sent.size(), 2u);
  EXPECT_EQ(port_.packet(0).dest_qp(), 1002u);
  EXPECT_EQ(port_.packet(0).info().op, wire::Op::ack);
  EXPECT_EQ(port_.packet(1).dest_qp(), 1001u);
}

TEST_F(EgressTest, FramesThatThePortRefusedStayFirstInLine) {
  Qp& qp = connection(1, 0);
  Qp& answerer = connection(2, 0);
  post_sends(qp, 5);
  port_.take_at_once = 0;
  EXPECT_EQ(egress_->poll(context_), 0);
  EXPECT_FALSE(egress_->clear());
  EXPECT_FALSE(egress_->idle());
  owe_an_answer(answerer);  // later than what is built
  port_.take_at_once = 2;
  EXPECT_EQ(egress_->poll(context_), 2);
  EXPECT_FALSE(egress_->clear());
  port_.take_at_once = SIZE_MAX;
  EXPECT_EQ(egress_->poll(context_), 4);
  EXPECT_TRUE(egress_->clear());
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(port_.packet(i).psn(), i);
  EXPECT_EQ(port_.packet(5).dest_qp(), 1002u);
}

TEST_F(EgressTest, WithoutBuffersNothingIsForgotten) {
  Qp& qp = connection(1, 0);
  post_sends(qp, 3);
  port_.alloc_at_once = 0;
  EXPECT_EQ(egress_->poll(context_), 0);
  EXPECT_FALSE(egress_->idle());
  EXPECT_TRUE(egress_->clear());
  port_.alloc_at_once = SIZE_MAX;
  drain();
  expect_in_order({{1, {0, 3}}});
}

TEST_F(EgressTest, AForgottenConnectionSendsNothingAndTheOthersGoOn) {
  Qp& a = connection(1, 0);
  Qp& b = connection(2, 0);
  Qp& c = connection(3, 0);
  for (Qp* qp : {&a, &b, &c}) {
    post_sends(*qp, 3);
    owe_an_answer(*qp);
  }
  for (Qp* gone : {&b, &a}) {
    egress_->forget(*gone);
    EXPECT_FALSE(gone->answering || gone->requesting);
    egress_->forget(*gone);
  }
  drain();
  ASSERT_EQ(port_.sent.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(port_.packet(i).dest_qp(), 1003u);
}

TEST_F(EgressTest, EnlistingTwiceIsEnlistingOnce) {
  Qp& a = connection(1, 0);
  Qp& b = connection(2, 0);
  for (int i = 0; i < 5; ++i) egress_->enlist_requests(a);
  egress_->enlist_requests(b);
  egress_->enlist_requests(a);
  post_sends(a, 1);
  post_sends(b, 1);
  drain();
  expect_in_order({{1, {0, 1}}, {2, {0, 1}}});
}

TEST_F(EgressTest, GivesItsBuffersBack) {
  Qp& qp = connection(1, 0);
  post_sends(qp, 10);
  port_.take_at_once = 4;
  egress_->poll(context_);
  EXPECT_LT(port_.free_buffers(), kBuffers);
  egress_.reset();
  EXPECT_EQ(port_.free_buffers(), kBuffers);
}

}  // namespace
}  // namespace uroce::engine::test
