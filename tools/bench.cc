// SPDX-License-Identifier: BSD-3-Clause
// uroce bench
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench_run.h"
#include "command.h"
#include "number_option.h"
#include "platform/dpdk/eal.h"
#include "platform/dpdk/port_details.h"
#include "wire/crc.h"

namespace uroce::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMeaning =
    "engine cost on one core, without a link: neither a network's latency nor its throughput";
constexpr std::uint32_t kMaxSize = 4096;  // the largest path MTU: a packet a message

struct Options {
  std::vector<std::uint32_t> sizes{64, 4096};
  std::string op = "write";
  std::optional<std::string> pcap;
  BenchPlan plan;
  std::optional<int> core;
  bool hugepages = false, json = false;
};

double ns(double ticks) { return ticks * 1e9 / platform::ticks_a_second(); }
double million_a_second(double ticks) { return ticks == 0 ? 0 : platform::ticks_a_second() / ticks / 1e6; }

// What reading the counter adds to each stage's cost of a packet.
double ticks_of_reading() {
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t before = platform::ticks_after_all();
    least = std::min(least, platform::ticks_after_all() - before);
  }
  return static_cast<double>(least) / kBenchBatch;
}

// Hundredths: more would be noise.
double rounded(double v) { return std::round(v * 100) / 100; }

Json cost_json(const Cost& c) {
  return {{"ns", {{"best", rounded(ns(c.best))}, {"median", rounded(ns(c.median))}}},
          {"cycles", {{"best", rounded(c.best)}, {"median", rounded(c.median)}}}};
}

Json total_json(const Cost& c) {
  Json j = cost_json(c);
  j["mpps"] = {{"best", rounded(million_a_second(c.best))}, {"median", rounded(million_a_second(c.median))}};
  return j;
}

Json stages_json(const std::vector<StageCost>& stages) {
  Json list = Json::array();
  for (const StageCost& s : stages) {
    Json j{{"name", s.name}};
    j.update(cost_json(s.cost));
    list.push_back(std::move(j));
  }
  return list;
}

Json result_json(const BenchResult& r) {
  Json j{{"side", r.transmit ? "transmit" : "receive"},
         {"port", r.port},
         {"size", r.size ? Json(*r.size) : Json()},
         {"frame_bytes", rounded(r.frame_bytes)},
         {"packets", r.packets},
         {"stages", stages_json(r.stages)},
         {"total", total_json(r.total)},
         {"engine", {{"stages", stages_json(r.engine)}, {"total", total_json(r.engine_total)}}},
         {"limits", stages_json(r.limits)}};
  if (!r.transmit) {
    j["verdicts"] = Json::object();
    for (const auto& [name, count] : r.verdicts) j["verdicts"][std::string(name)] = count;
  }
  return j;
}

void print_line(std::string_view name, const Cost& c, std::string_view rest) {
  fmt::print("  {:<20}{:>9.1f} {:>9.1f} {:>12.1f} {:>9.1f}   {}\n", name, ns(c.best), ns(c.median), c.best, c.median, rest);
}

void print_total(std::string_view name, const Cost& c) {
  print_line(name, c, fmt::format("{:.2f} Mpps, median {:.2f}", million_a_second(c.best), million_a_second(c.median)));
}

void print_human(const BenchResult& r, std::string_view op) {
  const std::string what = r.size ? fmt::format("{} of {} B, frames of {:.0f} B", op, *r.size, r.frame_bytes)
                                  : fmt::format("captured frames, {:.0f} B on average", r.frame_bytes);
  fmt::print("\n{}: {}, {} {}\n", r.transmit ? "transmit" : "receive", what, r.transmit ? "into" : "from", r.port);
  fmt::print("  {:<20}{:>9} {:>9} {:>12} {:>9}\n", "a packet", "best ns", "median", "best cycles", "median");
  for (const StageCost& s : r.stages) print_line(s.name, s.cost, s.doc);
  print_total("total", r.total);
  for (const StageCost& s : r.engine) print_line("engine " + std::string(s.name), s.cost, s.doc);
  if (r.engine.size() > 1) print_total("engine total", r.engine_total);
  for (const StageCost& s : r.limits) print_line("limit " + std::string(s.name), s.cost, s.doc);
  if (r.transmit) return;
  fmt::print("  of {} packets", r.packets);
  const char* before = ": ";
  for (const auto& [name, count] : r.verdicts) fmt::print("{}{} {}", std::exchange(before, ", "), count, name);
  fmt::print("\n");
}

Result<void> pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  if (const int e = pthread_setaffinity_np(pthread_self(), sizeof(set), &set); e != 0) {
    return fail(ErrorCode::system, fmt::format("core {}: {}", core, std::strerror(e)));
  }
  return {};
}

