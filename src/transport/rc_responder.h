// SPDX-License-Identifier: BSD-3-Clause
// The responder half of a reliable connection (IBTA 9.7): a ladder of checks for each request in PSN order, and a queue
// of answers owed. on_request() never emits a frame. Answers leave in request order; nothing overtakes an unfinished
// READ response. ACKs that stand next to each other in the queue become one.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include <uroce/types.h>

#include "transport/context.h"
#include "transport/psn.h"
#include "transport/tx_batch.h"
#include "transport/work_queue.h"
#include "wire/frame.h"
#include "wire/syndrome.h"

namespace uroce::transport {

class RcResponder {
 public:
  // Sets up for a fresh connection. Allocates the replay slots and the answer queue (rc_responder_setup.cc).
  void reset(Psn expected, std::uint32_t max_dest_rd_atomic);

  // Another number of replay slots, on a live connection; the newest requests stay. Allocates.
  void resize(std::uint32_t max_dest_rd_atomic);

  void on_request(Qp& qp, const wire::RocePacket& p, Context& c);
  bool transmit(Qp& qp, Context& c, TxBatch& batch, unsigned budget);
  // Completes all receives with WR_FLUSH_ERR.
  void flush(Qp& qp, Context& c);
  void drop_answers() noexcept { answer_head_ = answer_tail_; }
  [[nodiscard]] bool owes() const noexcept { return answer_head_ != answer_tail_; }
  [[nodiscard]] Psn expected() const noexcept { return expected_; }
  [[nodiscard]] std::uint32_t msn() const noexcept { return msn_; }

 private:
  enum class Message : std::uint8_t { none, send, write };
  enum class AnswerKind : std::uint8_t { ack, soft_nak /* sequence or RNR: the connection goes on */, hard_nak, read, atomic };

  // A READ or ATOMIC kept so that a duplicate can be answered again.
  struct Replay {
    Psn first;
    std::uint32_t count = 0;  // PSNs; 0: free
    bool atomic = false;
    std::uint32_t rkey = 0, length = 0;
    std::uint64_t va = 0, original = 0;  // original: what the ATOMIC found
  };
  struct Answer {
    AnswerKind kind{};
    std::uint8_t syndrome = 0;
    std::uint8_t slot = 0;  // of replays_
    bool again = false;     // answers a duplicate
    Psn psn;                // acknowledged, refused or next to answer
    std::uint32_t msn = 0;
    Psn begin;              // READ: where this answer starts, so where FIRST or ONLY goes
  };
  static bool acknowledges(const Answer& a) noexcept { return a.kind == AnswerKind::ack || a.kind == AnswerKind::soft_nak; }
  // Whether the NAK before an ACK already tells all that the ACK does.
  static bool says_as_much(const Answer& older, const Answer& newer) noexcept {
    return older.kind == AnswerKind::soft_nak && newer.kind == AnswerKind::ack && newer.psn + 1 == older.psn;
  }
  // What the ladder refuses with, and how a receive in use completes.
  struct Refusal {
    wire::Nak nak;
    WcStatus receive_status = WcStatus::wr_flush_err;
  };
  // What a rung of the ladder says. One word, so that it comes back in a register: put together from bytes in memory, it
  // would have to wait for them.
  class Outcome {
   public:
    constexpr Outcome() noexcept = default;  // fine; of a verb: executed
    constexpr Outcome(const Refusal& r) noexcept  // NOLINT: a refusal is an outcome. Nothing was executed
        : word_(kRefused | std::uint32_t{static_cast<std::uint8_t>(r.nak)} << 8 |
                std::uint32_t{static_cast<std::uint8_t>(r.receive_status)} << 16) {}
    static constexpr Outcome receiver_not_ready() noexcept {
      Outcome o;
      o.word_ = kNotReady;
      return o;
    }
    [[nodiscard]] constexpr bool refused() const noexcept { return (word_ & kRefused) != 0; }
    [[nodiscard]] constexpr bool not_ready() const noexcept { return word_ == kNotReady; }
    [[nodiscard]] constexpr Refusal refusal() const noexcept {
      return {static_cast<wire::Nak>(word_ >> 8 & 0xff), static_cast<WcStatus>(word_ >> 16 & 0xff)};
    }

