// SPDX-License-Identifier: BSD-3-Clause
// The machine's Ethernet NICs on PCI and who drives them, as the kernel tells it: also those that DPDK can't see yet.
#pragma once
#include <string>
#include <vector>

namespace uroce::tools {

struct PciNic {
  std::string address;           // "0000:01:00.0"
  std::string id;                // "15b3:1017", vendor and device
  std::string driver;            // the kernel's; empty: none
  std::string kernel_interface;  // empty: none
  // Whether DPDK can poll it as it is: a driver that hands the device over, or one that shares it (mlx5).
  [[nodiscard]] bool usable() const;
};

// `root` goes before /sys: "" but for tests. Sorted by address.
std::vector<PciNic> pci_nics(const std::string& root);

struct PortRecipe {
  std::string what;
  std::string type;  // into a shell
};

// Ways to give DPDK a port.
std::vector<PortRecipe> port_recipes(const std::vector<PciNic>& nics);

}  // namespace uroce::tools
