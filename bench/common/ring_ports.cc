// SPDX-License-Identifier: BSD-3-Clause
#include "ring_ports.h"

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include <utility>

namespace uroce::bench {

Result<RingPorts> RingPorts::make(const std::string& name, unsigned frames) {
  RingPorts p;
  constexpr auto kSocket = SOCKET_ID_ANY;
  const auto refused = [&](const std::string& what) {
    return fail(ErrorCode::system, "ring ports '" + name + "': " + what + ": " + rte_strerror(rte_errno));
  };
  for (unsigned end = 0; end < 2; ++end) {
    p.rings_[end] = rte_ring_create((name + "_r" + std::to_string(end)).c_str(), frames, kSocket, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (p.rings_[end] == nullptr) return refused("a ring of " + std::to_string(frames));
  }
  for (unsigned end = 0; end < 2; ++end) {
    auto* rx = static_cast<rte_ring*>(p.rings_[end]);
    auto* tx = static_cast<rte_ring*>(p.rings_[1 - end]);
    const int port = rte_eth_from_rings((name + std::to_string(end)).c_str(), &rx, 1, &tx, 1, 0);
    if (port < 0) return refused("a port");
    p.ports_[end] = static_cast<std::uint16_t>(port);
    char buffer[RTE_ETH_NAME_MAX_LEN] = "";
    rte_eth_dev_get_name_by_port(p.ports_[end], buffer);
    p.names_[end] = buffer;
  }
  return p;
}

RingPorts::RingPorts(RingPorts&& other) noexcept
    : names_(std::move(other.names_)), ports_(other.ports_), rings_(std::exchange(other.rings_, {})) {}

RingPorts::~RingPorts() {
  for (void* r : rings_) {
    auto* ring = static_cast<rte_ring*>(r);
    void* frame = nullptr;
    while (ring != nullptr && rte_ring_dequeue(ring, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
    rte_ring_free(ring);
  }
}

}  // namespace uroce::bench
