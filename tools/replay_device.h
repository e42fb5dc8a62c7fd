// SPDX-License-Identifier: BSD-3-Clause
// One queue pair on a worker on a net_pcap port: frames come from a pcap file, one when asked, and what is sent goes
// into another. Time is virtual.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/worker.h"
#include "memory/memory_table.h"
#include "platform/dpdk/ethdev_port.h"
#include "replay_plan.h"
#include "transport/qp.h"

namespace uroce::tools {

// Lets through as many received frames as were released.
class GatedPort final : public engine::Port {
 public:
  explicit GatedPort(engine::Port& inner) : inner_(inner) {}
  void release(std::size_t frames) noexcept { released_ += frames; }
  std::size_t rx_burst(std::span<engine::RxFrame> frames) override {
    const std::size_t n = released_ == 0 ? 0 : inner_.rx_burst(frames.first(std::min(frames.size(), released_)));
    released_ -= n;
    return n;
  }
  void rx_release(std::span<const engine::RxFrame> frames) override { inner_.rx_release(frames); }
  std::size_t tx_alloc(std::span<engine::TxFrame> frames) override { return inner_.tx_alloc(frames); }
  std::size_t tx_burst(std::span<engine::TxFrame> frames) override { return inner_.tx_burst(frames); }
  void tx_free(std::span<const engine::TxFrame> frames) override { inner_.tx_free(frames); }
  [[nodiscard]] std::size_t max_frame_bytes() const override { return inner_.max_frame_bytes(); }

 private:
  engine::Port& inner_;
  std::size_t released_ = 0;
};

struct ReplayEnd {  // which end of the flow is ours
  bool requester = false;
  std::uint32_t send_depth = 1;
};

class ReplayDevice final : private transport::EventSink {
 public:
  // Brings DPDK up when it is not. `input`: the frames our end will receive.
  static Result<std::unique_ptr<ReplayDevice>> open(const Flow& flow, const ReplayEnd& end,
                                                    const std::vector<ReplayFrame>& input);
  ~ReplayDevice();

  // The next input frame, then turns until nothing is left to do.
  void feed();
  void run();
  void advance(base::Duration d) { now_ = now_ + d; }
  bool post_receive();  // one that takes the longest message
  void clear_receives() { qp_->rq().clear(); }

  [[nodiscard]] transport::Qp& qp() { return *qp_; }
  [[nodiscard]] engine::Worker& worker() { return *worker_; }
  [[nodiscard]] const Sge& scratch() const { return scratch_sge_; }  // local memory for any message
  std::uint8_t* target(std::uint64_t va);                            // the peer's view, nullptr when unknown
  [[nodiscard]] transport::CompletionLane& send_lane() { return send_lane_; }
  // Everything sent, after the port is closed. No call but the destructor may follow.
  Result<std::vector<ReplayFrame>> close();

 private:
  struct Region {
    std::uint64_t begin;
    std::vector<std::uint64_t> words;  // aligned for atomics
  };
  ReplayDevice() = default;
  void on_event(const AsyncEvent&) override {}
  Result<void> start(const Flow& flow, const ReplayEnd& end, const std::vector<ReplayFrame>& input);
  Result<void> make_memory(const Flow& flow, const ReplayEnd& end);
  Result<void> connect(const Flow& flow, const ReplayEnd& end);

  std::filesystem::path folder_;
  std::string vdev_;
  base::Instant now_{};
  std::unique_ptr<platform::EthdevPort> port_;
  std::unique_ptr<GatedPort> gate_;
  std::unique_ptr<memory::MemoryTable> memory_;
  std::vector<Region> regions_;
  std::vector<std::uint8_t> scratch_;
  Sge scratch_sge_;
  std::unique_ptr<engine::Worker> worker_;
  std::vector<transport::LaneEntry> send_slots_, recv_slots_;
  transport::CompletionLane send_lane_, recv_lane_;
  std::unique_ptr<transport::Qp> qp_;
};

}  // namespace uroce::tools
