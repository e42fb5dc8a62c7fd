// SPDX-License-Identifier: BSD-3-Clause
// The cost of a message on one core, requester and responder in one thread, beside the stateless loop in the same run:
// what the transport adds to what any software RoCE must do for a frame.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "connected_pair.h"
#include "messages.h"
#include "number_option.h"
#include "platform/dpdk/eal.h"
#include "platform/dpdk/ethdev_port.h"
#include "samples.h"
#include "stateless_loop.h"
#include "wire/crc.h"

namespace uroce::bench {
namespace {

struct Options {
  std::uint32_t repeats = 5;
  std::uint32_t milliseconds = 200;  // a measurement
  std::uint32_t only = 0;            // a case, from 1; 0: all
  bool hugepages = false;
  std::string json;
};

// What is measured, and how far from the loop it may be: time for messages that are mostly overhead, rate for those
// that are mostly bytes.
struct Case {
  const char* name;
  MessageKind kind;
  double most_times_loop;
  Samples ours{}, loop{}, remembering{};
};

constexpr std::uint32_t kMostDepth = 64;

int failed(const std::string& why) {
  fmt::print(stderr, "uroce_message_cost: {}\n", why);
  return 1;
}

// Ports of the loop's own, of the same kind and with as many buffers.
struct LoopPorts {
  RingPorts rings;
  std::unique_ptr<platform::EthdevPort> out, in;
};

Result<LoopPorts> loop_ports() {
  auto rings = RingPorts::make("loop");
  if (!rings) return tl::unexpected(rings.error());
  LoopPorts p{std::move(*rings), nullptr, nullptr};
  auto out = platform::EthdevPort::open({.port = p.rings.port(0), .max_frame_bytes = 4352});
  if (!out) return tl::unexpected(out.error());
  auto in = platform::EthdevPort::open({.port = p.rings.port(1), .max_frame_bytes = 4352});
  if (!in) return tl::unexpected(in.error());
  p.out = std::move(*out);
  p.in = std::move(*in);
  return p;
}

wire::Path loop_path() {
  wire::Path p;
  p.source = wire::IpAddress::v4(10, 0, 0, 1);
  p.destination = wire::IpAddress::v4(10, 0, 0, 2);
  return p;
}

// Empty: all went well.
std::string measure(Case& c, const Options& o, StatelessLoop& loop) {
  // Queues sized to the depth, as a program's would be.
  auto made = ConnectedPair::make({.name = fmt::format("pair{}_", c.kind.depth), .hugepages = o.hugepages,
                                   .bytes = kMostDepth * 4096, .depth = std::max(16u, 2 * c.kind.depth)});
  if (!made) return made.error().message;
  ConnectedPair& pair = *made;
  Messages messages(pair, c.kind);
  bool ok = true;
  using Headers = StatelessLoop::Headers;
  const auto of_loop = [&](Headers h, std::uint64_t n) {
    return loop.run(h, n, c.kind.size, pair.a.bytes.data(), c.kind.slots(), c.kind.stride(), ok);
  };
  constexpr std::uint64_t kWarm = 20'000;
  const double loop_ns = of_loop(Headers::made_each_time, kWarm), our_ns = messages.run(kWarm, ok);
  const auto enough = [&](double ns) { return static_cast<std::uint64_t>(o.milliseconds * 1e6 / ns) + 1; };
  for (std::uint32_t i = 0; i < o.repeats && ok; ++i) {  // side by side: what disturbs one disturbs the other
    c.loop.add(of_loop(Headers::made_each_time, enough(loop_ns)));
    c.remembering.add(of_loop(Headers::remembered, enough(loop_ns)));
    c.ours.add(messages.run(enough(our_ns), ok));
  }
  return ok ? "" : "frames were lost or a completion failed";
}

nlohmann::json to_json(const Case& c) {
  return {{"name", c.name},
          {"bytes", c.kind.size},
          {"depth", c.kind.depth},
          {"ns", c.ours.least()},
          {"ns_median", c.ours.median()},
          {"loop_ns", c.loop.least()},
          {"loop_ns_median", c.loop.median()},
          {"ratio", c.ours.least() / c.loop.least()},
          {"most", c.most_times_loop},
          {"remembering_loop_ns", c.remembering.least()},
          {"ratio_to_remembering", c.ours.least() / c.remembering.least()}};
}

int run(const Options& o) {
  std::array<Case, 3> cases{Case{"SEND 64 B, depth 64", {WrOpcode::send, 64, 64}, 2.0},
                            Case{"SEND 64 B, depth 1", {WrOpcode::send, 64, 1}, 4.0},
                            Case{"WRITE 4 KiB, depth 16", {WrOpcode::rdma_write, 4096, 16}, 1 / 0.7}};
  platform::EalConfig eal{.hugepages = o.hugepages};
  if (const auto cores = platform::usable_cores(); !cores.empty()) eal.main_core = cores.front();
  if (auto r = platform::eal_start(eal); !r) return failed(r.error().message);
  auto ports = loop_ports();
  if (!ports) return failed(ports.error().message);
  StatelessLoop loop(*ports->out, *ports->in, loop_path());

  fmt::print("One core, both ends in one thread over net_ring, {} pages, copy+CRC kernel {}; best (median) of {}, ns a message.\n",
             o.hugepages ? "huge" : "ordinary", wire::name(wire::crc_kernel()), o.repeats);
  fmt::print("{:<24}{:>18}{:>18}{:>8}{:>9}{:>22}{:>8}\n", "", "uroce", "stateless loop", "ratio", "at most",
             "remembering headers", "ratio");
  nlohmann::json report = nlohmann::json::array();
  bool within = true;
  for (Case& c : cases) {
    if (o.only != 0 && &c != &cases[o.only - 1]) continue;
    if (const std::string wrong = measure(c, o, loop); !wrong.empty()) return failed(fmt::format("{}: {}", c.name, wrong));
    const double ratio = c.ours.least() / c.loop.least();
    within = within && ratio <= c.most_times_loop;
    fmt::print("{:<24}{:>9.1f} ({:>6.1f}){:>9.1f} ({:>6.1f}){:>8.2f}{:>9.2f}{:>13.1f} ({:>6.1f}){:>8.2f}\n", c.name,
               c.ours.least(), c.ours.median(), c.loop.least(), c.loop.median(), ratio, c.most_times_loop,
               c.remembering.least(), c.remembering.median(), c.ours.least() / c.remembering.least());
    report.push_back(to_json(c));
  }
  fmt::print("{}\n", within ? "All within their bounds." : "Not all within their bounds.");
  if (!o.json.empty()) {
    std::ofstream file(o.json, std::ios::binary);
    file << report.dump(2) << '\n';
    file.close();
    if (file.fail()) return failed("cannot write '" + o.json + "'");
  }
  return 0;
}

}  // namespace
}  // namespace uroce::bench

int main(int argc, char** argv) {
  uroce::bench::Options o;
  CLI::App app("Cost of a message on one core, beside a stateless loop over the same frames.", "uroce_message_cost");
  uroce::tools::add_number(app, "--repeats", o.repeats, 1, 1000, "measurements of each kind (default 5)");
  uroce::tools::add_number(app, "--ms", o.milliseconds, 1, 100'000, "milliseconds a measurement (default 200)");
  uroce::tools::add_number(app, "--case", o.only, 1, 3, "one row of the table only, for a profiler");
  app.add_flag("--hugepages", o.hugepages, "use hugepages, which must be reserved");
  app.add_option("--json", o.json, "write the figures to a file")->type_name("FILE");
  CLI11_PARSE(app, argc, argv);
  return uroce::bench::run(o);
}
