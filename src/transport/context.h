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
  virtual void on_cq_overflow(CompletionLane& lane) = 0;   // once a lane; QPs of that queue are to fail
  virtual void on_published(CompletionLane& lane, bool solicited) = 0;  // only lanes that notify

 protected:
  ~QpHost() = default;
};

struct Context {
  base::Instant now{};
  memory::MemoryTable& memory;
  EventSink& events;
  QpHost& host;
  Counters& counters;
  CompletionLane* dirty_lanes = nullptr;

  // `lane` is null once the application has destroyed the queue pair.
  void complete(CompletionLane* lane, const Completion& c, bool solicited) noexcept {
    if (lane == nullptr) return;
    if (!lane->push(c, solicited)) {
      if (!lane->overflow_reported) {
        lane->overflow_reported = true;
        counters.add(Counter::cq_overflows);
        host.on_cq_overflow(*lane);
      }
      return;
    }
    if (!lane->dirty) {
      lane->dirty = true;
      lane->next_dirty = dirty_lanes;
      dirty_lanes = lane;
    }
  }
  void publish_completions() noexcept {
    for (CompletionLane* l = dirty_lanes; l != nullptr; l = l->next_dirty) {
      const bool solicited = l->publish();
      l->dirty = false;
      if (l->notifies) host.on_published(*l, solicited);
    }
    dirty_lanes = nullptr;
  }
};

}  // namespace uroce::transport
