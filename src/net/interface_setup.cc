// SPDX-License-Identifier: BSD-3-Clause
// The allocating half of an interface and its echo queue.
#include "base/assert.h"
#include "net/interface.h"

namespace uroce::net {

EchoQueue::EchoQueue(std::uint32_t mtu) : mtu_(mtu), bytes_(new std::uint8_t[std::size_t{mtu} * kSlots]) {}
EchoQueue::~EchoQueue() = default;

Interface::Interface(const InterfaceConfig& config, std::uint64_t seed, base::Instant start)
    : mac_((UROCE_ASSERT(check(config).has_value()), config.mac)),
      routes_(config),
      echoes_(config.mtu),
      neighbours_(kMaxNeighbours, seed, start, counters_) {
  announce();
}

Interface::~Interface() = default;

}  // namespace uroce::net
