// SPDX-License-Identifier: BSD-3-Clause
#include "net/routes.h"

namespace uroce::net {
namespace {

bool covers(const InterfaceAddress& own, const IpAddress& a) noexcept {
  if (own.address.is_v4() != a.is_v4()) return false;
  return common_prefix(own.address, a) >= own.prefix_length + (a.is_v4() ? 96u : 0u);
}

}  // namespace

Routes::Routes(const InterfaceConfig& config) noexcept
    : gateway_v4_(config.gateway_v4), gateway_v6_(config.gateway_v6) {
  add_group(group_mac(kAllNodes));
  const auto add = [this](const InterfaceAddress& a) {
    own_[gids_.size()] = a;
    gids_.add(a.address);
    if (!a.address.is_v4()) add_group(group_mac(solicited_node(a.address)));
  };
  add({link_local_of(config.mac), 64});
  for (const InterfaceAddress& a : config.addresses) {
    if (!owns(a.address)) add(a);  // the link-local one may be configured as well; Linux shows it once too
  }
}

void Routes::add_group(const MacAddress& mac) noexcept {
  const auto known = multicast_groups();
  if (std::find(known.begin(), known.end(), mac) == known.end()) groups_[group_count_++] = mac;
}

// Of several subnets that hold it the smallest; the link-local one is not asked.
const InterfaceAddress* Routes::same_subnet(const IpAddress& a) const noexcept {
  const InterfaceAddress* best = nullptr;
  for (const InterfaceAddress& own : addresses()) {
    if (is_link_local(own.address) || !covers(own, a)) continue;
    if (best == nullptr || own.prefix_length > best->prefix_length) best = &own;
  }
  return best;
}

// RFC 6724 section 5 rule 8, the only one of its rules that our addresses differ by.
std::optional<IpAddress> Routes::most_alike(const IpAddress& a) const noexcept {
  const InterfaceAddress* best = nullptr;
  for (const InterfaceAddress& own : addresses()) {
    if (is_link_local(own.address) || own.address.is_v4() != a.is_v4()) continue;
    if (best == nullptr || common_prefix(own.address, a) > common_prefix(best->address, a)) best = &own;
  }
  if (best == nullptr) return std::nullopt;
  return best->address;
}

bool Routes::on_link(const IpAddress& a) const noexcept {
  if (!is_host(a)) return false;
  return is_link_local(a) || same_subnet(a) != nullptr || gateway(a) == a;
}

std::optional<IpAddress> Routes::next_hop(const IpAddress& destination) const noexcept {
  if (!is_host(destination)) return std::nullopt;
  if (on_link(destination)) return destination;
  return gateway(destination);
}

std::optional<IpAddress> Routes::source_for(const IpAddress& destination) const noexcept {
  if (owns(destination)) return destination;
  if (is_link_local(destination) || is_link_scope_group(destination)) return own_[0].address;
  if (destination.is_multicast()) return most_alike(destination);
  if (!is_host(destination)) return std::nullopt;
  if (const InterfaceAddress* own = same_subnet(destination)) return own->address;
  const auto& via = gateway(destination);
  if (!via) return std::nullopt;
  if (const InterfaceAddress* own = same_subnet(*via)) return own->address;
  return most_alike(destination);
}

}  // namespace uroce::net
