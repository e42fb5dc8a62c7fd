// SPDX-License-Identifier: BSD-3-Clause
// What `uroce perf` measures: one operation, one size, one way of driving it. The client decides, the server follows.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "line_socket.h"
#include "uroce/uroce.h"

namespace uroce::tools {

enum class PerfOp { send, write, read, fetch_add, cmp_swap };

struct PerfTest {
  PerfOp op = PerfOp::send;
  bool latency = true;
  std::uint32_t size = 64;          // bytes; 8 for atomics
  std::uint64_t iterations = 10000;
  unsigned seconds = 0;             // bandwidth: measure so long instead
  std::uint32_t depth = 64;         // requests outstanding, bandwidth
  std::uint32_t qps = 1;
  std::uint32_t mtu = 4096;         // path MTU in bytes
  std::uint32_t window = 256;       // packets
  std::uint32_t timeout = 14;       // ack timeout code
  bool verify = false;
};

struct PerfResult {
  std::uint64_t iterations = 0;
  double seconds = 0;
  std::vector<std::uint32_t> samples_ns;  // latency, sorted
  std::uint64_t retransmitted = 0, timeouts = 0;
  bool verified = false;
  [[nodiscard]] double percentile_us(double p) const;
};

std::string to_string(PerfOp op);
Result<PerfOp> parse_op(const std::string& text);

// One test. Errors: a completion with error (status, PSN, retries), wrong data, a peer that went away.
Result<PerfResult> run_client(Device& device, LineSocket& peer, const PerfTest& test, bool show_progress);
// Tests until the client closes. Returns the number of tests.
Result<unsigned> run_server(Device& device, LineSocket& peer);

}  // namespace uroce::tools
