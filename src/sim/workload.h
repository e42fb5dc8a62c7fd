// SPDX-License-Identifier: BSD-3-Clause
// A random workload of all RC operations between pairs of queue pairs on simulated hosts, and what must hold of it:
//  - memory equals a model that executes each request once and in order;
//  - each signaled request completes once, in order, successfully; receives likewise, with the right bytes;
//  - it ends: when the network heals, everything completes.
// Everything follows from the seed.
#pragma once
#include <cstdint>
#include <string>

#include "engine/fault_model.h"
#include "transport/counters.h"

namespace uroce::sim {

struct Scenario {
  std::uint64_t seed = 1;
  std::uint32_t hosts = 2;
  std::uint32_t pairs = 1;            // queue pairs, spread over host pairs
  std::uint32_t operations = 60;      // a side
  std::uint32_t depth = 16;           // send and receive queue
  std::uint32_t max_message = 8192;   // bytes
  std::uint32_t path_mtu_code = 3;
  std::uint32_t window_packets = 64;
  std::uint32_t max_rd_atomic = 4;
  std::uint32_t timeout_code = 9;
  std::uint32_t first_psn = 0;
  std::uint64_t rate_bps = 25'000'000'000;
  std::int64_t delay_ns = 1000;
  engine::FaultRates faults{};
  bool partition = false;             // once, for a while
  bool slow_receiver = false;         // receives are posted late: RNR
  bool credits = false;
  bool ipv6 = false;
  std::string congestion = "none";    // as congestion::make_profile() takes it; with one, switch queues mark

  // A scenario drawn from its seed, the whole range of the above.
  static Scenario draw(std::uint64_t seed);
  [[nodiscard]] std::string describe() const;
};

struct Outcome {
  std::string failure;  // empty: everything held
  std::uint64_t trace_hash = 0;
  std::uint64_t frames = 0;
  std::int64_t virtual_ns = 0;
  transport::Counters counters;  // of all hosts
};

Outcome run(const Scenario& s);

}  // namespace uroce::sim
