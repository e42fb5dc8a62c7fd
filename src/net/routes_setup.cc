// SPDX-License-Identifier: BSD-3-Clause
// What a configuration is refused for: the allocating half of the routes.
#include <string>

#include "base/text.h"
#include "net/routes.h"
#include "wire/print.h"

namespace uroce::net {
namespace {

std::string text(const IpAddress& a) {
  char room[64];
  base::TextWriter out(room);
  wire::print_address(out, a);
  return std::string(out.view());
}

Result<void> refuse(const std::string& why) {
  return fail(ErrorCode::invalid_argument, "interface: " + why);
}

Result<void> check_address(const InterfaceConfig& config, std::size_t i) {
  const InterfaceAddress& a = config.addresses[i];
  const unsigned longest = a.address.is_v4() ? 32 : 128;
  if (!is_host(a.address)) return refuse("address " + text(a.address) + " is not one host's");
  if (a.prefix_length > longest) {
    return refuse("prefix length " + std::to_string(a.prefix_length) + " of address " + text(a.address) +
                  " is not in 0.." + std::to_string(longest));
  }
  if (!a.address.is_v4() && config.mtu < 1280) {
    return refuse("MTU " + std::to_string(config.mtu) + " is below the 1280 that IPv6 wants (RFC 8200 section 5)");
  }
  for (std::size_t k = 0; k < i; ++k) {
    if (config.addresses[k].address == a.address) return refuse("address " + text(a.address) + " is given twice");
  }
  return {};
}

Result<void> check_gateway(const InterfaceConfig& config, const IpAddress& gateway, bool v4) {
  const std::string name = "gateway " + text(gateway);
  if (!is_host(gateway) || gateway.is_v4() != v4)
    return refuse(name + " is not one " + (v4 ? "IPv4" : "IPv6") + " host's");
  bool usable = false;  // an address of its kind that packets beyond the link may come from
  for (const InterfaceAddress& a : config.addresses) {
    if (a.address == gateway) return refuse(name + " is our own address");
    usable |= a.address.is_v4() == v4 && !is_link_local(a.address);
  }
  if (gateway == link_local_of(config.mac)) return refuse(name + " is our own address");
  if (!usable) return refuse(name + " needs an " + (v4 ? "IPv4" : "IPv6") + " address that is not link-local");
  return {};
}

}  // namespace

Result<void> Routes::check(const InterfaceConfig& config) {
  if (!is_station(config.mac)) return refuse("the MAC is zero or a group's");
  if (config.mtu < 576 || config.mtu > 65535) {
    return refuse("MTU " + std::to_string(config.mtu) + " is not in 576..65535");
  }
  if (config.addresses.size() > kMaxAddresses) {
    return fail(ErrorCode::no_room, "interface: " + std::to_string(config.addresses.size()) + " addresses, at most " +
                                        std::to_string(kMaxAddresses) + " are allowed");
  }
  for (std::size_t i = 0; i < config.addresses.size(); ++i) {
    if (auto ok = check_address(config, i); !ok) return ok;
  }
  if (config.gateway_v4) {
    if (auto ok = check_gateway(config, *config.gateway_v4, true); !ok) return ok;
  }
  if (config.gateway_v6) {
    if (auto ok = check_gateway(config, *config.gateway_v6, false); !ok) return ok;
  }
  return {};
}

}  // namespace uroce::net
