// SPDX-License-Identifier: BSD-3-Clause
#include "pci_nics.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace uroce::tools {
namespace {

namespace fs = std::filesystem;

std::string first_word(const fs::path& path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  return word;
}

std::string without_0x(const std::string& word) {
  return word.starts_with("0x") ? word.substr(2) : word;
}

// No folder and no right to look at it are the same here: nothing to be seen.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored))
    out.push_back(at->path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

bool PciNic::usable() const {
  static constexpr const char* kDrivers[] = {"vfio-pci", "uio_pci_generic", "igb_uio", "mlx5_core", "mlx4_core"};
  return std::any_of(std::begin(kDrivers), std::end(kDrivers), [&](const char* d) { return driver == d; });
}

std::vector<PciNic> pci_nics(const std::string& root) {
  std::vector<PciNic> out;
  for (const fs::path& device : entries(root + "/sys/bus/pci/devices")) {
    if (!first_word(device / "class").starts_with("0x0200")) continue;  // network controller, Ethernet
    PciNic nic;
    nic.address = device.filename();
    nic.id = without_0x(first_word(device / "vendor")) + ":" + without_0x(first_word(device / "device"));
    std::error_code none;
    nic.driver = fs::read_symlink(device / "driver", none).filename();
    auto interfaces = entries(device / "net");
    for (const fs::path& child : entries(device)) {  // virtio: the interface hangs below a device of its own bus
      if (!interfaces.empty()) break;
      if (child.filename().string().starts_with("virtio")) interfaces = entries(child / "net");
    }
    if (!interfaces.empty()) nic.kernel_interface = interfaces.front().filename();
    out.push_back(std::move(nic));
  }
  return out;
}

std::vector<PortRecipe> port_recipes(const std::vector<PciNic>& nics) {
  std::vector<PortRecipe> out;
  std::string kernels = "eth0";
  for (const PciNic& n : nics) {
    if (!n.kernel_interface.empty()) kernels = n.kernel_interface;
    if (n.usable()) continue;
    const std::string loses = n.kernel_interface.empty() ? "" : ", and the kernel loses " + n.kernel_interface;
    out.push_back({"NIC " + n.address + " for DPDK alone (as root" + loses + ")",
                   "modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci " + n.address});
  }
  out.push_back({"shared memory between two processes; the other one says role=client, and the server's host",
                 "uroce perf --port net_memif0,role=server,socket=/tmp/u.sock,socket-abstract=no,bsize=4608"});
  out.push_back(
      {"an interface that stays the kernel's (CAP_NET_RAW; slow)",
       "uroce perf --port net_af_packet0,iface=" + kernels + ",blocksz=69632,framesz=4352,framecnt=512 --mtu 1024"});
  out.push_back(
      {"a new interface of the kernel (CAP_NET_ADMIN; slow)", "uroce perf --port net_tap0,iface=uroce0 --mtu 1024"});
  return out;
}

}  // namespace uroce::tools
