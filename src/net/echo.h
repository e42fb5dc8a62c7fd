// SPDX-License-Identifier: BSD-3-Clause
// Echo requests on their way to becoming replies. Each keeps its datagram, so there are few: who asks faster than the
// port sends gets fewer answers.
#pragma once
#include <memory>
#include <span>

#include "net/checksum.h"
#include "wire/ethernet.h"

namespace uroce::net {

class EchoQueue {
 public:
  static constexpr std::uint32_t kSlots = 8;

  explicit EchoQueue(std::uint32_t mtu);
  ~EchoQueue();

  // A whole datagram, checked: IPv4 without options, or IPv6 without extension headers. False: no slot is free.
  bool push(const wire::MacAddress& from, Bytes datagram) noexcept;
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::uint32_t mtu() const noexcept { return mtu_; }

  // The oldest request's reply. Returns the frame's length without padding; 0 and still the oldest when `out` is short.
  std::size_t pop_reply(const wire::MacAddress& own, std::span<std::uint8_t> out) noexcept;

 private:
  struct Slot {
    wire::MacAddress from;
    std::uint32_t length = 0;
  };
  [[nodiscard]] std::uint8_t* bytes_of(std::uint32_t slot) const noexcept {
    return bytes_.get() + std::size_t{slot} * mtu_;
  }
  std::uint32_t mtu_, first_ = 0, count_ = 0;
  Slot slots_[kSlots]{};
  std::unique_ptr<std::uint8_t[]> bytes_;
};

}  // namespace uroce::net
