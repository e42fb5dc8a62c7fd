// SPDX-License-Identifier: BSD-3-Clause
// Frames to our own addresses: no NIC turns them round for us, so they go through a queue of the worker's, and take the
// whole path of building, ICRC and parsing like any other.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/port.h"

namespace uroce::engine {

class LoopbackPort final : public Port {
 public:
  // Control path: makes the buffers. Until then nothing can be sent.
  void enable(std::size_t max_frame_bytes);
  [[nodiscard]] bool enabled() const noexcept { return storage_ != nullptr; }

  std::size_t rx_burst(std::span<RxFrame> frames) override;
  void rx_release(std::span<const RxFrame> frames) override;
  std::size_t tx_alloc(std::span<TxFrame> frames) override;
  std::size_t tx_burst(std::span<TxFrame> frames) override;
  void tx_free(std::span<const TxFrame> frames) override;
  [[nodiscard]] std::size_t max_frame_bytes() const override { return frame_bytes_; }

 private:
  static constexpr std::uint32_t kFrames = 512;  // a power of two
  std::unique_ptr<std::uint8_t[]> storage_;
  std::size_t frame_bytes_ = 0;
  std::vector<std::uint8_t*> free_;
  std::vector<TxFrame> waiting_;  // a ring of kFrames
  std::uint32_t head_ = 0, tail_ = 0;
};

}  // namespace uroce::engine
