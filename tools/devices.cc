// SPDX-License-Identifier: BSD-3-Clause
// uroce devices
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "pci_nics.h"
#include "platform/dpdk/eal.h"
#include "platform/dpdk/port_details.h"

namespace uroce::tools {
namespace {

using Json = nlohmann::ordered_json;
using platform::PortDetails;

struct Options {
  std::vector<std::string> ports;
  bool json = false;
};

std::string speed_text(std::uint32_t mbps) {
  if (mbps == 0) return "speed unknown";
  return mbps % 1000 == 0 ? fmt::format("{} Gb/s", mbps / 1000) : fmt::format("{} Mb/s", mbps);
}

std::string offload_text(const PortDetails& d) {
  const std::pair<bool, const char*> all[] = {{d.rss, "RSS over UDP"},
                                              {d.rx_ip_checksum, "IP checksum rx"},
                                              {d.tx_ip_checksum, "IP checksum tx"},
                                              {d.rx_udp_checksum, "UDP checksum rx"},
                                              {d.tx_udp_checksum, "UDP checksum tx"},
                                              {d.vlan_strip, "VLAN strip"},
                                              {d.vlan_insert, "VLAN insert"}};
  std::string out;
  for (const auto& [has, name] : all) {
    if (has) out += (out.empty() ? "" : ", ") + std::string(name);
  }
  return out.empty() ? "none" : out;
}

void print_port(const PortDetails& d) {
  const std::string largest = d.path_mtu == 0 ? "none fits" : std::to_string(d.path_mtu);
  fmt::print("{}\n", d.name);
  fmt::print("  {:<10}{}{}{}\n", "driver", d.driver, d.bus.empty() ? "" : ", bus " + d.bus,
             d.kernel_interface.empty() ? "" : ", kernel interface " + d.kernel_interface);
  fmt::print("  {:<10}{}\n", "MAC", d.mac);
  fmt::print("  {:<10}{} (at most {}){}\n", "MTU", d.mtu, d.max_mtu,
             d.mtu_enforced ? "" : ", which this driver does not hold frames to");
  fmt::print("  {:<10}{}\n", "path MTU", largest);
  fmt::print("  {:<10}{}\n", "link", d.link_up ? "up, " + speed_text(d.speed_mbps) : "down");
  fmt::print("  {:<10}{} receive, {} transmit\n", "queues", d.max_rx_queues, d.max_tx_queues);
  fmt::print("  {:<10}{}\n", "offloads", offload_text(d));
  fmt::print("  {:<10}{}\n", "NUMA node", d.numa_node < 0 ? "any" : std::to_string(d.numa_node));
}

Json to_json(const PortDetails& d) {
  return {{"name", d.name},
          {"bus", d.bus},
          {"driver", d.driver},
          {"kernel_interface", d.kernel_interface.empty() ? Json() : Json(d.kernel_interface)},
          {"mac", d.mac},
          {"mtu", d.mtu},
          {"max_mtu", d.max_mtu},
          {"mtu_enforced", d.mtu_enforced},
          {"path_mtu", d.path_mtu == 0 ? Json() : Json(d.path_mtu)},
          {"link_up", d.link_up},
          {"speed_mbps", d.speed_mbps == 0 ? Json() : Json(d.speed_mbps)},
          {"max_rx_queues", d.max_rx_queues},
          {"max_tx_queues", d.max_tx_queues},
          {"offloads",
           {{"rss", d.rss},
            {"rx_ip_checksum", d.rx_ip_checksum},
            {"tx_ip_checksum", d.tx_ip_checksum},
            {"rx_udp_checksum", d.rx_udp_checksum},
            {"tx_udp_checksum", d.tx_udp_checksum},
            {"vlan_strip", d.vlan_strip},
            {"vlan_insert", d.vlan_insert}}},
          {"numa_node", d.numa_node < 0 ? Json() : Json(d.numa_node)}};
}

Json to_json(const PciNic& n) {
  return {{"address", n.address},
          {"id", n.id},
          {"kernel_driver", n.driver.empty() ? Json() : Json(n.driver)},
          {"kernel_interface", n.kernel_interface.empty() ? Json() : Json(n.kernel_interface)},
          {"usable", n.usable()}};
}

void print_table(const std::vector<PortDetails>& ports, const std::vector<PciNic>& nics) {
  for (const PortDetails& d : ports) print_port(d);
  for (const PciNic& n : nics) {
    if (n.usable()) continue;
    fmt::print("PCI {} ({}): not DPDK's, driver {}{}\n", n.address, n.id, n.driver.empty() ? "none" : n.driver,
               n.kernel_interface.empty() ? "" : ", kernel interface " + n.kernel_interface);
  }
  if (!ports.empty()) return;
  fmt::print("DPDK finds no port on this machine. Ways to give it one:\n");
  for (const PortRecipe& r : port_recipes(nics)) fmt::print("  {}:\n    {}\n", r.what, r.type);
}

Exit devices(const Options& o) {
  // Only NICs that were given to DPDK: its probing of one that the kernel uses is noisy, and not always harmless.
  const auto nics = pci_nics("");
  platform::EalConfig eal;
  for (const PciNic& n : nics) {
    if (n.usable()) eal.allow.push_back(n.address);
  }
  eal.pci = !eal.allow.empty();
  if (const auto cores = platform::usable_cores(); !cores.empty()) eal.main_core = cores.front();
  if (auto r = platform::eal_start(eal); !r) return print_error(r.error().message), Exit::failed;
  Exit exit = Exit::ok;
  std::vector<std::string> made;
  for (const std::string& spec : o.ports) {
    if (platform::find_port(spec)) continue;  // a PCI address: listed with the others
    if (auto port = platform::add_vdev(spec)) {
      made.push_back(spec);
    } else {
      print_error(port.error().message);
      exit = Exit::failed;
    }
  }
  std::vector<PortDetails> found;
  for (const std::uint16_t port : platform::all_ports()) {
    if (auto d = platform::port_details(port)) {
      found.push_back(std::move(*d));
    } else {
      print_error(d.error().message);
      exit = Exit::failed;
    }
  }
  if (o.json) {
    Json j{{"dpdk", platform::dpdk_version()}, {"ports", Json::array()}, {"pci_nics", Json::array()}};
    for (const auto& d : found) j["ports"].push_back(to_json(d));
    for (const auto& n : nics) j["pci_nics"].push_back(to_json(n));
    fmt::print("{}\n", j.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    print_table(found, nics);
  }
  for (const std::string& spec : made) platform::remove_vdev(spec);
  return exit;
}

Run add(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option(
         "--port,-d", o->ports,
         "list this one too: a virtual device such as net_memif0,role=server,socket=/tmp/u.sock; may be repeated")
      ->type_name("DEVICE")
      ->allow_extra_args(false);
  app.add_flag("--json", o->json, "one JSON object");
  app.footer(
      "Lists the ports that DPDK can poll, and the PCI NICs that it can't as they are. A port's path MTU is the "
      "largest\n"
      "RoCE path MTU whose packets fit. Needs no hugepages; nothing is configured or started.\n"
      "Exit status: 0 listed (also when there are none), 1 a port of --port or DPDK could not be used, 2 wrong usage.");
  return [o] { return devices(*o); };
}

const Registration kRegistration({"", "devices", "list the ports that DPDK finds, and how to get one", add});

}  // namespace
}  // namespace uroce::tools
