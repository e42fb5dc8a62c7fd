// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs that owe frames, served in turn: answers before requests, a quantum each, so that no connection starves
// another. Frames the port does not take stay first in line.
#pragma once
#include <array>
#include <cstdint>

#include "engine/port.h"
#include "transport/context.h"
#include "transport/qp.h"

namespace uroce::engine {

// An intrusive FIFO of queue pairs; each is in it at most once.
template <transport::Qp* transport::Qp::*Next, bool transport::Qp::*Listed>
class QpList {
 public:
  void push(transport::Qp& qp) noexcept {
    if (qp.*Listed) return;
    qp.*Listed = true;
    qp.*Next = nullptr;
    if (tail_ != nullptr) {
      tail_->*Next = &qp;
    } else {
      head_ = &qp;
    }
    tail_ = &qp;
    ++size_;
  }
  // Back to the front: its turn was cut short.
  void push_front(transport::Qp& qp) noexcept {
    qp.*Listed = true;
    qp.*Next = head_;
    head_ = &qp;
    if (tail_ == nullptr) tail_ = &qp;
    ++size_;
  }
  transport::Qp* pop() noexcept {
    transport::Qp* qp = head_;
    if (qp == nullptr) return nullptr;
    head_ = qp->*Next;
    if (head_ == nullptr) tail_ = nullptr;
    qp->*Listed = false;
    --size_;
    return qp;
  }
  // Control path only: a walk.
  void remove(const transport::Qp& gone) noexcept {
    for (std::uint32_t n = size_; n != 0; --n) {
      transport::Qp* qp = pop();
      if (qp != &gone) push(*qp);
    }
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

 private:
  transport::Qp* head_ = nullptr;
  transport::Qp* tail_ = nullptr;
  std::uint32_t size_ = 0;
};

class Egress {
 public:
  static constexpr std::size_t kBatch = 64;
  static constexpr unsigned kQuantum = 16;  // packets of one queue pair before the next has its turn
  // Where answers stop while requests wait: long READs must not keep the requests of others off a busy port.
  static constexpr std::size_t kAnswersOfBatch = 48;

  explicit Egress(Port& port) noexcept : port_(port) {}
  ~Egress();
  Egress(const Egress&) = delete;
  Egress& operator=(const Egress&) = delete;

  void enlist_answers(transport::Qp& qp) noexcept { answering_.push(qp); }
  void enlist_requests(transport::Qp& qp) noexcept { requesting_.push(qp); }
  void forget(const transport::Qp& qp) noexcept {
    answering_.remove(qp);
    requesting_.remove(qp);
  }
  // Builds and sends one batch. Returns how many frames the port took.
  int poll(transport::Context& c);
  // Nothing built is waiting for the port.
  [[nodiscard]] bool clear() const noexcept { return ready_ == 0; }
  [[nodiscard]] bool idle() const noexcept { return ready_ == 0 && answering_.size() == 0 && requesting_.size() == 0; }

 private:
  int send_ready();
  void grow(transport::TxBatch& batch);
  template <class List, class Transmit>
  void serve(List& list, unsigned& left, transport::TxBatch& batch, std::size_t limit, Transmit transmit);
  Port& port_;
  QpList<&transport::Qp::next_answering, &transport::Qp::answering> answering_;
  QpList<&transport::Qp::next_requesting, &transport::Qp::requesting> requesting_;
  std::array<TxFrame, 2 * kBatch> frames_;
  unsigned answers_left_ = kQuantum, requests_left_ = kQuantum;  // of the first in line, when a full batch cut it short
  std::size_t first_ = 0;      // [first_, first_ + ready_): built, not yet taken
  std::size_t ready_ = 0;
  std::size_t end_ = 0;        // [first_ + ready_, end_): empty buffers
};

}  // namespace uroce::engine
