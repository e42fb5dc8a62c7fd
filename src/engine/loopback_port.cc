// SPDX-License-Identifier: BSD-3-Clause
#include "engine/loopback_port.h"

#include <algorithm>

namespace uroce::engine {

void LoopbackPort::enable(std::size_t max_frame_bytes) {
  if (enabled()) return;
  frame_bytes_ = (max_frame_bytes + 63) / 64 * 64;
  storage_ = std::make_unique<std::uint8_t[]>(frame_bytes_ * kFrames);
  waiting_.resize(kFrames);
  free_.reserve(kFrames);
  for (std::size_t i = 0; i < kFrames; ++i) free_.push_back(storage_.get() + i * frame_bytes_);
}

std::size_t LoopbackPort::tx_alloc(std::span<TxFrame> frames) {
  const std::size_t n = std::min(frames.size(), free_.size());
  for (std::size_t i = 0; i < n; ++i) {
    frames[i] = {free_.back(), 0, nullptr};
    free_.pop_back();
  }
  return n;
}

std::size_t LoopbackPort::tx_burst(std::span<TxFrame> frames) {
  for (const TxFrame& f : frames) waiting_[tail_++ % kFrames] = f;  // there are only kFrames buffers: it never overflows
  return frames.size();
}

void LoopbackPort::tx_free(std::span<const TxFrame> frames) {
  for (const TxFrame& f : frames) free_.push_back(f.data);
}

std::size_t LoopbackPort::rx_burst(std::span<RxFrame> frames) {
  const auto n = std::min<std::size_t>(frames.size(), tail_ - head_);
  for (std::size_t i = 0; i < n; ++i) {
    const TxFrame& f = waiting_[head_++ % kFrames];
    frames[i] = {};
    frames[i].bytes = {f.data, f.length};
    frames[i].owner = f.data;
  }
  return n;
}

void LoopbackPort::rx_release(std::span<const RxFrame> frames) {
  for (const RxFrame& f : frames) free_.push_back(static_cast<std::uint8_t*>(f.owner));
}

}  // namespace uroce::engine
