// SPDX-License-Identifier: BSD-3-Clause
// The rings of work requests that application and worker share. The application checks and writes an entry, then shows
// it with one release store of the tail; the worker reads entries in place (a retransmission reads them again) and
// gives them back by moving the head. Entries are numbered from 0 without wrap in 32 bits; slot = number mod capacity.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include <uroce/types.h>

#include "base/assert.h"
#include "transport/psn.h"

namespace uroce::transport {

using uroce::PostError;

// Followed in its slot by SGEs, or by inline data.
struct SendEntry {
  std::uint64_t wr_id;
  std::uint64_t remote_address;
  std::uint32_t rkey;
  std::uint32_t length;  // of the whole message
  std::uint32_t immediate_or_key;  // Immediate as it lies in memory, or the key to invalidate
  WrOpcode opcode;
  std::uint8_t flags;  // SendFlags
  std::uint8_t sge_count;
  std::uint8_t reserved;
  // The worker's part, set when the request is first sent.
  Psn first_psn;
  std::uint32_t psn_count;

  [[nodiscard]] bool has(SendFlag f) const noexcept { return SendFlags::from_bits(flags).has(f); }
  [[nodiscard]] std::span<const Sge> sges() const noexcept {
    return {reinterpret_cast<const Sge*>(this + 1), has(SendFlag::inline_data) ? 0u : sge_count};
  }
  [[nodiscard]] const std::uint8_t* inline_bytes() const noexcept {
    return reinterpret_cast<const std::uint8_t*>(this + 1);
  }
  // ATOMIC operands lie behind the one SGE: compare_add, swap.
  [[nodiscard]] const std::uint64_t* operands() const noexcept {
    return reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const Sge*>(this + 1) + 1);
  }
  [[nodiscard]] bool is_atomic() const noexcept { return opcode == WrOpcode::cmp_swap || opcode == WrOpcode::fetch_add; }
  [[nodiscard]] bool is_read() const noexcept { return opcode == WrOpcode::rdma_read; }
  [[nodiscard]] bool wants_response() const noexcept { return is_read() || is_atomic(); }
};
static_assert(sizeof(SendEntry) == 40);

struct RecvEntry {
  std::uint64_t wr_id;
  std::uint64_t length;  // sum of its SGEs
  std::uint32_t sge_count;
  std::uint32_t reserved;
  [[nodiscard]] std::span<const Sge> sges() const noexcept {
    return {reinterpret_cast<const Sge*>(this + 1), sge_count};
  }
};
static_assert(sizeof(RecvEntry) == 24);

// Slots of one size, cache-line aligned.
class WorkRing {
 public:
  WorkRing(std::uint32_t capacity, std::size_t entry_bytes);  // capacity >= 1
  WorkRing(const WorkRing&) = delete;
  WorkRing& operator=(const WorkRing&) = delete;

  [[nodiscard]] std::uint8_t* slot(std::uint32_t number) const noexcept {
    return storage_.get() + std::size_t{number & mask_} * stride_;
  }
  // Application. Acquire: a slot is written again only after the worker has done with it.
  [[nodiscard]] bool has_room() const noexcept {
    return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire) < capacity_;
  }
  [[nodiscard]] std::uint8_t* next_slot() const noexcept { return slot(tail_.load(std::memory_order_relaxed)); }
  // Release: the entry is written before the tail that shows it.
  void publish() noexcept { tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  // Worker.
  [[nodiscard]] std::uint32_t tail() const noexcept { return tail_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint32_t head() const noexcept { return head_.load(std::memory_order_relaxed); }
  void set_head(std::uint32_t h) noexcept { head_.store(h, std::memory_order_release); }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return tail() - head_.load(std::memory_order_acquire); }

 private:
  struct Deleter {
    void operator()(std::uint8_t* p) const noexcept;
  };
  std::unique_ptr<std::uint8_t[], Deleter> storage_;
  std::uint32_t capacity_;  // as asked; slots are the next power of two
  std::uint32_t mask_;
  std::size_t stride_;
  alignas(64) std::atomic<std::uint32_t> tail_{0};
  alignas(64) std::atomic<std::uint32_t> head_{0};
};

class SendQueue {
 public:
  SendQueue(std::uint32_t depth, std::uint32_t max_sges, std::uint32_t max_inline);
  PostError post(const SendWr& wr) noexcept;
  [[nodiscard]] SendEntry& at(std::uint32_t number) const noexcept {
    return *reinterpret_cast<SendEntry*>(ring_.slot(number));
  }
  [[nodiscard]] WorkRing& ring() noexcept { return ring_; }
  [[nodiscard]] const WorkRing& ring() const noexcept { return ring_; }

 private:
  std::uint32_t max_sges_, max_inline_;
  WorkRing ring_;
};

class RecvQueue {
 public:
  RecvQueue(std::uint32_t depth, std::uint32_t max_sges);
  PostError post(const RecvWr& wr) noexcept;
  // Worker: the oldest entry, or nullptr; it stays until pop().
  [[nodiscard]] const RecvEntry* front() const noexcept {
    return ring_.head() == ring_.tail() ? nullptr : reinterpret_cast<const RecvEntry*>(ring_.slot(ring_.head()));
  }
  void pop() noexcept { ring_.set_head(ring_.head() + 1); }
  [[nodiscard]] std::uint32_t size() const noexcept { return ring_.size(); }
  void clear() noexcept { ring_.set_head(ring_.tail()); }

 private:
  std::uint32_t max_sges_;
  WorkRing ring_;
};

}  // namespace uroce::transport
