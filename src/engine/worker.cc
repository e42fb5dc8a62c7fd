// SPDX-License-Identifier: BSD-3-Clause
#include "engine/worker.h"

#include "engine/completion_queue.h"

namespace uroce::engine {

Worker::Worker(Port& port, memory::MemoryTable& memory, transport::EventSink& events, base::Instant start,
               Mailbox* mailbox, net::Interface* interface)
    : timers_(start),
      pacing_(start),
      port_(port),
      ingress_(port, qps_),
      loop_ingress_(loop_port_, qps_),
      egress_(port),
      loop_egress_(loop_port_),
      events_(events),
      mailbox_(mailbox),
      context_{start, memory, events, *this, counters_} {
  if (interface == nullptr) return;
  neighbourhood_.emplace(*interface, port, qps_);
  ingress_.set_neighbourhood(&*neighbourhood_);
}

int Worker::do_work(base::Instant now) {
  // Sequentially consistent: whoever kills a key and then sees an even turn knows that the next turn sees it dead.
  if (mailbox_ != nullptr) turn_.store(turn_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  context_.now = now;
  int work = mailbox_ == nullptr ? 0 : drain_mailbox();
  int received = ingress_.poll(context_);
  if (loop_port_.enabled()) received += loop_ingress_.poll(context_);
  work += received;
  if (timers_.due(now)) work += expire_timers(received);
  if (pacing_.due(now)) work += resume_paced();
  if (neighbourhood_) work += neighbourhood_->turn(context_);
  if (!egress_.idle()) work += egress_.poll(context_);
  if (loop_port_.enabled()) work += loop_egress_.poll(context_);
  if (overflow_pending_) fail_overflowed();
  publish();
  if (mailbox_ != nullptr) turn_.store(turn_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  return work;
}

int Worker::drain_mailbox() {
  int n = 0;
  Message m;
  for (; n < kCommandsPerTurn && mailbox_->pop(m); ++n) {
    if (m.command != nullptr) {
      m.command->run(*m.command, *this);
    } else if (transport::Qp* qp = qps_.find(m.qpn)) {
      qp->answer_ring();
      enlist_requests(*qp);
    }
  }
  return n;
}

// A timer may call something lost only when all that was received has been looked at: while bursts come back full, there
// is more to receive. Not for ever, though.
int Worker::expire_timers(int received) {
  if (received >= static_cast<int>(Ingress::kBurst) && ++bursts_since_timers_ < kBurstsBeforeTimers) return 0;
  bursts_since_timers_ = 0;
  return timers_.expire(context_.now, kTimersPerTurn,
                        [this](timer::Node& n) { on_timer(*static_cast<transport::Qp*>(n.owner())); });
}

// Whichever half waited for its rate.
int Worker::resume_paced() {
  return pacing_.expire(context_.now, kPacedPerTurn, [this](timer::FineNode& n) {
    auto& qp = *static_cast<transport::Qp*>(n.owner());
    if (qp.responder().owes()) enlist_answers(qp);
    enlist_requests(qp);
  });
}

void Worker::on_timer(transport::Qp& qp) {
  if (qp.lingering()) return bury(qp);
  qp.on_timer(context_);
}

// Completions become visible once the ACKs of this turn are with the port, and at most one turn later when it is full.
void Worker::publish() {
  if (context_.dirty_lanes == nullptr) return;
  if (!(egress_.clear() && loop_egress_.clear()) && !publication_held_) {
    publication_held_ = true;
    return;
  }
  publication_held_ = false;
  context_.publish_completions();
}

void Worker::on_published(transport::CompletionLane& lane, bool solicited) {
  static_cast<CompletionQueue*>(lane.queue)->on_published(solicited);
}

void Worker::remove(transport::Qp& qp) {
  egress_.forget(qp);
  loop_egress_.forget(qp);
  timers_.disarm(qp.timer);
  pacing_.disarm(qp.pacing);
  qps_.erase(qp.qpn());
  if (neighbourhood_) neighbourhood_->forget(qp);
}

void Worker::linger(transport::Qp& qp, base::Instant now) {
  context_.now = now;
  // What was completed before the call must be visible to whoever purges the queue.
  context_.publish_completions();
  const base::Duration wait = qp.begin_linger(context_);
  if (wait.ns == 0) return bury(qp);
  timers_.arm(qp.timer, now + wait);
}

void Worker::bury(transport::Qp& qp) {
  remove(qp);
  qp.next_requesting = dead_;
  dead_ = &qp;
}

transport::Qp* Worker::take_dead() noexcept {
  transport::Qp* qp = dead_;
  if (qp != nullptr) dead_ = qp->next_requesting;
  return qp;
}

Result<void> Worker::modify(transport::Qp& qp, const transport::QpAttributes& a, QpAttrMask mask, base::Instant now) {
  context_.now = now;
  auto r = qp.modify(a, mask, context_);
  if (qp.loops_back()) loop_port_.enable(port_.max_frame_bytes());
  if (r && mask.has(QpAttrBit::av) && neighbourhood_) neighbourhood_->connect(qp);
  if (overflow_pending_) fail_overflowed();
  return r;
}

// Progress writes a queue pair's deadline; its one node is filed again only when that comes sooner.
void Worker::set_timer(transport::Qp& qp, base::Instant deadline) {
  if (!qp.timer.armed() || deadline < qp.timer.deadline()) timers_.arm(qp.timer, deadline);
}

void Worker::on_cq_overflow(transport::CompletionLane& lane) {
  if (lane.claim_report()) events_.on_event({AsyncEventType::cq_err, lane.cq()});
  overflow_pending_ = true;  // not now: a queue pair is in the middle of something
}

void Worker::fail_overflowed() {
  overflow_pending_ = false;
  qps_.for_each([this](transport::Qp& qp) {
    if (qp.lingering() || qp.state() == QpState::err || qp.state() == QpState::reset) return;
    if (!qp.config().send_lane->overflowed() && !qp.config().recv_lane->overflowed()) return;
    qp.enter_error(context_);
    events_.on_event({AsyncEventType::qp_fatal, qp.qpn()});
  });
}

}  // namespace uroce::engine
