// SPDX-License-Identifier: BSD-3-Clause
// One end of a test: its queue pairs, its memory, and what both ends do alike.
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "perf_test.h"

namespace uroce::tools {

using Json = nlohmann::ordered_json;

Json to_json(const PerfTest& t);
Result<PerfTest> parse_test(const Json& j);

// Buffers are slots of `size` bytes, one a request that may be outstanding. Slot i's content for the n-th use of the
// test is a pattern of both, so that a stale or misplaced message shows.
class PerfEnd {
 public:
  static Result<std::unique_ptr<PerfEnd>> make(Device& device, const PerfTest& test);

  // What the peer needs to connect, and connecting with what it said.
  [[nodiscard]] Json describe(const Device& device) const;
  Result<void> connect(const Json& peer);

  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
  [[nodiscard]] std::uint8_t* local(std::uint64_t slot) noexcept { return memory_.data() + (slot % slots_) * stride_; }
  [[nodiscard]] std::uint8_t* inbox(std::uint64_t slot) noexcept { return memory_.data() + (slots_ + slot % slots_) * stride_; }
  [[nodiscard]] Sge local_sge(std::uint64_t slot) const noexcept { return region_->sge((slot % slots_) * stride_, test_.size); }
  [[nodiscard]] Sge inbox_sge(std::uint64_t slot) const noexcept {
    return region_->sge((slots_ + slot % slots_) * stride_, test_.size);
  }
  [[nodiscard]] std::uint64_t peer_inbox(std::uint64_t slot) const noexcept { return peer_iova_ + (slots_ + slot % slots_) * stride_; }
  void fill(std::uint8_t* slot, std::uint64_t sequence) const;
  [[nodiscard]] bool holds(const std::uint8_t* slot, std::uint64_t sequence) const;

  // The request of the n-th iteration.
  [[nodiscard]] SendWr request(std::uint64_t n, Sge& sge) const;
  // Polls; the first completion with error is an Error that says all it knows.
  Result<std::size_t> poll(Cq& cq, std::span<Completion> out);

  const PerfTest& test() const noexcept { return test_; }
  Cq& send_cq() noexcept { return *send_cq_; }
  Cq& recv_cq() noexcept { return *recv_cq_; }
  QueuePair& qp(std::uint64_t n) noexcept { return qps_[n % qps_.size()]; }
  [[nodiscard]] std::size_t qp_count() const noexcept { return qps_.size(); }

 private:
  explicit PerfEnd(const PerfTest& test) : test_(test) {}
  PerfTest test_;
  std::uint32_t slots_ = 1, stride_ = 64;
  std::vector<std::uint8_t> memory_;
  std::unique_ptr<Pd> pd_;
  std::unique_ptr<MemoryRegion> region_;
  std::unique_ptr<Cq> send_cq_, recv_cq_;
  std::vector<QueuePair> qps_;
  std::uint64_t peer_iova_ = 0;
  std::uint32_t peer_key_ = 0;
};

}  // namespace uroce::tools
