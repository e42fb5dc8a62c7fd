// SPDX-License-Identifier: BSD-3-Clause
// Frame buffers handed out in bulk by a port, filled in place by the core.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace uroce::transport {

// `owner` is the port's (an mbuf, a pool index); the core does not look at it.
struct TxFrame {
  std::uint8_t* data = nullptr;
  std::uint32_t length = 0;
  void* owner = nullptr;
};

class TxBatch {
 public:
  explicit TxBatch(std::span<TxFrame> frames) noexcept : frames_(frames) {}
  [[nodiscard]] bool full() const noexcept { return used_ == frames_.size(); }
  // Where the next frame is written: room for the path MTU and all headers.
  [[nodiscard]] std::uint8_t* room() noexcept { return frames_[used_].data; }
  void commit(std::size_t length) noexcept { frames_[used_++].length = static_cast<std::uint32_t>(length); }
  [[nodiscard]] std::uint32_t last_length() const noexcept { return frames_[used_ - 1].length; }
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  // The `n` frames behind the last one belong to the batch as well.
  void extend(std::size_t n) noexcept { frames_ = {frames_.data(), frames_.size() + n}; }

 private:
  std::span<TxFrame> frames_;
  std::size_t used_ = 0;
};

}  // namespace uroce::transport
