// SPDX-License-Identifier: BSD-3-Clause
#include "engine/worker.h"

namespace uroce::engine {

Worker::Worker(Port& port, memory::MemoryTable& memory, transport::EventSink& events, base::Instant start)
    : timers_(start),
      ingress_(port, qps_),
      egress_(port),
      events_(events),
      context_{start, memory, events, *this, counters_} {}

int Worker::do_work(base::Instant now) {
  context_.now = now;
  int work = ingress_.poll(context_);
  // Everything received by `now` has been looked at before a timer may call it lost.
  work += timers_.expire(now, kTimersPerTurn, [this](timer::Node& n) {
    static_cast<transport::Qp*>(n.owner())->on_timer(context_);
  });
  work += egress_.poll(context_);
  if (overflow_pending_) fail_overflowed();
  publish();
  return work;
}

// Completions become visible once the ACKs of this turn are with the port, and at most one turn later when it is full.
void Worker::publish() {
  if (context_.dirty_lanes == nullptr) return;
  if (!egress_.clear() && !publication_held_) {
    publication_held_ = true;
    return;
  }
  publication_held_ = false;
  context_.publish_completions();
}

void Worker::remove(transport::Qp& qp) {
  egress_.forget(qp);
  timers_.disarm(qp.timer);
  qps_.erase(qp.qpn());
}

Result<void> Worker::modify(transport::Qp& qp, const transport::QpAttributes& a, QpAttrMask mask, base::Instant now) {
  context_.now = now;
  auto r = qp.modify(a, mask, context_);
  if (overflow_pending_) fail_overflowed();
  return r;
}

// Progress writes a queue pair's deadline; its one node is filed again only when that comes sooner.
void Worker::set_timer(transport::Qp& qp, base::Instant deadline) {
  if (!qp.timer.armed() || deadline < qp.timer.deadline()) timers_.arm(qp.timer, deadline);
}

void Worker::on_cq_overflow(transport::CompletionLane& lane) {
  events_.on_event({AsyncEventType::cq_err, lane.cq()});
  overflow_pending_ = true;  // not now: a queue pair is in the middle of something
}

void Worker::fail_overflowed() {
  overflow_pending_ = false;
  qps_.for_each([this](transport::Qp& qp) {
    if (!qp.config().send_lane->overflowed() && !qp.config().recv_lane->overflowed()) return;
    if (qp.state() == QpState::err || qp.state() == QpState::reset) return;
    qp.enter_error(context_);
    events_.on_event({AsyncEventType::qp_fatal, qp.qpn()});
  });
}

}  // namespace uroce::engine