Result<std::vector<BenchResult>> measure(const Options& o) {
  std::vector<RxSource> sources;
  const bool write = o.op == "write";
  if (!o.pcap) {
    for (const auto size : o.sizes) sources.push_back(make_frames(size, write));
  } else {
    auto read = read_frames(*o.pcap);
    if (!read) return tl::unexpected(read.error());
    sources.push_back(std::move(*read));
  }
  std::vector<BenchResult> out;
  {
    auto port = BenchPort::open("net_null0,no-rx=1", 0);
    if (!port) return tl::unexpected(port.error());
    for (const auto size : o.sizes) {
      auto r = bench_transmit(**port, o.plan, size, write);
      if (!r) return tl::unexpected(r.error());
      out.push_back(std::move(*r));
    }
  }
  for (const RxSource& s : sources) {
    auto r = bench_receive(o.plan, s);
    if (!r) return tl::unexpected(r.error());
    out.push_back(std::move(*r));
  }
  return out;
}

Exit bench(const Options& o) {
  // A file that can't be read is told before anything is started.
  if (o.pcap) {
    if (auto r = read_frames(*o.pcap); !r) return print_error(r.error().message), Exit::failed;
  }
  platform::EalConfig eal;
  eal.hugepages = o.hugepages;
  eal.main_core = o.core.value_or(std::max(sched_getcpu(), 0));  // the scheduler's choice, if nobody makes another
  if (auto r = platform::eal_start(eal); !r) return print_error(r.error().message), Exit::failed;
  if (auto r = pin(eal.main_core); !r) return print_error(r.error().message), Exit::failed;
  const double reading = ticks_of_reading();
  const auto results = measure(o);
  if (!results) return print_error(results.error().message), Exit::failed;

  const std::string op = o.op == "write" ? "WRITE" : "SEND";
  const auto crc = wire::name(wire::crc_kernel());
  if (o.json) {
    Json j{{"meaning", kMeaning},
           {"dpdk", platform::dpdk_version()},
           {"core", eal.main_core},
           {"tsc_hz", static_cast<std::uint64_t>(platform::ticks_a_second())},
           {"crc_kernel", crc},
           {"hugepages", o.hugepages},
           {"op", o.op},
           {"batch", kBenchBatch},
           {"repeats", o.plan.repeats},
           {"ms", o.plan.milliseconds},
           {"reading_cycles", rounded(reading)},
           {"results", Json::array()}};
    for (const BenchResult& r : *results) j["results"].push_back(result_json(r));
    fmt::print("{}\n", j.dump());
    return Exit::ok;
  }
  fmt::print("{}.\n", kMeaning);
  fmt::print("{}, core {}, {} pages, CRC kernel {}; batches of {} packets, {} repeats of {} ms.\n", platform::dpdk_version(),
             eal.main_core, o.hugepages ? "huge" : "ordinary", crc, kBenchBatch, o.plan.repeats, o.plan.milliseconds);
  fmt::print("Cycles are the time stamp counter's, at {:.0f} MHz; reading it adds {:.1f} of them to each stage.\n",
             platform::ticks_a_second() / 1e6, reading);
  for (const BenchResult& r : *results) print_human(r, op);
  return Exit::ok;
}

Run add(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option_function<std::vector<std::string>>("--size,-s", [o](const std::vector<std::string>& list) {
       o->sizes.clear();
       for (const auto& text : list) {
         const auto v = parse_number(text);
         if (!v || *v > kMaxSize) refuse_number("--size", text, 0, kMaxSize);
         const auto size = static_cast<std::uint32_t>(*v);
         if (std::find(o->sizes.begin(), o->sizes.end(), size) == o->sizes.end()) o->sizes.push_back(size);
       }
     }, "payload bytes of a packet; several after commas, or repeated (default 64,4096)")->delimiter(',')->allow_extra_args(false)->type_name("N");
  app.add_option("--op", o->op, "what the packets are (default write, whose header is 16 bytes longer)")
      ->check(CLI::IsMember({"send", "write"}));
  app.add_option("--pcap", o->pcap, "receive the frames of this capture instead (the first 4096; no queue pair is theirs)")
      ->type_name("FILE");
  add_number(app, "--repeats,-r", o->plan.repeats, 1, 1000, "measurements of each thing (default 5)");
  add_number(app, "--ms", o->plan.milliseconds, 1, 60000, "milliseconds of a measurement (default 50)");
  add_number(app, "--core", o->core, 0, 1023, "the core to run on (default the one it is on)");
  app.add_flag("--hugepages", o->hugepages, "use hugepages (reserve them first: README)");
  app.add_flag("--json", o->json, "one JSON object");
  app.footer(
      "What a packet costs the engine, in ns and cycles, stage by stage: " + std::string(kMeaning) + ".\n"
      "Transmit goes into DPDK's net_null, which frees what it is given; receive comes from its net_pcap, which copies frames\n"
      "out of memory. `engine` lines are the engine's own loop over the same work, `limit` lines what memcpy and CRC alone take.\n"
      "Exit status: 0 measured, 1 DPDK, a core or the file could not be used, 2 wrong usage.");
  return [o] { return bench(*o); };
}

const Registration kRegistration({"", "bench", "measure what a packet costs the engine, stage by stage, without a network", add});

}  // namespace
}  // namespace uroce::tools
