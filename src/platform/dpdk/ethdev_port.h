// SPDX-License-Identifier: BSD-3-Clause
// One queue pair of a DPDK port as an engine::Port: mbufs in, mbufs out.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <uroce/result.h>

#include "engine/port.h"
#include "wire/ethernet.h"

struct rte_mbuf;
struct rte_mempool;

namespace uroce::platform {

struct EthdevConfig {
  std::uint16_t port = 0;
  // The largest frame sent or received, without FCS. 0: what the device's MTU allows, kSoftwareFrame where it enforces none.
  unsigned max_frame_bytes = 0;
  unsigned descriptors = 1024;            // a ring
  unsigned mbufs = 8191;
};

inline constexpr unsigned kSoftwareFrame = 4096 + 256;  // path MTU 4096 and all headers

class EthdevPort final : public engine::Port {
 public:
  // Configures and starts the port with one receive and one transmit queue. Errors: system (DPDK's words), naming the
  // port; invalid_argument when a frame would not fit the device's buffers.
  static Result<std::unique_ptr<EthdevPort>> open(const EthdevConfig& config);
  ~EthdevPort() override;

  // A number for a thread that DPDK does not know: without one every buffer comes from and goes to the shared pool.
  void attach_thread() override;
  void detach_thread() override;
  std::size_t rx_burst(std::span<engine::RxFrame> frames) override;
  void rx_release(std::span<const engine::RxFrame> frames) override;
  std::size_t tx_alloc(std::span<engine::TxFrame> frames) override;
  std::size_t tx_burst(std::span<engine::TxFrame> frames) override;
  void tx_free(std::span<const engine::TxFrame> frames) override;
  [[nodiscard]] std::size_t max_frame_bytes() const override { return config_.max_frame_bytes; }

  [[nodiscard]] wire::MacAddress mac() const;
  [[nodiscard]] bool link_up() const;
  // Waits for the link at most so long. For ports whose peer comes later (memif).
  [[nodiscard]] bool wait_for_link(unsigned milliseconds) const;
  // Frames the device itself lost: missed, errors, no mbuf.
  [[nodiscard]] std::uint64_t device_drops() const;
  // Frames refused here: more segments than can be made one.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }

 private:
  explicit EthdevPort(const EthdevConfig& config) : config_(config) {}
  Result<void> start();
  Result<void> agree_on_frames();
  EthdevConfig config_;
  rte_mempool* pool_ = nullptr;
  bool started_ = false;
  bool registered_ = false;
  std::uint64_t refused_ = 0;
};

}  // namespace uroce::platform
