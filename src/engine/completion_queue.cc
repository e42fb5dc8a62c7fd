// SPDX-License-Identifier: BSD-3-Clause
#include "engine/completion_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <bit>

#include "base/assert.h"

namespace uroce::engine {

class CompletionQueue::Lock {
 public:
  explicit Lock(CompletionQueue& q) noexcept : flag_(q.config_.single_threaded ? nullptr : &q.locked_) {
    if (flag_ == nullptr) return;
    while (flag_->test_and_set(std::memory_order_acquire)) flag_->wait(true, std::memory_order_relaxed);
  }
  ~Lock() {
    if (flag_ == nullptr) return;
    flag_->clear(std::memory_order_release);
    flag_->notify_one();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic_flag* flag_;
};

CompletionQueue::CompletionQueue(const CompletionQueueConfig& config)
    : config_(config), slots_(config.workers), lanes_(new transport::CompletionLane[config.workers]) {
  UROCE_ASSERT(config.capacity >= 1 && config.capacity <= kMaxCapacity && config.workers >= 1);
  if (config.workers > 1) shared_ = std::make_unique<transport::CqState>(config.capacity);
  const std::uint32_t count = std::bit_ceil(config.capacity);
  for (std::uint32_t i = 0; i < config.workers; ++i) {
    slots_[i].resize(count);
    lanes_[i].init(slots_[i].data(), count, config.capacity, config.number, shared_.get());
    lanes_[i].queue = this;
    lanes_[i].notifies = config.events;
  }
  if (config.events) {
    event_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    UROCE_ASSERT(event_fd_ >= 0);
  }
}

CompletionQueue::~CompletionQueue() {
  if (event_fd_ >= 0) close(event_fd_);
}

namespace {

std::size_t take(transport::CompletionLane& lane, std::span<Completion> out) noexcept {
  std::size_t n = 0;
  while (n < out.size()) {
    const transport::LaneEntry* entry = lane.front();
    if (entry == nullptr) break;
    if (!entry->purged) out[n++] = entry->completion;
    lane.pop();
  }
  return n;
}

}  // namespace

std::size_t CompletionQueue::poll(std::span<Completion> out) noexcept {
  if (config_.single_threaded && config_.workers == 1) return take(lanes_[0], out);
  const Lock lock(*this);
  std::size_t n = 0;
  for (std::uint32_t tried = 0; tried < config_.workers && n < out.size(); ++tried) {
    n += take(lanes_[next_lane_], out.subspan(n));
    next_lane_ = next_lane_ + 1 == config_.workers ? 0 : next_lane_ + 1;
  }
  return n;
}

void CompletionQueue::arm(bool solicited_only) noexcept {
  const std::uint8_t wanted = solicited_only ? kSolicited : kNext;
  std::uint8_t was = armed_.load(std::memory_order_relaxed);
  while (was < wanted && !armed_.compare_exchange_weak(was, wanted, std::memory_order_relaxed)) {
  }
  // Pairs with the fence in on_published(): either the worker sees the arm, or the caller's next poll sees the
  // completion.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void CompletionQueue::on_published(bool solicited) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::uint8_t armed = armed_.load(std::memory_order_relaxed);
  if (armed == kNo || (armed == kSolicited && !solicited)) return;
  // Of several workers that publish at once, the one that disarms writes: one event an arm.
  if (!armed_.compare_exchange_strong(armed, kNo, std::memory_order_relaxed)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(event_fd_, &one, sizeof(one));
}

void CompletionQueue::purge(std::uint32_t qpn) noexcept {
  const Lock lock(*this);
  for (std::uint32_t i = 0; i < config_.workers; ++i) {
    lanes_[i].for_each_waiting([qpn](transport::LaneEntry& e) { e.purged |= e.completion.qpn == qpn; });
  }
}

}  // namespace uroce::engine
