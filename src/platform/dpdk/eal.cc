// SPDX-License-Identifier: BSD-3-Clause
#include "platform/dpdk/eal.h"

#include <dirent.h>
#include <pthread.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

namespace uroce::platform {
namespace {

std::string device_name(const std::string& spec) { return spec.substr(0, spec.find(',')); }

std::string reason() { return rte_strerror(rte_errno); }

// DDDD:BB:DD.F or BB:DD.F, as EAL takes it. EAL ends in a page of usage when given something else.
bool is_pci_address(const std::string& text) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  char rest = 0;
  return std::sscanf(text.c_str(), "%4x:%2x:%2x.%1x%c", &domain, &bus, &device, &function, &rest) == 4 ||
         std::sscanf(text.c_str(), "%2x:%2x.%1x%c", &bus, &device, &function, &rest) == 3;
}

// Why DPDK has no port of this name, and what to do about it.
std::string why_no_port(const std::string& spec) {
  if (is_pci_address(spec)) {
    const std::string address = spec.find(':') == spec.rfind(':') ? "0000:" + spec : spec;
    const std::filesystem::path device = "/sys/bus/pci/devices/" + address;
    std::error_code none;
    if (!std::filesystem::exists(device, none)) return "there is no such PCI device (`uroce devices` lists what there is)";
    const std::string driver = std::filesystem::read_symlink(device / "driver", none).filename();
    return "DPDK can't drive this PCI device; the kernel's driver of it is " + (driver.empty() ? "none" : driver) +
           ". To give it to DPDK, and take it from the kernel: modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci " + address;
  }
  return "DPDK has no port of this name; a port is the PCI address of a NIC that DPDK drives, or a virtual device "
         "net_NAME[,option=value...] such as net_memif0,role=server,socket=/tmp/uroce.sock (`uroce devices` lists what there "
         "is)";
}

// The value of NAME=value in a virtual device's options.
std::string option(const std::string& args, const std::string& name) {
  const std::string list = "," + args + ",";
  const auto at = list.find("," + name + "=");
  if (at == std::string::npos) return {};
  const auto start = at + name.size() + 2;
  return list.substr(start, list.find(',', start) - start);
}

bool memif_server(const std::string& name, const std::string& args) {
  const std::string role = option(args, "role");
  return name.rfind("net_memif", 0) == 0 && (role == "server" || role == "master");
}

// memif can't bind to a socket file that is left of a process that was killed, so one that no process has bound is removed.
// Connecting to it would tell the same, but DPDK 22.11's memif panics when who connects leaves at once.
void remove_stale_socket(const std::string& args) {
  const std::filesystem::path path = option(args, "socket");
  std::error_code none;
  if (option(args, "socket-abstract") != "no" || !std::filesystem::is_socket(path, none)) return;
  std::ifstream bound("/proc/net/unix");  // a line ends in the path as bind() was given it
  std::string line;
  if (!std::getline(bound, line)) return;
  while (std::getline(bound, line)) {
    if (line.ends_with(path.filename().string())) return;  // it may have been bound from another folder
  }
  std::filesystem::remove(path, none);
}

Result<void> check(const EalConfig& config) {
  // Not only the cores of the caller's affinity: isolated ones, which are in nobody's, are the best to poll on.
  const std::string core = std::to_string(config.main_core);
  std::error_code none;
  if (config.main_core < 0 || config.main_core >= RTE_MAX_LCORE ||
      !std::filesystem::exists("/sys/devices/system/cpu/cpu" + core, none)) {
    const long most = std::min<long>(sysconf(_SC_NPROCESSORS_CONF), RTE_MAX_LCORE);
    return fail(ErrorCode::invalid_argument, "core " + core + " does not exist, or DPDK can't use it; there are 0 .. " +
                                                 std::to_string(most - 1));
  }
  if (config.hugepages && free_hugepages() == 0) {
    return fail(ErrorCode::system, "no hugepage is free; reserve some, as root: echo 512 > /proc/sys/vm/nr_hugepages; or go "
                                   "without hugepages, which is slower");
  }
  return {};
}

}  // namespace

