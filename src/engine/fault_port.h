// SPDX-License-Identifier: BSD-3-Clause
// A bad network in front of any port: what is sent is dropped, doubled, held back, damaged or cut, by a seed. Received
// frames are left alone: give the other end one too.
#pragma once
#include <cstdint>
#include <vector>

#include "engine/fault_model.h"
#include "engine/port.h"

namespace uroce::engine {

class FaultPort final : public Port {
 public:
  FaultPort(Port& inner, const FaultRates& rates, std::uint64_t seed) : inner_(inner), faults_(rates, seed) {}
  ~FaultPort() override;

  void attach_thread() override { inner_.attach_thread(); }
  void detach_thread() override { inner_.detach_thread(); }
  std::size_t rx_burst(std::span<RxFrame> frames) override { return inner_.rx_burst(frames); }
  void rx_release(std::span<const RxFrame> frames) override { inner_.rx_release(frames); }
  std::size_t tx_alloc(std::span<TxFrame> frames) override { return inner_.tx_alloc(frames); }
  std::size_t tx_burst(std::span<TxFrame> frames) override;
  void tx_free(std::span<const TxFrame> frames) override { inner_.tx_free(frames); }
  [[nodiscard]] std::size_t max_frame_bytes() const override { return inner_.max_frame_bytes(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  struct Held {
    TxFrame frame;
    std::uint64_t due;  // once so many frames were offered: sent, held or dropped
  };
  void send(TxFrame f);
  void release_held();
  Port& inner_;
  FaultModel faults_;
  std::vector<Held> held_;
  std::uint64_t offered_ = 0, dropped_ = 0;
};

}  // namespace uroce::engine
