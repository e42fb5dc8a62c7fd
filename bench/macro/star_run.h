// SPDX-License-Identifier: BSD-3-Clause
// N senders and one receiver around a simulated switch, each flow under congestion control: the set-up that DCQCN's
// published simulations share. Virtual time, the same stack as on a NIC.
#pragma once
#include <cstdint>
#include <string>

#include "base/time.h"
#include "sim/egress_queue.h"

namespace uroce::bench {

struct StarConfig {
  std::string congestion = "dcqcn:paper";        // as make_profile() takes it
  std::uint32_t senders = 2;                     // 1 .. 200
  std::uint64_t rate_bps = 40'000'000'000;       // of every link
  base::Duration delay = base::Duration::micros(1);  // of every link
  std::uint64_t kmin_bytes = 5'000, kmax_bytes = 200'000;
  std::uint32_t pmax_ppm = 10'000;
  bool linear_extended = false;                  // marks more than pmax above kmax, as fluid models have it
  base::Duration length = base::Duration::micros(112'000);  // of all flows together, at the links' rate
  base::Duration watch_from = base::Duration::millis(20), watch_to = base::Duration::millis(100);  // the queue
  std::uint32_t message_bytes = 1000;            // a single-packet WRITE, at most 1024
  std::uint64_t seed = 1;
};

struct StarResult {
  std::string failure;      // empty: every byte arrived
  double goodput_gbps = 0;  // payload over the slowest flow's completion
  double jain = 0;          // fairness of size over completion time
  double queue_mean_kb = 0, queue_sd_kb = 0, queue_p50_kb = 0, queue_p90_kb = 0, queue_p99_kb = 0, queue_max_kb = 0;
  std::uint64_t packets = 0, marked = 0, cnps = 0, retransmitted = 0;
  std::uint64_t events = 0;
};

StarResult run_star(const StarConfig& config);

}  // namespace uroce::bench
