// SPDX-License-Identifier: BSD-3-Clause
// One turn of a core: everything a worker does, top to bottom. The same object code runs on a NIC queue, in the
// simulator and in tests; only the port and the time differ. One thread at a time.
#pragma once
#include <cstdint>

#include "base/time.h"
#include "engine/egress.h"
#include "engine/ingress.h"
#include "engine/port.h"
#include "engine/qp_table.h"
#include "timer/wheel.h"
#include "transport/context.h"

namespace uroce::engine {

class Worker final : private transport::QpHost {
 public:
  Worker(Port& port, memory::MemoryTable& memory, transport::EventSink& events, base::Instant start);

  // Returns how much there was to do; 0 means idle.
  int do_work(base::Instant now);
  // Nothing happens before this unless a frame or a post arrives.
  [[nodiscard]] base::Instant next_deadline() const noexcept {
    return egress_.idle() ? timers_.next_deadline() : base::Instant{0};
  }

  void add(transport::Qp& qp) { qps_.insert(qp); }
  // Nothing of the worker refers to the queue pair afterwards.
  void remove(transport::Qp& qp);
  // After posts: the queue pair has requests to send, or entries to flush.
  void ring_doorbell(transport::Qp& qp) { enlist_requests(qp); }
  Result<void> modify(transport::Qp& qp, const transport::QpAttributes& a, QpAttrMask mask, base::Instant now);

  [[nodiscard]] const Ingress& ingress() const noexcept { return ingress_; }
  [[nodiscard]] const transport::Counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const QpTable& qps() const noexcept { return qps_; }

 private:
  static constexpr int kTimersPerTurn = 64;
  void enlist_answers(transport::Qp& qp) override { egress_.enlist_answers(qp); }
  void enlist_requests(transport::Qp& qp) override { egress_.enlist_requests(qp); }
  void set_timer(transport::Qp& qp, base::Instant deadline) override;
  void on_cq_overflow(transport::CompletionLane& lane) override;
  void fail_overflowed();
  void publish();

  transport::Counters counters_;
  QpTable qps_;
  timer::Wheel timers_;
  Ingress ingress_;
  Egress egress_;
  transport::EventSink& events_;
  transport::Context context_;
  bool overflow_pending_ = false;
  bool publication_held_ = false;
};

}  // namespace uroce::engine
