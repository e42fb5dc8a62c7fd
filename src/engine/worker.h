// SPDX-License-Identifier: BSD-3-Clause
// One turn of a core: everything a worker does, top to bottom. The same object code runs on a NIC queue, in the
// simulator and in tests; only the port and the time differ. One thread at a time.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "engine/egress.h"
#include "engine/ingress.h"
#include "engine/loopback_port.h"
#include "engine/mailbox.h"
#include "engine/neighbourhood.h"
#include "engine/port.h"
#include "engine/qp_table.h"
#include "timer/wheel.h"
#include "transport/context.h"

namespace uroce::engine {

class Worker final : private transport::QpHost {
 public:
  // `mailbox`: null when nobody else speaks to this worker. `interface`: resolves addresses; without one, queue pairs
  // come with their destination's MAC. All outlive the worker.
  Worker(Port& port, memory::MemoryTable& memory, transport::EventSink& events, base::Instant start,
         Mailbox* mailbox = nullptr, net::Interface* interface = nullptr);

  // Returns how much there was to do; 0 means idle.
  int do_work(base::Instant now);
  // Nothing happens before this unless a frame or a post arrives.
  [[nodiscard]] base::Instant next_deadline() const noexcept {
    if (!egress_.idle() || !loop_egress_.idle()) return base::Instant{0};
    return std::min(timers_.next_deadline(), pacing_.next_deadline());
  }

  // --- control: on the worker's thread -------------------------------------------------------------------------
  void add(transport::Qp& qp) { qps_.insert(qp); }
  // Nothing of the worker refers to the queue pair afterwards.
  void remove(transport::Qp& qp);
  Result<void> modify(transport::Qp& qp, const transport::QpAttributes& a, QpAttrMask mask, base::Instant now);
  // The application has destroyed it. It stays for a while to answer duplicates, then comes out of take_dead().
  void linger(transport::Qp& qp, base::Instant now);
  // A queue pair that is removed and may be freed, or nullptr.
  transport::Qp* take_dead() noexcept;
  // After posts: the queue pair has requests to send, or entries to flush.
  void ring_doorbell(transport::Qp& qp) { enlist_requests(qp); }

  // --- any thread ----------------------------------------------------------------------------------------------
  // Odd while a turn is under way. Kept only with a mailbox.
  [[nodiscard]] std::uint64_t turn() const noexcept { return turn_.load(std::memory_order_seq_cst); }

  [[nodiscard]] const Ingress& ingress() const noexcept { return ingress_; }
  [[nodiscard]] const transport::Counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const QpTable& qps() const noexcept { return qps_; }

 private:
  static constexpr int kCommandsPerTurn = 64;
  static constexpr int kTimersPerTurn = 64;
  static constexpr int kPacedPerTurn = 64;
  static constexpr int kBurstsBeforeTimers = 8;
  void enlist_answers(transport::Qp& qp) override { (qp.loops_back() ? loop_egress_ : egress_).enlist_answers(qp); }
  void enlist_requests(transport::Qp& qp) override { (qp.loops_back() ? loop_egress_ : egress_).enlist_requests(qp); }
  void set_timer(transport::Qp& qp, base::Instant deadline) override;
  void pace(transport::Qp& qp, base::Instant next) override { pacing_.arm(qp.pacing, next); }
  void on_cq_overflow(transport::CompletionLane& lane) override;
  void on_published(transport::CompletionLane& lane, bool solicited) override;
  int drain_mailbox();
  int expire_timers(int received);
  int resume_paced();
  void on_timer(transport::Qp& qp);
  void bury(transport::Qp& qp);
  void fail_overflowed();
  void publish();

  transport::Counters counters_;
  QpTable qps_;
  timer::Wheel timers_;
  timer::FineWheel pacing_;
  Port& port_;
  LoopbackPort loop_port_;
  Ingress ingress_, loop_ingress_;
  Egress egress_, loop_egress_;
  transport::EventSink& events_;
  Mailbox* mailbox_;
  std::optional<Neighbourhood> neighbourhood_;
  transport::Context context_;
  transport::Qp* dead_ = nullptr;
  int bursts_since_timers_ = 0;
  bool overflow_pending_ = false;
  bool publication_held_ = false;
  alignas(64) std::atomic<std::uint64_t> turn_{0};
};

}  // namespace uroce::engine
