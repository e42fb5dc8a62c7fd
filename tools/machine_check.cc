// SPDX-License-Identifier: BSD-3-Clause
#include "machine_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "pci_nics.h"

namespace uroce::tools {
namespace {

namespace fs = std::filesystem;

// MB of ordinary pages that the library asks of DPDK, and some for itself.
constexpr std::uint64_t kNeededMb = 300;

std::string read_all(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::uint64_t read_number(const fs::path& path) {
  std::ifstream in(path);
  std::uint64_t n = 0;
  in >> n;
  return n;
}

// What follows "key" and a colon in a file of such lines; empty without one.
std::string value_of(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.find_first_not_of(" \t", key.size()) != colon) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return {};
}

std::uint64_t number_or(const std::string& text, int base, std::uint64_t otherwise) {
  try {
    return std::stoull(text, nullptr, base);
  } catch (const std::exception&) {
    return otherwise;
  }
}

bool exists(const Machine& m, const char* path) {
  std::error_code none;
  return fs::exists(m.root + path, none);
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    out.push_back(at->path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string join(const std::vector<std::string>& words, const char* between) {
  // Not fmt::join: gcc 12 at -O3 warns of fmt's own code.
  std::string all;
  for (const auto& w : words) {
    if (!all.empty()) all += between;
    all += w;
  }
  return all;
}

std::vector<std::string> cpu_flags(const Machine& m) {
  std::istringstream words(value_of(read_all(m.root + "/proc/cpuinfo"), "flags"));
  std::vector<std::string> out;
  for (std::string w; words >> w;) out.push_back(w);
  return out;
}

bool has(const std::vector<std::string>& words, const char* word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

enum class Capability { net_admin = 12, net_raw = 13, ipc_lock = 14, sys_admin = 21 };

bool capable(const Machine& m, Capability c) {
  const auto bits = number_or(value_of(read_all(m.root + "/proc/self/status"), "CapEff"), 16, 0);
  return ((bits >> static_cast<unsigned>(c)) & 1) != 0;
}

// Processes that have DPDK's library mapped; ours may be among them. Others' maps may be closed to us.
unsigned dpdk_processes(const Machine& m) {
  std::error_code none;
  const std::string self = fs::read_symlink(m.root + "/proc/self", none).filename();
  unsigned n = 0;
  for (const fs::path& p : entries(m.root + "/proc")) {
    const std::string pid = p.filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos || pid == self) continue;
    if (read_all(p / "maps").find("librte_eal") != std::string::npos) ++n;
  }
  return n;
}

}  // namespace

std::string_view to_string(Verdict v) noexcept {
  switch (v) {
    case Verdict::ok:
      return "ok";
    case Verdict::note:
      return "note";
    case Verdict::problem:
      return "problem";
  }
  return "?";
}

Check check_memory(const Machine& m) {
  const std::uint64_t mb = number_or(value_of(read_all(m.root + "/proc/meminfo"), "MemAvailable"), 10, 0) / 1024;
  Check c{"memory", Verdict::ok, fmt::format("{} MB available", mb), ""};
  if (mb < kNeededMb) {
    c.verdict = Verdict::problem;
    c.found += fmt::format("; a process of uroce needs {}", kNeededMb);
    c.fix = "ps aux --sort=-rss | head   # and end what is not needed";
  }
  return c;
}

Check check_hugepages(const Machine& m) {
  std::vector<std::string> sizes;
  std::uint64_t free_kb = 0;
  for (const fs::path& p : entries(m.root + "/sys/kernel/mm/hugepages")) {
    const std::string folder = p.filename();  // hugepages-2048kB
    if (!folder.starts_with("hugepages-")) continue;
    const std::uint64_t kb = number_or(folder.substr(10), 10, 0), n = read_number(p / "nr_hugepages"),
                        unused = read_number(p / "free_hugepages");
    free_kb += unused * kb;
    sizes.push_back(fmt::format("{} of {} kB reserved, {} free", n, kb, unused));
  }
  Check c{"hugepages", Verdict::ok, sizes.empty() ? "none in this kernel" : join(sizes, "; "), ""};
  if (free_kb / 1024 < kNeededMb) {
    c.verdict = Verdict::note;
    c.found += ". Ordinary pages work, slower; --hugepages does not";
    if (!sizes.empty()) c.fix = "echo 512 > /proc/sys/vm/nr_hugepages   # as root";
  }
  return c;
}

Check check_memlock(const Machine& m) {
  std::istringstream words(read_all(m.root + "/proc/self/limits"));
  std::string soft;
  for (std::string line; std::getline(words, line);) {
    if (line.starts_with("Max locked memory")) std::istringstream(line.substr(17)) >> soft;
  }
  const std::uint64_t mb = soft == "unlimited" ? UINT64_MAX : number_or(soft, 10, 0) >> 20;
  Check c{"memlock", Verdict::ok, "locked memory: " + (mb == UINT64_MAX ? soft : fmt::format("at most {} MB", mb)), ""};
  if (mb < kNeededMb && !capable(m, Capability::ipc_lock)) {
    c.verdict = Verdict::note;
    c.found += ". NICs through vfio, and af_xdp, need more; other ports don't";
    c.fix = "ulimit -l unlimited   # as root; for good: '* - memlock unlimited' in /etc/security/limits.d/uroce.conf";
  }
  return c;
}

Check check_privileges(const Machine& m) {
  std::vector<std::string> missing;
  if (!capable(m, Capability::net_raw)) missing.emplace_back("CAP_NET_RAW (for af_packet)");
  if (!capable(m, Capability::net_admin)) missing.emplace_back("CAP_NET_ADMIN (for tap and af_xdp)");
  if (missing.empty()) return {"privileges", Verdict::ok, "CAP_NET_RAW and CAP_NET_ADMIN are there", ""};
  return {"privileges", Verdict::note,
          "missing: " + join(missing, ", ") + ". memif and other shared-memory ports need none",
          "sudo setcap cap_net_raw,cap_net_admin,cap_ipc_lock+ep \"$(command -v uroce)\"   # or run it as root"};
}

Check check_vfio(const Machine& m) {
  if (!exists(m, "/dev/vfio/vfio")) {
    return {"vfio", Verdict::note, "no /dev/vfio/vfio: no PCI NIC can be given to DPDK (mlx5 needs no vfio)",
            "modprobe vfio-pci   # as root"};
  }
  Check c{"vfio", Verdict::ok, "/dev/vfio/vfio is there", ""};
  if (entries(m.root + "/sys/kernel/iommu_groups").empty()) {
    c.verdict = Verdict::note;
    c.found += ", but no IOMMU is on";
    c.fix =
        "add intel_iommu=on (or amd_iommu=on) iommu=pt to the kernel's command line; in a virtual machine without "
        "IOMMU: echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
    return c;
  }
  for (const fs::path& p : entries(m.root + "/dev/vfio")) {
    const std::string group = p.filename();
    if (group.find_first_not_of("0123456789") != std::string::npos) continue;
    if (std::ifstream(p).is_open() || capable(m, Capability::sys_admin)) continue;
    c.verdict = Verdict::note;
    c.found += ", but this user may not open group " + group;
    c.fix = "sudo chown \"$USER\" /dev/vfio/" + group;
  }
  return c;
}

Check check_nics(const Machine& m) {
  const auto nics = pci_nics(m.root);
  if (nics.empty())
    return {"nics", Verdict::note, "no Ethernet NIC on PCI; virtual ports work",
            "uroce devices   # lists ways to get a port"};
  std::vector<std::string> words;
  const PciNic* idle = nullptr;
  bool any = false;
  for (const PciNic& n : nics) {
    words.push_back(fmt::format("{} ({}{})", n.address, n.driver.empty() ? "no driver" : n.driver,
                                n.kernel_interface.empty() ? "" : ", " + n.kernel_interface));
    if (n.usable()) {
      any = true;
    } else if (idle == nullptr || n.kernel_interface.empty()) {
      idle = &n;
    }
  }
  Check c{"nics", any ? Verdict::ok : Verdict::note, join(words, ", "), ""};
  if (!any) {
    c.found += ": none is DPDK's";
    c.fix = "modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci " + idle->address + "   # as root" +
            (idle->kernel_interface.empty() ? "" : "; the kernel loses " + idle->kernel_interface);
  }
  return c;
}

Check check_cpu(const Machine& m) {
  const auto flags = cpu_flags(m);
  if (flags.empty())
    return {"cpu", Verdict::note, fmt::format("features unknown; copy + CRC kernel: {}", m.copy_kernel), ""};
  std::vector<std::string> there, missing;
  for (const char* f : {"sse4_2", "pclmulqdq", "avx2", "vpclmulqdq", "avx512vl"})
    (has(flags, f) ? there : missing).emplace_back(f);
  Check c{"cpu", Verdict::ok,
          fmt::format("{}; copy + CRC kernel: {}", there.empty() ? "none of the features used" : join(there, " "),
                      m.copy_kernel),
          ""};
  if (!has(flags, "sse4_2")) {
    c.verdict = Verdict::problem;
    c.found += "; DPDK needs SSE4.2";
    c.fix = "in a virtual machine: give it the host's CPU (QEMU: -cpu host)";
  } else if (!has(flags, "pclmulqdq") || !has(flags, "vpclmulqdq")) {
    c.verdict = Verdict::note;
    c.found +=
        fmt::format(". Without {} large messages are slower", has(flags, "pclmulqdq") ? "vpclmulqdq" : "pclmulqdq");
    c.fix = "in a virtual machine: give it the host's CPU (QEMU: -cpu host)";
  }
  return c;
}

Check check_cores(const Machine& m) {
  const unsigned others = dpdk_processes(m);
  Check c{"cores", Verdict::ok,
          fmt::format("{} usable; {} other DPDK process{} seen, which may poll", m.usable_cores, others,
                      others == 1 ? "" : "es"),
          ""};
  if (others + 1 > m.usable_cores) {
    c.verdict = Verdict::note;
    c.found += ". Two that poll on one core wait milliseconds for each other";
    c.fix = "uroce perf --threading dedicated --idle nap ...   # in each of them, or end some";
  } else if (m.usable_cores == 1) {
    c.verdict = Verdict::note;
    c.found += ". Two ends on this machine share it";
    c.fix = "uroce perf --threading dedicated --idle nap ...   # in both";
  }
  return c;
}

Check check_tsc(const Machine& m) {
  const auto flags = cpu_flags(m);
  const bool constant = has(flags, "constant_tsc"), nonstop = has(flags, "nonstop_tsc");
  if (constant && nonstop) return {"tsc", Verdict::ok, "invariant: constant_tsc nonstop_tsc", ""};
  return {
      "tsc", Verdict::note,
      fmt::format(
          "the time stamp counter is not known to be invariant (missing:{}{}): time-outs and latencies may be wrong",
          constant ? "" : " constant_tsc", nonstop ? "" : " nonstop_tsc"),
      "in a virtual machine: give it the host's CPU with an invariant TSC (QEMU: -cpu host,+invtsc)"};
}

Check check_clock_source(const Machine& m) {
  const fs::path folder = m.root + "/sys/devices/system/clocksource/clocksource0";
  std::istringstream current(read_all(folder / "current_clocksource"));
  std::string name;
  current >> name;
  if (name == "tsc") return {"clock_source", Verdict::ok, "tsc", ""};
  Check c{"clock_source", Verdict::note,
          (name.empty() ? std::string("not known") : name) +
              ": the kernel's time is slower to read than tsc's, or it mistrusts the TSC",
          ""};
  if (read_all(folder / "available_clocksource").find("tsc") != std::string::npos) {
    c.fix = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource   # as root";
  }
  return c;
}

std::vector<Check> check_machine(const Machine& m) {
  return {check_memory(m), check_hugepages(m), check_memlock(m), check_privileges(m), check_vfio(m),
          check_nics(m),   check_cpu(m),       check_cores(m),   check_tsc(m),        check_clock_source(m)};
}

}  // namespace uroce::tools
