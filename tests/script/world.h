// SPDX-License-Identifier: BSD-3-Clause
// One queue pair on an engine::Worker in virtual time. Its port is scripted: frames are put in by the caller, frames it
// sends are kept with the moment they left. Work takes no time.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/worker.h"
#include "memory/memory_table.h"
#include "transport/qp.h"

namespace uroce::script {

using Buffer = std::vector<std::uint8_t>;

// What leaves, and when.
struct Sent {
  base::Instant at{};
  Buffer bytes;
};

class ScriptedPort final : public engine::Port {
 public:
  static constexpr std::size_t kFrameBytes = 4096 + wire::kMaxFrameOverhead;
  ScriptedPort();
  std::size_t rx_burst(std::span<engine::RxFrame> frames) override;
  void rx_release(std::span<const engine::RxFrame> frames) override;
  std::size_t tx_alloc(std::span<engine::TxFrame> frames) override;
  std::size_t tx_burst(std::span<engine::TxFrame> frames) override;
  void tx_free(std::span<const engine::TxFrame> frames) override;
  [[nodiscard]] std::size_t max_frame_bytes() const override { return kFrameBytes; }

  struct Arrival {
    Buffer bytes;
    engine::L4Checksum l4 = engine::L4Checksum::unknown;
  };
  std::deque<Arrival> arriving;
  std::deque<Sent> sent;
  bool open = true;  // closed: takes no frame
  base::Instant now{};
  // When set, frames go here instead of `sent`: for tests of millions of them.
  std::function<void(std::span<const std::uint8_t>)> on_sent;

 private:
  std::vector<std::unique_ptr<std::uint8_t[]>> buffers_;
  std::vector<std::uint8_t*> free_;
  std::vector<Arrival> in_use_;
};

struct Options {
  std::uint32_t mtu = 1024, window = 256, send_depth = 64, recv_depth = 64;
  std::uint32_t cq = 256, recv_cq = 256;  // capacities
  bool shared_cq = false;                 // receives complete in the send queue's
  bool credits = false, signal_all = false;
  std::uint8_t timeout = 14, retry_cnt = 7, rnr_retry = 7, min_rnr_timer = 12;
  std::uint8_t max_rd_atomic = 16, max_dest_rd_atomic = 16;
  std::uint32_t sq_psn = 0, rq_psn = 0;
  AccessFlags access{Access::remote_write, Access::remote_read, Access::remote_atomic};
  QpState state = QpState::rts;
  congestion::Profile congestion;  // none
};

class World final : private transport::EventSink {
 public:
  static constexpr std::uint32_t kQpn = 0x111, kPeerQpn = 0x222;
  static constexpr memory::PdNumber kPd = 3;
  static constexpr std::uint32_t kTargetBytes = 1u << 18, kLocalBytes = 1u << 18, kSinkBytes = 1u << 18;
  static constexpr std::uint64_t kTarget = 0x7000'0000'1000, kLocal = 0x5000'0000'0000, kSink = 0x6000'0000'0000;

  explicit World(const Options& setup);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Time.
  [[nodiscard]] base::Instant now() const noexcept { return port.now; }
  void run();  // the worker, until it has nothing more to do now
  void advance_to(
      base::Instant t);  // running the worker at each of its deadlines; frames that came at `t` wait for run()
  bool advance_to_frame(base::Instant limit);  // the same, until something was sent; false: nothing was, by `limit`

  // The queue pair.
  Result<void> modify(const transport::QpAttributes& a, QpAttrMask mask);
  // From where it is to init, rtr or rts, with the attributes that the moves need.
  Result<void> bring_up(QpState to);
  transport::PostError post(const SendWr& wr);
  transport::PostError post(const RecvWr& wr);
  std::optional<Completion> poll_send();
  std::optional<Completion> poll_recv();
  [[nodiscard]] engine::Worker& worker() noexcept { return *worker_; }
  [[nodiscard]] transport::Qp& qp() noexcept { return *qp_; }
  transport::QpAttributes attributes;  // what bring_up() uses

  // Memory: target is open to the peer, local holds what we send (pattern l), sink what we get; all but local are zero.
  // `at` is a remote address; nullptr when [at, at + length) is in none of them.
  std::uint8_t* bytes_at(std::uint64_t at, std::uint64_t length);
  std::map<std::string, std::uint32_t, std::less<>> keys;
  [[nodiscard]] std::uint32_t key(std::string_view name) const { return keys.find(name)->second; }
  memory::MemoryTable memory;

  ScriptedPort port;
  std::deque<AsyncEvent> events;
  const Options setup;
  wire::Path path;       // ours
  wire::Path peer_path;  // of frames that come to us

 private:
  void on_event(const AsyncEvent& e) override { events.push_back(e); }
  void make_memory();
  bool step(base::Instant limit);

  struct Region {
    std::uint64_t iova;
    Buffer bytes;
  };
  std::array<Region, 4> regions_;
  std::vector<transport::LaneEntry> send_slots_, recv_slots_;
  transport::CompletionLane send_lane_, recv_lane_;
  std::unique_ptr<engine::Worker> worker_;
  std::unique_ptr<transport::Qp> qp_;
};

}  // namespace uroce::script
