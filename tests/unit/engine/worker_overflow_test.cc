// SPDX-License-Identifier: BSD-3-Clause
// A completion queue that overflows: CQ_ERR once, its queue pairs to the error state with QP_FATAL, what it holds
// stays, and other queues go on (IBTA 11.6.3.1, C9-218).
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "connection.h"
#include "engine/worker.h"
#include "fake_port.h"

namespace uroce::engine::test {
namespace {

class WorkerOverflow : public testing::Test {
 protected:
  Qp& connection(std::uint32_t qpn, CompletionLane& send, CompletionLane& recv) {
    qps_.push_back(std::make_unique<Qp>(config_of(qpn, send, recv, 16)));
    Qp& qp = *qps_.back();
    worker_.add(qp);
    connect(qp, 0,
            [&](const transport::QpAttributes& a, QpAttrMask m) { return worker_.modify(qp, a, m, now_).has_value(); });
    return qp;
  }
  void to_error(Qp& qp) {
    transport::QpAttributes a;
    a.state = QpState::err;
    ASSERT_TRUE(worker_.modify(qp, a, QpAttrBit::state, now_));
  }
  [[nodiscard]] auto count(AsyncEventType type, std::uint32_t number) const {
    return std::count_if(events_.seen.begin(), events_.seen.end(),
                         [&](const AsyncEvent& e) { return e.type == type && e.number == number; });
  }
  base::Instant now_{5'000};
  FakePort port_{100};
  memory::MemoryTable memory_{4, 1};
  Events events_;
  Worker worker_{port_, memory_, events_, now_};
  std::vector<std::unique_ptr<Qp>> qps_;
};

TEST_F(WorkerOverflow, FailsTheQueuePairsOfThatQueueOnly) {
  Lane<4> small(1);
  Lane<64> large(2);
  Qp& cause = connection(10, large.lane, small.lane);
  Qp& victim = connection(11, large.lane, small.lane);
  Qp& sender = connection(12, small.lane, large.lane);
  Qp& bystander = connection(13, large.lane, large.lane);
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_EQ(cause.rq().post({i, {}}), PostError::none);
  ASSERT_EQ(victim.sq().post({.wr_id = 50}), PostError::none);
  to_error(cause);  // 8 flushed receives into a queue of 4
  worker_.do_work(now_);
  worker_.do_work(now_);

  EXPECT_EQ(count(AsyncEventType::cq_err, 1), 1);
  EXPECT_EQ(count(AsyncEventType::cq_err, 2), 0);
  EXPECT_EQ(victim.state(), QpState::err);
  EXPECT_EQ(sender.state(), QpState::err);
  EXPECT_EQ(bystander.state(), QpState::rts);
  EXPECT_EQ(count(AsyncEventType::qp_fatal, 11), 1);
  EXPECT_EQ(count(AsyncEventType::qp_fatal, 12), 1);
  EXPECT_EQ(count(AsyncEventType::qp_fatal, 13), 0);

  const std::vector<Completion> kept = small.drain();
  ASSERT_EQ(kept.size(), 4u);
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(kept[i].wr_id, i);
    EXPECT_EQ(kept[i].qpn, 10u);
    EXPECT_EQ(kept[i].status, WcStatus::wr_flush_err);
  }
  const std::vector<Completion> others = large.drain();  // the victim's send queue is flushed where there is room
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].wr_id, 50u);
}

TEST_F(WorkerOverflow, AQueueThatIsJustFullIsNotInError) {
  Lane<8> lane(1);
  Lane<64> large(2);
  Qp& qp = connection(10, large.lane, lane.lane);
  Qp& other = connection(11, large.lane, lane.lane);
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_EQ(qp.rq().post({i, {}}), PostError::none);
  to_error(qp);
  worker_.do_work(now_);
  worker_.do_work(now_);
  EXPECT_EQ(lane.drain().size(), 8u);
  EXPECT_EQ(other.state(), QpState::rts);
  EXPECT_TRUE(events_.seen.empty());
}

// A queue with two lanes, of which each overflows.
TEST_F(WorkerOverflow, IsReportedOnceForAllLanesOfAQueue) {
  transport::CqState queue(4);
  Lane<4> one(1, &queue), two(1, &queue);
  Lane<64> large(2);
  Qp& a = connection(10, large.lane, one.lane);
  Qp& b = connection(11, large.lane, two.lane);
  Qp& c = connection(12, two.lane, large.lane);
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_EQ(a.rq().post({i, {}}), PostError::none);
    ASSERT_EQ(b.rq().post({i, {}}), PostError::none);
  }
  to_error(a);
  worker_.do_work(now_);
  worker_.do_work(now_);
  EXPECT_EQ(count(AsyncEventType::cq_err, 1), 1);
  EXPECT_EQ(b.state(), QpState::err);  // its lane has room, its queue has none
  EXPECT_EQ(c.state(), QpState::err);
  EXPECT_EQ(count(AsyncEventType::qp_fatal, 11), 1);
  EXPECT_EQ(count(AsyncEventType::qp_fatal, 12), 1);
  EXPECT_EQ(one.drain().size(), 4u);
  EXPECT_EQ(two.drain().size(), 0u);
}

}  // namespace
}  // namespace uroce::engine::test
