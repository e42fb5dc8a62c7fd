// SPDX-License-Identifier: BSD-3-Clause
// Hosts joined by links of a rate and a delay, with faults, through a switch. Frames go where their destination MAC says.
// The switch never fills, unless it is given a queue towards a host.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/time.h"
#include "engine/fault_model.h"
#include "engine/port.h"
#include "sim/egress_queue.h"
#include "sim/event_queue.h"
#include "wire/ethernet.h"

namespace uroce::sim {

struct LinkConfig {
  std::uint64_t rate_bps = 100'000'000'000;           // of what a host sends
  base::Duration delay = base::Duration::micros(1);   // to any other host, or to the switch's queue
  std::uint32_t tx_queue_frames = 64;                 // what the port takes before it says "full"
  engine::FaultRates faults{};
};

class Network;

// One host's end.
class SimPort final : public engine::Port {
 public:
  SimPort(Network& network, const wire::MacAddress& mac, const LinkConfig& link, std::uint64_t seed);
  ~SimPort() override;
  std::size_t rx_burst(std::span<engine::RxFrame> frames) override;
  void rx_release(std::span<const engine::RxFrame> frames) override;
  std::size_t tx_alloc(std::span<engine::TxFrame> frames) override;
  std::size_t tx_burst(std::span<engine::TxFrame> frames) override;
  void tx_free(std::span<const engine::TxFrame> frames) override;
  [[nodiscard]] std::size_t max_frame_bytes() const override { return kMaxFrame; }

  void deliver(Frame f) { received_.push_back(std::move(f)); }
  // When the port takes frames again; the past when it does now.
  [[nodiscard]] base::Instant room_at() const noexcept;
  void set_faults(const engine::FaultRates& f) noexcept { faults_.set_rates(f); }
  void set_partitioned(bool cut) noexcept { partitioned_ = cut; }
  [[nodiscard]] const wire::MacAddress& mac() const noexcept { return mac_; }
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }

 private:
  static constexpr std::size_t kMaxFrame = 4096 + 256;
  void transmit(std::span<const std::uint8_t> bytes);
  void launch(Frame f, std::uint32_t hold_frames);
  Network& network_;
  wire::MacAddress mac_;
  LinkConfig link_;
  engine::FaultModel faults_;
  bool partitioned_ = false;
  base::Instant line_free_{};
  std::deque<Frame> received_;
  std::vector<std::unique_ptr<std::uint8_t[]>> free_buffers_;
  std::uint64_t sent_ = 0, lost_ = 0;
};

class Network {
 public:
  explicit Network(EventQueue& events) : events_(events) {}
  // `wake` is called in virtual time after a frame was put into the port.
  void attach(SimPort& port, std::function<void()> wake);
  void carry(Frame f, base::Instant arrival);
  // From now on frames to that host, which is attached, wait here for their turn on its link.
  EgressQueue& queue_towards(const wire::MacAddress& host, const QueueConfig& config, std::uint64_t seed);
  [[nodiscard]] EventQueue& events() noexcept { return events_; }
  // Over every frame delivered and when: equal runs have equal hashes.
  [[nodiscard]] std::uint64_t trace_hash() const noexcept { return hash_; }
  std::function<void(base::Instant, std::span<const std::uint8_t>)> tap;  // sees every delivered frame

 private:
  struct End {
    SimPort* port;
    std::function<void()> wake;
    std::unique_ptr<EgressQueue> queue;
  };
  void deliver(End& end, Frame f);
  EventQueue& events_;
  std::map<wire::MacAddress, End> ends_;
  std::uint64_t hash_ = 0;
};

}  // namespace uroce::sim