   private:
    static constexpr std::uint32_t kRefused = 1, kNotReady = 2;
    std::uint32_t word_ = 0;
  };

  void on_ahead(Qp& qp, Context& c);
  void on_duplicate(Qp& qp, const wire::RocePacket& p, Psn psn, Context& c);
  [[nodiscard]] Outcome check_sequence(const wire::RocePacket& p) const noexcept;
  [[nodiscard]] Outcome check_access(const Qp& qp, const wire::RocePacket& p) const noexcept;
  // One per verb, in ops/. They check, then execute.
  Outcome execute_send(Qp& qp, const wire::RocePacket& p, Context& c);
  Outcome execute_write(Qp& qp, const wire::RocePacket& p, Context& c);
  Outcome execute_read(Qp& qp, const wire::RocePacket& p, Context& c);
  Outcome execute_atomic(Qp& qp, const wire::RocePacket& p, Context& c);
  Outcome execute(Qp& qp, const wire::RocePacket& p, Context& c);
  void repeat_read(Qp& qp, const wire::RocePacket& p, Psn psn, Context& c);
  void repeat_atomic(Qp& qp, const wire::RocePacket& p, Psn psn, Context& c);
  void refuse(Qp& qp, const Refusal& r, Psn psn, Context& c);
  void complete_receive(Qp& qp, const wire::RocePacket& p, WcOpcode opcode, std::uint32_t length, Context& c);
  void fail_receive(Qp& qp, WcStatus status, Psn psn, std::uint8_t syndrome, Context& c);

  // Answers.
  [[nodiscard]] Answer& answer(std::uint32_t number) noexcept { return answers_[number & answer_mask_]; }
  [[nodiscard]] Answer* last_answer() noexcept { return owes() ? &answer(answer_tail_ - 1) : nullptr; }
  void owe(Qp& qp, const Answer& a, Context& c);
  void owe_ack(Qp& qp, Context& c, bool progress);
  void owe_nak(Qp& qp, AnswerKind kind, std::uint8_t syndrome, Psn psn, Context& c);
  // A replay slot for a new READ or ATOMIC; nullopt when the peer has more outstanding than it may.
  std::optional<std::uint8_t> take_slot() noexcept;
  void withdraw(const Answer& gone) noexcept;
  Replay* find_replay(Psn psn, std::uint8_t& slot) noexcept;
  [[nodiscard]] Answer* find_answer(std::uint8_t slot) noexcept;
  void send_acknowledge(Qp& qp, TxBatch& batch, const Answer& a);
  bool send_read_response(Qp& qp, Context& c, TxBatch& batch, Answer& a);  // true: answered in full
  void send_atomic_response(Qp& qp, TxBatch& batch, const Answer& a);
  [[nodiscard]] std::uint8_t ack_syndrome(Qp& qp) const noexcept;

  Psn expected_;
  std::uint32_t msn_ = 0;
  Message message_ = Message::none;
  bool gap_ = false;           // one NAK a gap: silent until the expected PSN comes
  bool heard_ = false;         // COMM_EST raised
  bool in_receive_ = false;    // the front of the receive queue belongs to the current SEND
  bool finished_ = false;      // an error NAK is owed: nothing more is executed
  std::uint32_t rkey_ = 0;     // current WRITE
  std::uint64_t va_ = 0;
  std::uint32_t announced_ = 0;  // its length
  std::uint32_t received_ = 0;   // bytes of the current message so far

  std::unique_ptr<Replay[]> replays_;
  std::unique_ptr<Answer[]> answers_;
  std::uint32_t replay_count_ = 0, replay_next_ = 0;
  std::uint32_t answer_mask_ = 0, answer_head_ = 0, answer_tail_ = 0;
};

}  // namespace uroce::transport
