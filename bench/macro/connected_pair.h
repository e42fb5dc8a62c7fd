// SPDX-License-Identifier: BSD-3-Clause
// Two devices of one process, joined by net_ring ports, with a reliable connection between them: through the public
// API, as a program would.
#pragma once
#include <uroce/uroce.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "ring_ports.h"

namespace uroce::bench {

struct End {
  std::optional<Device> device;
  std::optional<Pd> pd;
  std::vector<std::uint8_t> bytes;
  std::optional<MemoryRegion> region;
  std::optional<Cq> send_cq, recv_cq;
  std::optional<QueuePair> qp;
};

struct PairConfig {
  std::string name = "pair";
  Threading threading = Threading::single;
  bool hugepages = false;
  std::size_t bytes = 1 << 18;  // of registered memory, each end
  std::uint32_t depth = 128;
  PathMtu path_mtu = PathMtu::mtu4096;
};

class ConnectedPair {
 public:
  static Result<ConnectedPair> make(const PairConfig& config);

  End a, b;

 private:
  explicit ConnectedPair(RingPorts ports) : ports_(std::move(ports)) {}
  RingPorts ports_;
};

}  // namespace uroce::bench
