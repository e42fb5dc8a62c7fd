// SPDX-License-Identifier: BSD-3-Clause
// All that a state machine may touch besides its own state: the time, memory, and where its results go. Belongs to one
// worker.
#pragma once
#include "base/time.h"
#include "memory/memory_table.h"
#include "transport/completion_lane.h"
#include "transport/counters.h"

namespace uroce::transport {

class Qp;

// Rare things that the application is told asynchronously.
class EventSink {
 public:
  virtual void on_event(const AsyncEvent& e) = 0;

 protected:
  ~EventSink() = default;
};

// What a QP asks of the worker that owns it. Called a few times a burst, not for each packet.
class QpHost {
 public:
  virtual void enlist_answers(Qp& qp) = 0;                 // its responder owes a frame
  virtual void enlist_requests(Qp& qp) = 0;                // its requester may have one to send
  virtual void set_timer(Qp& qp, base::Instant deadline) = 0;
  virtual void pace(Qp& qp, base::Instant next) = 0;       // it may send again then, not before
  virtual void on_cq_overflow(CompletionLane& lane) = 0;   // once a lane; QPs of that queue are to fail
  virtual void on_published(CompletionLane& lane, bool solicited) = 0;  // only lanes that notify

 protected:
  ~QpHost() = default;
};

class Context {
 public:
  Context(base::Instant start, memory::MemoryTable& m, EventSink& e, QpHost& h, Counters& n) noexcept
      : now(start), memory(m), events(e), host(h), counters(n) {}

  base::Instant now;
  memory::MemoryTable& memory;
  EventSink& events;
  QpHost& host;
  Counters& counters;
  CompletionLane* dirty_lanes = nullptr;

  // A fresh completion, to be filled in at once, or nullptr when there is nowhere to put it. `lane` is null once the
  // application has destroyed the queue pair.
  Completion* complete(CompletionLane* lane, bool solicited) noexcept {
    if (lane == nullptr) return nullptr;
    Completion* const c = lane->append(solicited);
    if (c == nullptr) {
      report_overflow(*lane);
    } else if (!lane->dirty) {
      lane->dirty = true;
      lane->next_dirty = dirty_lanes;
      dirty_lanes = lane;
    }
    return c;
  }
  void publish_completions() noexcept {
    for (CompletionLane* l = dirty_lanes; l != nullptr; l = l->next_dirty) {
      const bool solicited = l->publish();
      l->dirty = false;
      if (l->notifies) host.on_published(*l, solicited);
    }
    dirty_lanes = nullptr;
  }

 private:
  void report_overflow(CompletionLane& lane) noexcept {
    if (lane.overflow_reported) return;
    lane.overflow_reported = true;
    counters.add(Counter::cq_overflows);
    host.on_cq_overflow(lane);
  }
};

}  // namespace uroce::transport
