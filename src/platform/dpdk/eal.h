// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment, once a process. Initialised by us, or attached to when the host program has done it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <uroce/result.h>

namespace uroce::platform {

struct EalConfig {
  bool hugepages = false;          // else ordinary pages: no privileges needed, slower
  unsigned memory_mb = 256;        // of ordinary pages
  bool pci = false;                // look for PCI devices
  std::vector<std::string> allow;  // PCI addresses; empty: all
  int main_core = 0;
};

// The calling thread's affinity is left as it was. A second call, and a process whose EAL is up already, succeed.
// Errors: system, with EAL's reason.
Result<void> eal_start(const EalConfig& config);

// Makes a virtual device, "net_memif0,role=client,socket=/run/x": DPDK's own --vdev syntax. Returns its port number.
// Errors: invalid_argument, busy when there is one of that name, system.
Result<std::uint16_t> add_vdev(const std::string& spec);
// Removes it again; its file descriptors and shared memory go with it.
void remove_vdev(const std::string& spec);

// A port by name ("net_memif0", "0000:01:00.0").
Result<std::uint16_t> find_port(const std::string& name);

// Free 2 MB or 1 GB hugepages the system has now.
unsigned free_hugepages();

// Cores this thread may run on.
std::vector<int> usable_cores();

}  // namespace uroce::platform
