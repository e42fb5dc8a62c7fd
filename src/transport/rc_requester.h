// SPDX-License-Identifier: BSD-3-Clause
// The requester half of a reliable connection (IBTA 9.7): sends the send queue's requests in PSN order, keeps what is
// not acknowledged, and goes back to the oldest of it when something is lost. There is no retransmit buffer: a packet
// is rebuilt from its work request.
//
//   head of the send queue ...... cursor ......... started ........ tail
//   |  sent, unacknowledged  |  to send (again)  |  not begun yet  |
//   una_                     next_               high_ (one past the highest PSN ever sent)
//
// una_ always lies in the entry at the head, so going back is: cursor = head, next = una.
#pragma once
#include <cstdint>

#include <uroce/types.h>

#include "base/time.h"
#include "transport/context.h"
#include "transport/psn.h"
#include "transport/tx_batch.h"
#include "transport/work_queue.h"
#include "wire/frame.h"

namespace uroce::transport {

class RcRequester {
 public:
  // To a fresh send queue that begins with `first`.
  void reset(Psn first, std::uint32_t queue_head, base::Instant now) noexcept;
  void set_counters(std::uint8_t retry_cnt, std::uint8_t rnr_retry) noexcept;

  void on_response(Qp& qp, const wire::RocePacket& p, Context& c);
  void on_timer(Qp& qp, Context& c);
  // True when the budget or the batch ended before the work.
  bool transmit(Qp& qp, Context& c, TxBatch& batch, unsigned budget);
  // Nothing can be sent yet: the timer runs all the same, so that a path that never comes ends in RETRY_EXC_ERR.
  void wait_for_path(Qp& qp, Context& c);
  // Completes everything posted with WR_FLUSH_ERR.
  void flush(Qp& qp, Context& c);
  // SQD: raises SQ_DRAINED once when all that was begun is acknowledged.
  void check_drained(Qp& qp, Context& c);
  void arm_drain() noexcept { drain_reported_ = false; }

  [[nodiscard]] base::Instant deadline() const noexcept { return deadline_; }
  [[nodiscard]] Psn una() const noexcept { return una_; }
  [[nodiscard]] Psn next() const noexcept { return next_; }
  [[nodiscard]] Psn high() const noexcept { return high_; }  // one past the highest ever sent
  [[nodiscard]] bool idle() const noexcept { return una_ == high_; }

 private:
  // Receiving.
  void on_acknowledge(Qp& qp, const wire::RocePacket& p, Psn psn, Context& c);
  void on_nak(Qp& qp, std::uint8_t syndrome, Psn psn, Context& c);
  void on_rnr_nak(Qp& qp, std::uint8_t timer_code, Psn psn, Context& c);
  void on_read_response(Qp& qp, const wire::RocePacket& p, Psn psn, Context& c);   // ops/read.cc
  void on_atomic_response(Qp& qp, const wire::RocePacket& p, Psn psn, Context& c);  // ops/atomic.cc
  // Acknowledges everything before `end`; false when an unfinished READ or ATOMIC stands in the way.
  bool acknowledge_before(Qp& qp, Psn end, Context& c);
  void advance_una(Qp& qp, Psn to, Context& c);
  void complete_head(Qp& qp, Context& c);
  void on_response_missing(Qp& qp, Context& c);
  void go_back(Qp& qp, Context& c);
  bool spend_retry(Qp& qp, Context& c, std::uint8_t syndrome);
  void fail_head(Qp& qp, Context& c, WcStatus status, std::uint8_t syndrome, std::uint8_t retries_used);
  // Sending.
  bool send_next(Qp& qp, Context& c, TxBatch& batch);
  bool begin(Qp& qp, SendEntry& e);
  bool send_data(Qp& qp, Context& c, TxBatch& batch, const SendEntry& e);     // SEND and WRITE
  bool send_read(Qp& qp, Context& c, TxBatch& batch, const SendEntry& e);     // ops/read.cc
  void send_atomic(Qp& qp, Context& c, TxBatch& batch, const SendEntry& e);   // ops/atomic.cc
  void sent(Qp& qp, Context& c, std::uint32_t psns, bool entry_done, bool response_wanted);
  void start_timer(Qp& qp, Context& c);
  void fail_if_head(Qp& qp, Context& c);
  [[nodiscard]] bool wants_ack(const Qp& qp, bool last) noexcept;

  std::uint32_t cursor_ = 0;   // entry being sent
  std::uint32_t started_ = 0;  // one past the last entry that has PSNs
  Psn una_, next_, high_, restart_;
  std::uint32_t responses_due_ = 0;  // READs and ATOMICs wholly requested in [head, cursor)
  std::uint32_t since_ack_request_ = 0;
  std::uint8_t retry_cnt_ = 0, rnr_retry_ = 0;
  std::uint8_t retries_left_ = 0, rnr_left_ = 0;
  bool rnr_waiting_ = false;
  bool missing_reported_ = false;  // one restart a missing response, then the timer
  bool drain_reported_ = true;
  WcStatus cursor_fault_ = WcStatus::success;  // the entry at the cursor can't be sent
  base::Instant deadline_ = base::kNever;
  base::Instant last_ack_{};
};

}  // namespace uroce::transport
