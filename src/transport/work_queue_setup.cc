// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <new>

#include "transport/work_queue.h"

namespace uroce::transport {
namespace {
constexpr std::size_t kLine = 64;
}

void WorkRing::Deleter::operator()(std::uint8_t* p) const noexcept { ::operator delete[](p, std::align_val_t{kLine}); }

WorkRing::WorkRing(std::uint32_t capacity, std::size_t entry_bytes)
    : capacity_(capacity), mask_(std::bit_ceil(capacity) - 1), stride_((entry_bytes + kLine - 1) / kLine * kLine) {
  UROCE_ASSERT(capacity >= 1 && capacity <= kMaxQueueDepth);
  const std::size_t bytes = (std::size_t{mask_} + 1) * stride_;
  storage_.reset(static_cast<std::uint8_t*>(::operator new[](bytes, std::align_val_t{kLine})));
  std::fill_n(storage_.get(), bytes, std::uint8_t{0});
}

SendQueue::SendQueue(std::uint32_t depth, std::uint32_t max_sges, std::uint32_t max_inline)
    : max_sges_(max_sges),
      max_inline_(max_inline),
      // Two SGEs' room at least: an ATOMIC keeps its operands in the second.
      ring_(depth, sizeof(SendEntry) + std::max({2 * sizeof(Sge), max_sges * sizeof(Sge), std::size_t{max_inline}})) {}

RecvQueue::RecvQueue(std::uint32_t depth, std::uint32_t max_sges)
    : max_sges_(max_sges), ring_(depth, sizeof(RecvEntry) + max_sges * sizeof(Sge)) {}

}  // namespace uroce::transport
