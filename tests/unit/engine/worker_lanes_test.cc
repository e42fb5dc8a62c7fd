// SPDX-License-Identifier: BSD-3-Clause
// Several workers whose queue pairs complete into one queue: it overflows as a whole, its queue pairs fail whoever owns
// them, and other queues go on (IBTA 11.6.3.1, C9-218).
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "connection.h"
#include "engine/completion_queue.h"
#include "engine/worker.h"
#include "fake_port.h"

namespace uroce::engine::test {
namespace {

constexpr base::Instant kNow{5'000};

struct Core {
  FakePort port{100};
  memory::MemoryTable memory{4, 1};
  Events events;
  Worker worker{port, memory, events, kNow};
};

class WorkerLanes : public testing::Test {
 protected:
  static constexpr std::uint32_t kCapacity = 10;

  // Queue pairs of worker w number from 100 w.
  Qp& connection(std::uint32_t w, CompletionQueue& send, CompletionQueue& recv) {
    const std::uint32_t qpn = 100 * (w + 1) + static_cast<std::uint32_t>(qps_.size());
    qps_.push_back(std::make_unique<Qp>(config_of(qpn, send.lane(w), recv.lane(w), 16)));
    Qp& qp = *qps_.back();
    Worker& worker = cores_[w].worker;
    worker.add(qp);
    connect(qp, 0, [&](const auto& a, QpAttrMask m) { return worker.modify(qp, a, m, kNow).has_value(); });
    return qp;
  }
  void flush(std::uint32_t w, Qp& qp, std::uint64_t receives) {
    for (std::uint64_t i = 0; i < receives; ++i) ASSERT_EQ(qp.rq().post({i, {}}), PostError::none);
    transport::QpAttributes a;
    a.state = QpState::err;
    ASSERT_TRUE(cores_[w].worker.modify(qp, a, QpAttrBit::state, kNow));
    turns();
  }
  void turns() {
    for (int i = 0; i < 3; ++i) {
      for (Core& c : cores_) c.worker.do_work(kNow);
    }
  }
  [[nodiscard]] std::int64_t count(AsyncEventType type, std::uint32_t number) const {
    std::int64_t n = 0;
    for (const Core& c : cores_) {
      n += std::count_if(c.events.seen.begin(), c.events.seen.end(),
                         [&](const AsyncEvent& e) { return e.type == type && e.number == number; });
    }
    return n;
  }
  static std::vector<Completion> take(CompletionQueue& cq) {
    std::vector<Completion> all(100);
    all.resize(cq.poll(all));
    return all;
  }

  std::array<Core, 2> cores_;
  CompletionQueue shared_{{.number = 5, .capacity = kCapacity, .workers = 2}};
  CompletionQueue other_{{.number = 6, .capacity = 64, .workers = 2}};
  std::vector<std::unique_ptr<Qp>> qps_;
};

TEST_F(WorkerLanes, TogetherTheyFillIt) {
  Qp& a = connection(0, other_, shared_);
  Qp& b = connection(1, other_, shared_);
  Qp& a_idle = connection(0, other_, shared_);
  flush(0, a, 6);
  flush(1, b, 4);
  EXPECT_EQ(take(shared_).size(), kCapacity) << "just full";
  EXPECT_EQ(count(AsyncEventType::cq_err, 5), 0);
  EXPECT_EQ(a_idle.state(), QpState::rts);
}

TEST_F(WorkerLanes, OverflowFailsTheQueuePairsOfBoth) {
  Qp& a = connection(0, other_, shared_);
  Qp& a_idle = connection(0, shared_, other_);
  Qp& a_elsewhere = connection(0, other_, other_);
  Qp& b = connection(1, other_, shared_);
  Qp& b_idle = connection(1, shared_, other_);
  Qp& b_elsewhere = connection(1, other_, other_);
  flush(0, a, 6);
  flush(1, b, 6);  // two too many
  EXPECT_EQ(b_idle.state(), QpState::err);
  // The first worker learns of it when it next has something for the queue.
  Qp& late = connection(0, other_, shared_);
  flush(0, late, 1);
  EXPECT_EQ(a_idle.state(), QpState::err);
  EXPECT_EQ(a_elsewhere.state(), QpState::rts);
  EXPECT_EQ(b_elsewhere.state(), QpState::rts);
  EXPECT_EQ(count(AsyncEventType::cq_err, 5), 1) << "once for the queue, not for each lane";
  EXPECT_EQ(count(AsyncEventType::cq_err, 6), 0);
  EXPECT_EQ(count(AsyncEventType::qp_fatal, a_idle.qpn()), 1);
  EXPECT_EQ(count(AsyncEventType::qp_fatal, b_idle.qpn()), 1);
  EXPECT_EQ(count(AsyncEventType::qp_fatal, a_elsewhere.qpn()), 0);

  const auto kept = take(shared_);
  ASSERT_EQ(kept.size(), kCapacity);
  for (Qp* qp : {&a, &b}) {
    std::uint64_t next = 0;
    for (const Completion& c : kept) {
      if (c.qpn == qp->qpn()) {
        EXPECT_EQ(c.wr_id, next++);
      }
    }
    EXPECT_EQ(next, qp == &a ? 6u : 4u);
  }
  // The other queue takes what its own have to say, before and after.
  ASSERT_EQ(a_elsewhere.rq().post({77, {}}), PostError::none);
  flush(0, a_elsewhere, 2);
  EXPECT_EQ(take(other_).size(), 3u);
}

// Room that was made again does not revive a queue that has lost something.
TEST_F(WorkerLanes, OverflowIsForGood) {
  Qp& a = connection(0, other_, shared_);
  flush(0, a, 12);
  EXPECT_EQ(take(shared_).size(), kCapacity);
  Qp& b = connection(1, other_, shared_);
  flush(1, b, 2);
  EXPECT_EQ(take(shared_).size(), 0u);
  EXPECT_EQ(count(AsyncEventType::cq_err, 5), 1);
}

}  // namespace
}  // namespace uroce::engine::test