Result<void> eal_start(const EalConfig& config) {
  static std::mutex once;
  static bool started = false;
  const std::lock_guard lock(once);
  if (started) return {};
  if (auto ok = check(config); !ok) return ok;

  std::vector<std::string> args{"uroce", "-l", std::to_string(config.main_core), "--file-prefix",
                                "uroce" + std::to_string(getpid()), "--log-level", "error", "--no-telemetry"};
  if (config.hugepages) {
    args.emplace_back("--in-memory");
  } else {
    args.insert(args.end(), {"--no-huge", "-m", std::to_string(config.memory_mb)});
  }
  // Of a list that names no PCI device nothing is left: then none is looked for, rather than all.
  std::vector<std::string> allow;
  std::copy_if(config.allow.begin(), config.allow.end(), std::back_inserter(allow), is_pci_address);
  if (!config.pci || (allow.empty() && !config.allow.empty())) args.emplace_back("--no-pci");
  for (const auto& a : allow) args.insert(args.end(), {"-a", a});
  std::vector<char*> argv;
  for (auto& a : args) argv.push_back(a.data());

  // EAL ties the calling thread to its main core; the caller's own choice comes back afterwards.
  cpu_set_t before;
  pthread_getaffinity_np(pthread_self(), sizeof(before), &before);
  const int n = rte_eal_init(static_cast<int>(argv.size()), argv.data());
  pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
  if (n < 0 && rte_errno != EALREADY) {
    const char* folder = std::getenv("XDG_RUNTIME_DIR");
    const bool closed = geteuid() != 0 && folder != nullptr && access(folder, W_OK) != 0;
    return fail(ErrorCode::system, "DPDK's environment did not start (" + reason() + "); " +
                                       (closed ? std::string("it may not write to XDG_RUNTIME_DIR, ") + folder + ": unset that"
                                        : config.hugepages ? "without hugepages it needs no privileges: try that"
                                                           : "its own words are above"));
  }
  started = true;
  return {};
}

Result<std::uint16_t> add_vdev(const std::string& spec) {
  const std::string name = device_name(spec);
  const std::string args = name.size() < spec.size() ? spec.substr(name.size() + 1) : "";
  if (name.rfind("net_", 0) != 0) {
    return fail(ErrorCode::not_found, "port '" + spec + "': " + why_no_port(spec));
  }
  // To DPDK, adding what is there already is no error.
  std::uint16_t existing = 0;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &existing) == 0) {
    return fail(ErrorCode::busy, "device '" + spec + "': " + name + " exists already; close it first, or take another number");
  }
  const bool server = memif_server(name, args);
  if (server) remove_stale_socket(args);
  if (const int e = rte_eal_hotplug_add("vdev", name.c_str(), args.c_str()); e != 0) {
    // Drivers answer -1 for whatever went wrong; what they log says more.
    const bool kernel = name.rfind("net_tap", 0) == 0 || name.rfind("net_af_", 0) == 0;
    const std::string words = e == -1 ? "" : std::string(" (") + rte_strerror(-e) + ")";
    return fail(ErrorCode::system, "port '" + spec + "': DPDK refused it" + words + "; " +
                                       (kernel && geteuid() != 0
                                            ? "this kind needs root, or CAP_NET_RAW and CAP_NET_ADMIN"
                                        : server ? "does another process serve this socket? Its own words are above"
                                            : "is there such a driver, and are its options right? Its own words are above"));
  }
  return find_port(name);
}

void remove_vdev(const std::string& spec) { rte_eal_hotplug_remove("vdev", device_name(spec).c_str()); }

Result<std::uint16_t> find_port(const std::string& name) {
  std::uint16_t port = 0;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0) {
    std::string known;
    for (std::uint16_t p = 0; p < RTE_MAX_ETHPORTS; ++p) {
      char buffer[RTE_ETH_NAME_MAX_LEN];
      if (rte_eth_dev_is_valid_port(p) != 0 && rte_eth_dev_get_name_by_port(p, buffer) == 0) known += std::string(known.empty() ? "" : ", ") + buffer;
    }
    return fail(ErrorCode::not_found, "no DPDK port is called '" + name + "'; there is: " + (known.empty() ? "none" : known));
  }
  return port;
}

unsigned free_hugepages() {
  unsigned total = 0;
  DIR* dir = opendir("/sys/kernel/mm/hugepages");
  if (dir == nullptr) return 0;
  while (const dirent* e = readdir(dir)) {
    const std::string path = std::string("/sys/kernel/mm/hugepages/") + e->d_name + "/free_hugepages";
    if (FILE* f = std::fopen(path.c_str(), "r")) {
      unsigned n = 0;
      if (std::fscanf(f, "%u", &n) == 1) total += n;
      std::fclose(f);
    }
  }
  closedir(dir);
  return total;
}

std::vector<int> usable_cores() {
  cpu_set_t set;
  std::vector<int> cores;
  if (pthread_getaffinity_np(pthread_self(), sizeof(set), &set) != 0) return cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cores.push_back(i);
  }
  return cores;
}

}  // namespace uroce::platform
