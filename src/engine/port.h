// SPDX-License-Identifier: BSD-3-Clause
// Where frames come from and go to: a NIC queue, a simulated link, a test script. Calls are per burst. One thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/tx_batch.h"

namespace uroce::engine {

using transport::TxFrame;

enum class L4Checksum : std::uint8_t { unknown, good, bad };

struct RxFrame {
  std::span<const std::uint8_t> bytes;  // from the destination MAC, without FCS, in one piece
  void* owner = nullptr;                // the port's
  std::uint16_t vlan_tci = 0;           // a tag that the port took off; valid with vlan_stripped
  bool vlan_stripped = false;
  L4Checksum l4 = L4Checksum::unknown;
};

class Port {
 public:
  virtual ~Port() = default;
  // The calling thread will use the port until detach_thread(): a chance to get what belongs to a thread, like a buffer cache.
  virtual void attach_thread() {}
  virtual void detach_thread() {}
  // Received frames, at most frames.size(). They stay valid until rx_release().
  virtual std::size_t rx_burst(std::span<RxFrame> frames) = 0;
  virtual void rx_release(std::span<const RxFrame> frames) = 0;
  // Empty buffers to build frames in: room for max_frame_bytes() each. May give fewer than asked.
  virtual std::size_t tx_alloc(std::span<TxFrame> frames) = 0;
  // Takes the first n frames, in order, and says n; the rest stay the caller's.
  virtual std::size_t tx_burst(std::span<TxFrame> frames) = 0;
  // Gives buffers back unsent.
  virtual void tx_free(std::span<const TxFrame> frames) = 0;
  [[nodiscard]] virtual std::size_t max_frame_bytes() const = 0;
};

}  // namespace uroce::engine
