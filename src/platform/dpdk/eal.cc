// SPDX-License-Identifier: BSD-3-Clause
#include "platform/dpdk/eal.h"

#include <dirent.h>
#include <pthread.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>

namespace uroce::platform {
namespace {

std::string device_name(const std::string& spec) { return spec.substr(0, spec.find(',')); }

std::string reason() { return rte_strerror(rte_errno); }

}  // namespace

Result<void> eal_start(const EalConfig& config) {
  static std::mutex once;
  static bool started = false;
  const std::lock_guard lock(once);
  if (started) return {};

  std::vector<std::string> args{"uroce", "-l", std::to_string(config.main_core), "--file-prefix",
                                "uroce" + std::to_string(getpid()), "--log-level", "error", "--no-telemetry"};
  if (config.hugepages) {
    args.emplace_back("--in-memory");
  } else {
    args.insert(args.end(), {"--no-huge", "-m", std::to_string(config.memory_mb)});
  }
  if (!config.pci) args.emplace_back("--no-pci");
  for (const auto& a : config.allow) args.insert(args.end(), {"-a", a});
  std::vector<char*> argv;
  for (auto& a : args) argv.push_back(a.data());

  // EAL ties the calling thread to its main core; the caller's own choice comes back afterwards.
  cpu_set_t before;
  pthread_getaffinity_np(pthread_self(), sizeof(before), &before);
  const int n = rte_eal_init(static_cast<int>(argv.size()), argv.data());
  pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
  if (n < 0 && rte_errno != EALREADY) {
    return fail(ErrorCode::system, "DPDK's environment did not start (" + reason() + ")" +
                                       (config.hugepages ? "; without hugepages it needs none: try that" : ""));
  }
  started = true;
  return {};
}

Result<std::uint16_t> add_vdev(const std::string& spec) {
  const std::string name = device_name(spec);
  const std::string args = name.size() < spec.size() ? spec.substr(name.size() + 1) : "";
  if (name.rfind("net_", 0) != 0) {
    return fail(ErrorCode::invalid_argument, "device '" + spec + "': a virtual device is net_NAME[,option=value...], "
                                             "such as net_memif0,role=server,socket=/tmp/uroce.sock");
  }
  // To DPDK, adding what is there already is no error.
  std::uint16_t existing = 0;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &existing) == 0) {
    return fail(ErrorCode::busy, "device '" + spec + "': " + name + " exists already; close it first, or take another number");
  }
  if (rte_eal_hotplug_add("vdev", name.c_str(), args.c_str()) != 0) {
    return fail(ErrorCode::system, "device '" + spec + "': DPDK refused it (" + reason() + ")");
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
      if (rte_eth_dev_get_name_by_port(p, buffer) == 0) known += std::string(known.empty() ? "" : ", ") + buffer;
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
