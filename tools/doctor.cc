// SPDX-License-Identifier: BSD-3-Clause
// uroce doctor
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "machine_check.h"
#include "wire/crc.h"
#include "platform/dpdk/eal.h"
#include "platform/dpdk/port_details.h"

namespace uroce::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string port;
  bool json = false;
};

// Starts DPDK as every other subcommand does, and makes a port, so that a missing driver package shows.
Check check_dpdk(const Options& o) {
  platform::EalConfig eal;
  if (!o.port.empty() && !o.port.starts_with("net_")) {
    eal.pci = true;
    eal.allow.push_back(o.port);
  }
  if (const auto cores = platform::usable_cores(); !cores.empty()) eal.main_core = cores.front();
  if (const auto r = platform::eal_start(eal); !r) {
    return {"dpdk", Verdict::problem, r.error().message, "tools/setup   # of the source tree; or: apt install dpdk"};
  }
  const std::string probe = "net_null_doctor";
  if (const auto port = platform::add_vdev(probe); !port) {
    return {"dpdk", Verdict::problem, platform::dpdk_version() + " starts, but has no drivers: " + port.error().message,
            "apt install librte-net-null23 librte-net-memif23   # or: apt install libdpdk-dev, for all of them"};
  }
  platform::remove_vdev(probe);
  return {"dpdk", Verdict::ok, platform::dpdk_version() + " starts without hugepages, drivers are found", ""};
}

Check judge_port(const platform::PortDetails& d) {
  Check c{"port", Verdict::ok, "", ""};
  const std::string mtu = d.mtu_enforced ? fmt::format("MTU {}", d.mtu) : "MTU not held to";
  if (d.path_mtu == 0) {
    c.verdict = Verdict::problem;
    c.found = fmt::format("{} ({}): {}, in which not even path MTU 256 fits", d.name, d.driver, mtu);
  } else {
    c.found = fmt::format("{} ({}): {}, path MTU {}", d.name, d.driver, mtu, d.path_mtu);
    if (d.path_mtu == 4096) return c;
    c.verdict = Verdict::note;
    c.found += fmt::format(" at most: set it (perf --mtu {}); larger packets would be lost", d.path_mtu);
  }
  if (d.ring_mtu != 0 && platform::path_mtu_within(d.mtu) > d.path_mtu) {
    c.found += ". It is the frames of its ring that are small";
    c.fix = "--port " + d.name + ",iface=" + d.kernel_interface + ",blocksz=69632,framesz=4352,framecnt=512";
  } else if (!d.kernel_interface.empty()) {
    c.fix =
        "ip link set " + d.kernel_interface + " mtu 4200   # as root, at both ends and on the switch; 4096 needs 4199";
  }
  return c;
}

Check check_port(const std::string& spec) {
  const auto broken = [](const Error& e) {
    return Check{"port", Verdict::problem, e.message, "uroce devices   # lists ways to get a port"};
  };
  auto port = platform::find_port(spec);
  const bool made = !port;
  if (made) port = platform::add_vdev(spec);
  if (!port) return broken(port.error());
  const auto details = platform::port_details(*port);
  if (made) platform::remove_vdev(spec);
  return details ? judge_port(*details) : broken(details.error());
}

Exit doctor(const Options& o) {
  Machine m;
  m.usable_cores = static_cast<unsigned>(std::max<std::size_t>(platform::usable_cores().size(), 1));
  m.copy_kernel = wire::name(wire::crc_kernel());
  auto checks = check_machine(m);
  checks.push_back(check_dpdk(o));
  if (!o.port.empty()) {
    checks.push_back(checks.back().verdict == Verdict::problem
                         ? Check{"port", Verdict::problem, "not looked at: DPDK does not start", ""}
                         : check_port(o.port));
  }
  const auto count = [&](Verdict v) {
    return std::count_if(checks.begin(), checks.end(), [v](const Check& c) { return c.verdict == v; });
  };
  const bool usable = count(Verdict::problem) == 0;
  if (o.json) {
    Json j{{"usable", usable}, {"checks", Json::array()}};
    for (const Check& c : checks) {
      j["checks"].push_back({{"name", c.name},
                             {"verdict", to_string(c.verdict)},
                             {"found", c.found},
                             {"fix", c.fix.empty() ? Json() : Json(c.fix)}});
    }
    fmt::print("{}\n", j.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    for (const Check& c : checks) {
      fmt::print("{:<8}{:<13}{}\n", to_string(c.verdict), c.name, c.found);
      if (!c.fix.empty()) fmt::print("{:<21}{}\n", "", c.fix);
    }
    fmt::print("problems: {}, notes: {}; uroce {}\n", count(Verdict::problem), count(Verdict::note),
               usable ? "can be used" : "can't be used as things are");
  }
  return usable ? Exit::ok : Exit::failed;
}

Run add(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("--port,-d", o->port,
                 "look at this port too: a virtual device such as net_af_packet0,iface=eth0, or a PCI address")
      ->type_name("DEVICE");
  app.add_flag("--json", o->json, "one JSON object");
  app.footer(
      "A line a check: ok; note, for what works but could work better; problem, for what keeps uroce from working. "
      "What to\n"
      "type stands below. Nothing is changed. Exit status: 0 uroce can be used, 1 it can't, 2 wrong usage.");
  return [o] { return doctor(*o); };
}

const Registration kRegistration({"", "doctor", "check this machine, and say what to do about what is wrong", add});

}  // namespace
}  // namespace uroce::tools
