// SPDX-License-Identifier: BSD-3-Clause
// One end of a connection in the random workload: it posts, it is written to, and it knows what should come of both.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "sim/host.h"
#include "sim/workload.h"
#include "transport/qp.h"

namespace uroce::sim {

class Peer {
 public:
  // `failure` is set to what went wrong first.
  Peer(Host& host, std::uint32_t host_number, std::uint32_t number, const Scenario& s,
       const congestion::Profile& congestion, std::uint64_t seed,
       std::string& failure);
  static void connect(Peer& a, Peer& b);
  // Looks at completions and posts more. True when it did something.
  bool turn();
  [[nodiscard]] bool done() const noexcept { return posted_ == scenario_.operations && expected_.empty(); }
  void check_memory();
  void detach() { host_.worker().remove(qp_); }
  [[nodiscard]] Host& host() noexcept { return host_; }
  [[nodiscard]] std::string describe() const;

 private:
  using Bytes = std::vector<std::uint8_t>;
  struct Expected {  // of a request, oldest first
    std::uint64_t wr_id;
    bool signaled;
    WcOpcode opcode;
    std::uint32_t length;
    Bytes result;        // READ and ATOMIC: what must lie in the sink
    std::uint64_t sink;  // offset in local_
  };
  struct Message {  // to arrive at this side
    Bytes data;
    WcOpcode opcode;
    bool with_imm = false, with_inv = false;
    Immediate immediate{};
    std::uint32_t key = 0;
  };
  struct Receive {
    std::uint64_t wr_id;
    std::uint64_t buffer;  // offset in local_
  };

  // What peers may reach: [target | source | counters], at remote addresses from kIova.
  static constexpr std::uint32_t kCounters = 8;
  [[nodiscard]] std::uint64_t iova() const noexcept { return 0x1000'0000'0000ull + (std::uint64_t{number_} << 32); }
  [[nodiscard]] std::uint32_t area() const noexcept { return scenario_.max_message; }
  [[nodiscard]] std::uint64_t local_iova() const noexcept { return iova() + 0x7000'0001; }

  bool poll_sends();
  bool poll_receives();
  bool post_receives();
  bool post_request();
  void post_data(SendWr& wr, WcOpcode opcode, std::vector<Sge>& sges, Expected& e);
  void post_read(SendWr& wr, std::vector<Sge>& sges, Expected& e);
  void post_atomic(SendWr& wr, std::vector<Sge>& sges, Expected& e);
  std::uint32_t draw_length();
  Bytes draw_data(std::uint32_t length, bool inlined, std::vector<Sge>& sges);
  void fail(const std::string& what);

  Host& host_;
  std::uint32_t host_number_, number_;
  const Scenario& scenario_;
  base::Rng rng_;
  std::string& failure_;
  std::vector<transport::LaneEntry> send_slots_, recv_slots_;
  transport::CompletionLane send_lane_, recv_lane_;
  transport::Qp qp_;
  Peer* other_ = nullptr;

  Bytes remote_;  // target, source
  alignas(8) std::uint64_t counters_[kCounters]{};
  Bytes local_;   // data to send, sinks, receive buffers
  std::uint32_t remote_key_ = 0, counter_key_ = 0, local_key_ = 0;
  std::vector<std::uint32_t> spare_keys_;  // of this side, for peers to invalidate

  Bytes model_;  // of the other side's target
  std::uint64_t model_counters_[kCounters]{};
  std::uint32_t posted_ = 0;
  bool read_of_target_open_ = false;  // until the next fence, WRITEs must not change what a READ may read again
  std::deque<Expected> expected_;
  std::deque<Message> arriving_;
  std::deque<Receive> receives_;
  std::uint64_t receives_posted_ = 0;
};

}  // namespace uroce::sim
