// SPDX-License-Identifier: BSD-3-Clause
// A worker as a completion queue sees it: completes into one lane and publishes at the end of its turn.
#pragma once
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/completion_queue.h"
#include "transport/context.h"

namespace uroce::engine::test {

class Feeder final : private transport::QpHost, private transport::EventSink {
 public:
  explicit Feeder(CompletionQueue& queue, std::uint32_t worker = 0) : queue_(queue), lane_(&queue.lane(worker)) {}

  void complete(std::uint64_t wr_id, bool wakes_solicited = false, std::uint32_t qpn = 7,
                WcStatus status = WcStatus::success) {
    Completion* w = context_.complete(lane_, wakes_solicited);
    if (w == nullptr) return;
    w->wr_id = wr_id;
    w->qpn = qpn;
    w->status = status;
  }
  void publish() { context_.publish_completions(); }
  void complete_now(std::uint64_t wr_id, bool wakes_solicited = false) {
    complete(wr_id, wakes_solicited);
    publish();
  }
  [[nodiscard]] transport::CompletionLane& lane() const { return *lane_; }

  int overflows = 0, notifications = 0;

 private:
  void enlist_answers(transport::Qp&) override {}
  void enlist_requests(transport::Qp&) override {}
  void set_timer(transport::Qp&, base::Instant) override {}
  void pace(transport::Qp&, base::Instant) override {}
  void on_event(const AsyncEvent&) override {}
  void on_cq_overflow(transport::CompletionLane&) override { ++overflows; }
  void on_published(transport::CompletionLane& lane, bool solicited) override {
    ++notifications;
    static_cast<CompletionQueue*>(lane.queue)->on_published(solicited);
  }
  CompletionQueue& queue_;
  transport::CompletionLane* lane_;
  memory::MemoryTable memory_{1, 1};
  transport::Counters counters_;
  transport::Context context_{base::Instant{0}, memory_, *this, *this, counters_};
};

// How many events the descriptor holds; they are gone then.
inline std::uint64_t take_events(const CompletionQueue& cq) {
  std::uint64_t n = 0;
  return read(cq.event_fd(), &n, sizeof(n)) == sizeof(n) ? n : 0;
}

// False when nothing wakes it for so long.
inline bool wait_for_event(const CompletionQueue& cq, int milliseconds) {
  pollfd p{cq.event_fd(), POLLIN, 0};
  return ::poll(&p, 1, milliseconds) == 1;
}

}  // namespace uroce::engine::test
