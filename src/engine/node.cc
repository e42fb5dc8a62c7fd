// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node.h"

#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <string>

namespace uroce::engine {
namespace {

// A command that a caller waits for.
struct Call : Command {
  const std::function<void(Worker&)>* f;
  std::atomic<bool> done{false};
};

void run_call(Command& c, Worker& w) {
  auto& call = static_cast<Call&>(c);
  (*call.f)(w);
  call.done.store(true, std::memory_order_release);
  call.done.notify_one();
}

void nap() {
  const timespec t{0, 50'000};
  nanosleep(&t, nullptr);
}

}  // namespace

Node::Node(Port& port, const Clock& clock, const NodeConfig& config, net::Interface* interface)
    : clock_(clock),
      config_(config),
      memory_(config.max_regions, config.seed ^ 0x6d656d6f7279ull),
      qpns_(2, 0xfffffe, config.seed ^ 0x71706eull),
      rng_(config.seed),
      event_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      worker_(port, memory_, *this, clock.now(), config.threading == Threading::single ? nullptr : &mailbox_, interface) {
  UROCE_ASSERT(event_fd_ >= 0);
  if (config.threading != Threading::dedicated) return;
  thread_ = std::thread([this, &port] { work(port); });
  if (config.core >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(config.core), &set);
    pthread_setaffinity_np(thread_.native_handle(), sizeof(set), &set);
  }
}

Node::~Node() {
  stop_.store(true, std::memory_order_release);
  if (thread_.joinable()) thread_.join();
  for (auto& [qpn, qp] : qps_) {
    if (worker_.qps().find(qpn) == qp.get()) worker_.remove(*qp);
  }
  close(event_fd_);
}

void Node::work(Port& port) {
  constexpr int kSpins = 2000, kYields = 200;
  int idle = 0;
  port.attach_thread();
  while (!stop_.load(std::memory_order_acquire)) {
    if (worker_.do_work(clock_.now()) != 0) {
      idle = 0;
    } else if (config_.idle != Idle::spin && ++idle > kSpins) {
      config_.idle == Idle::nap && idle > kSpins + kYields ? nap() : static_cast<void>(sched_yield());
    }
  }
  port.detach_thread();
}

int Node::progress() {
  switch (config_.threading) {
    case Threading::single: return let_others(worker_.do_work(clock_.now()));
    case Threading::dedicated: return 0;
    case Threading::shared: break;
  }
  // Somebody is at it already: their turn serves us too.
  const std::unique_lock lock(turn_, std::try_to_lock);
  return lock.owns_lock() ? let_others(worker_.do_work(clock_.now())) : 0;
}

// A caller that polls without end must not keep the other end of its own connection off a shared core.
int Node::let_others(int work) {
  constexpr int kIdleTurns = 256;
  if (work != 0 || config_.idle == Idle::spin) {
    idle_turns_ = 0;
  } else if (++idle_turns_ >= kIdleTurns) {
    idle_turns_ = 0;
    sched_yield();
  }
  return work;
}

void Node::on_worker(const std::function<void(Worker&)>& f) {
  if (config_.threading == Threading::single) return f(worker_);
  if (config_.threading == Threading::shared) {
    const std::lock_guard lock(turn_);
    return f(worker_);
  }
  Call call;
  call.run = run_call;
  call.f = &f;
  while (!mailbox_.push(Message{&call, 0})) sched_yield();
  call.done.wait(false, std::memory_order_acquire);
}

void Node::doorbell(transport::Qp& qp) {
  if (config_.threading == Threading::single) return worker_.ring_doorbell(qp);
  if (!qp.ring()) return;
  while (!mailbox_.push(Message{nullptr, qp.qpn()})) sched_yield();
}

Result<transport::Qp*> Node::create_qp(transport::QpConfig c, CompletionQueue& send, CompletionQueue& recv) {
  const auto bad = [](const char* what, std::uint32_t v, std::uint32_t low, std::uint32_t high) {
    return fail(ErrorCode::invalid_argument, std::string("queue pair: ") + what + " " + std::to_string(v) +
                                                 " is not in " + std::to_string(low) + " .. " + std::to_string(high));
  };
  if (c.send_depth < 1 || c.send_depth > kMaxQueueDepth) return bad("send depth", c.send_depth, 1, kMaxQueueDepth);
  if (c.recv_depth < 1 || c.recv_depth > kMaxQueueDepth) return bad("receive depth", c.recv_depth, 1, kMaxQueueDepth);
  if (c.max_sges < 1 || c.max_sges > kMaxSges) return bad("scatter/gather entries", c.max_sges, 1, kMaxSges);
  if (c.max_inline > kMaxInline) return bad("inline bytes", c.max_inline, 0, kMaxInline);
  if (c.window_packets < 2 || c.window_packets > transport::kMaxWindow) {
    return bad("window", c.window_packets, 2, transport::kMaxWindow);
  }
  const std::lock_guard lock(control_);
  reap();
  c.qpn = qpns_.take(clock_.now());
  if (c.qpn == 0) return fail(ErrorCode::no_room, "queue pairs: every number is in use or rests");
  c.send_lane = &send.lane(0);
  c.recv_lane = &recv.lane(0);
  auto owned = std::make_unique<transport::Qp>(c);
  transport::Qp* qp = owned.get();
  qps_.emplace(c.qpn, std::move(owned));
  on_worker([qp](Worker& w) { w.add(*qp); });
  return qp;
}

Result<void> Node::modify_qp(transport::Qp& qp, const transport::QpAttributes& a, QpAttrMask mask) {
  const std::lock_guard lock(control_);
  Result<void> r;
  on_worker([&](Worker& w) { r = w.modify(qp, a, mask, clock_.now()); });
  return r;
}

void Node::destroy_qp(transport::Qp& qp) {
  const std::lock_guard lock(control_);
  const transport::QpConfig config = qp.config();
  on_worker([&](Worker& w) { w.linger(qp, clock_.now()); });
  // The worker completes nothing for it any more, so what waits can be marked.
  static_cast<CompletionQueue*>(config.send_lane->queue)->purge(config.qpn);
  static_cast<CompletionQueue*>(config.recv_lane->queue)->purge(config.qpn);
  reap();
}

// Frees queue pairs that have lingered long enough.
void Node::reap() {
  on_worker([this](Worker& w) {
    while (transport::Qp* dead = w.take_dead()) {
      qpns_.give_back(dead->qpn(), clock_.now());
      qps_.erase(dead->qpn());
    }
  });
}

Result<std::uint32_t> Node::register_region(const memory::Registration& r) {
  const std::lock_guard lock(control_);
  return memory_.register_region(r);
}

Result<void> Node::deregister(std::uint32_t key) {
  const std::lock_guard lock(control_);
  if (auto r = memory_.kill(key); !r) return r;
  // Grace: the turn that was under way when the key died may still copy. A later one sees it dead.
  if (config_.threading != Threading::single) {
    const std::uint64_t seen = worker_.turn();
    while (seen % 2 != 0 && worker_.turn() == seen) sched_yield();
  }
  memory_.release(key);
  return {};
}

void Node::on_event(const AsyncEvent& e) {
  if (!events_.push(e)) return;  // 4096 unread: the application does not look
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(event_fd_, &one, sizeof(one));
}

std::optional<AsyncEvent> Node::poll_event() {
  AsyncEvent e{};
  if (!events_.pop(e)) return std::nullopt;
  return e;
}

std::uint32_t Node::random_psn() {
  const std::lock_guard lock(control_);
  return static_cast<std::uint32_t>(rng_.next()) & transport::Psn::kMask;
}

}  // namespace uroce::engine
