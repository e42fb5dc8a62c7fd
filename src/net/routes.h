// SPDX-License-Identifier: BSD-3-Clause
// A port's own addresses, and which of them and which neighbour a destination is reached by. Fixed once built.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include <uroce/result.h>

#include "net/address.h"
#include "net/gid_table.h"

namespace uroce::net {

struct InterfaceAddress {
  IpAddress address;
  unsigned prefix_length = 0;  // IPv4: 0..32, IPv6: 0..128
};

struct InterfaceConfig {
  MacAddress mac;
  std::vector<InterfaceAddress> addresses;  // at most kMaxAddresses; the MAC's link-local address is there anyway
  std::optional<IpAddress> gateway_v4;      // on this link, even if no prefix covers it
  std::optional<IpAddress> gateway_v6;
  unsigned mtu = 1500;  // bytes of an IP datagram: 576..65535, at least 1280 with IPv6 addresses
};

class Routes {
 public:
  // Errors: invalid_argument, no_room (too many addresses).
  static Result<void> check(const InterfaceConfig& config);
  explicit Routes(const InterfaceConfig& config) noexcept;  // a checked one

  // [0] is the link-local address of the MAC, then the configured ones: the order of the GIDs.
  [[nodiscard]] std::span<const InterfaceAddress> addresses() const noexcept { return {own_.data(), gids_.size()}; }
  [[nodiscard]] const GidTable& gids() const noexcept { return gids_; }
  [[nodiscard]] bool owns(const IpAddress& a) const noexcept { return gids_.find(a).has_value(); }
  // MACs of the groups that neighbour discovery has us join, each once: what the port must accept besides its own.
  [[nodiscard]] std::span<const MacAddress> multicast_groups() const noexcept { return {groups_.data(), group_count_}; }

  [[nodiscard]] bool on_link(const IpAddress& a) const noexcept;
  // The neighbour that takes packets for a host: itself, or the gateway; nullopt when there's no way.
  [[nodiscard]] std::optional<IpAddress> next_hop(const IpAddress& destination) const noexcept;
  // Our address to use: the destination itself if ours; one of its subnet; one of its gateway's subnet; the one most
  // like it. Link-local destinations and groups get the link-local address. nullopt when there's no way.
  [[nodiscard]] std::optional<IpAddress> source_for(const IpAddress& destination) const noexcept;

 private:
  [[nodiscard]] const std::optional<IpAddress>& gateway(const IpAddress& destination) const noexcept {
    return destination.is_v4() ? gateway_v4_ : gateway_v6_;
  }
  [[nodiscard]] const InterfaceAddress* same_subnet(const IpAddress& a) const noexcept;
  [[nodiscard]] std::optional<IpAddress> most_alike(const IpAddress& a) const noexcept;
  void add_group(const MacAddress& mac) noexcept;

  std::array<InterfaceAddress, kMaxAddresses + 1> own_{};
  std::array<MacAddress, kMaxAddresses + 2> groups_{};
  std::size_t group_count_ = 0;
  std::optional<IpAddress> gateway_v4_, gateway_v6_;
  GidTable gids_;
};

}  // namespace uroce::net
