// SPDX-License-Identifier: BSD-3-Clause
// uroce perf [HOST]
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "command.h"
#include "number_option.h"
#include "perf_end.h"

namespace uroce::tools {
namespace {

struct Options {
  std::string host;
  DeviceConfig device;
  std::string address;
  std::vector<std::string> ops{"send"};
  std::vector<std::uint64_t> sizes;
  bool lat = false, bw = false, all = false, json = false;
  unsigned oob_port = 18515, wait = 30;
  std::string bind_address = "127.0.0.1";
  std::uint64_t iterations = 0;
  PerfTest test;
  std::string threading = "single", idle = "yield";
};

std::string rate_text(double bytes_per_second) { return fmt::format("{:.2f} Gb/s ({:.0f} MB/s)", bytes_per_second * 8 / 1e9, bytes_per_second / 1e6); }

void print_human(const PerfTest& t, const PerfResult& r) {
  fmt::print("{:<9} {:>8} B  ", to_string(t.op), t.size);
  if (t.latency) {
    fmt::print("p50 {:.2f} us  p99 {:.2f} us  p99.9 {:.2f} us  p99.99 {:.2f} us  max {:.2f} us", r.percentile_us(50),
               r.percentile_us(99), r.percentile_us(99.9), r.percentile_us(99.99), r.percentile_us(100));
  } else {
    const double per_second = static_cast<double>(r.iterations) / r.seconds;
    fmt::print("{}  {:.3f} M msg/s", rate_text(per_second * t.size), per_second / 1e6);
  }
  fmt::print("  {} iterations{}", r.iterations, r.verified ? ", data verified" : "");
  if (r.retransmitted + r.timeouts != 0) fmt::print(", {} packets retransmitted, {} timeouts", r.retransmitted, r.timeouts);
  fmt::print("\n");
}

Json result_json(const PerfTest& t, const PerfResult& r) {
  Json j{{"op", to_string(t.op)},   {"mode", t.latency ? "lat" : "bw"}, {"size", t.size},
         {"depth", t.latency ? 1 : t.depth}, {"qps", t.qps},            {"mtu", t.mtu},
         {"iterations", r.iterations}, {"seconds", r.seconds}};
  if (t.latency) {
    // SEND and WRITE: half of there and back; READ and ATOMIC: the whole operation.
    j["latency_us"] = {{"min", r.percentile_us(0)},      {"p50", r.percentile_us(50)},     {"p90", r.percentile_us(90)},
                       {"p99", r.percentile_us(99)},     {"p99.9", r.percentile_us(99.9)}, {"p99.99", r.percentile_us(99.99)},
                       {"max", r.percentile_us(100)}};
  } else {
    const double per_second = static_cast<double>(r.iterations) / r.seconds;
    j["messages_per_second"] = per_second;
    j["gbit_per_second"] = per_second * t.size * 8 / 1e9;
  }
  j["verified"] = r.verified;
  j["retransmitted"] = r.retransmitted;
  j["timeouts"] = r.timeouts;
  return j;
}

Result<std::vector<PerfTest>> make_tests(const Options& o, PathMtu most) {
  std::vector<PerfTest> out;
  std::vector<std::uint64_t> sizes = o.sizes.empty() ? std::vector<std::uint64_t>{64} : o.sizes;
  if (o.all) {
    sizes.clear();
    for (std::uint64_t s = 1; s <= 1 << 20; s *= 2) sizes.push_back(s);
  }
  for (const auto& name : o.ops) {
    const auto op = parse_op(name);
    if (!op) return tl::unexpected(op.error());
    const bool atomic = *op == PerfOp::fetch_add || *op == PerfOp::cmp_swap;
    for (const bool latency : {true, false}) {
      if (latency ? !o.lat && o.bw : !o.bw) continue;
      for (const std::uint64_t size : atomic ? std::vector<std::uint64_t>{8} : sizes) {
        PerfTest t = o.test;
        t.op = *op;
        t.latency = latency;
        t.size = static_cast<std::uint32_t>(size);
        t.mtu = std::min(t.mtu, mtu_bytes(most));
        if (latency) t.qps = 1;
        t.iterations = o.iterations != 0 ? o.iterations : latency ? 10'000 : std::clamp<std::uint64_t>((std::uint64_t{1} << 28) / std::max<std::uint64_t>(size, 1), 2'000, 200'000);
        if (latency && *op == PerfOp::write && size == 0) {
          return fail(ErrorCode::invalid_argument, "write latency needs a size of at least 1: the far end watches the last byte");
        }
        out.push_back(t);
      }
    }
  }
  return out;
}

Result<Device> open_device(const Options& o) {
  DeviceConfig d = o.device;
  d.addresses = {o.address.empty() ? (o.host.empty() ? "10.99.0.1/24" : "10.99.0.2/24") : o.address};
  d.threading = o.threading == "dedicated" ? Threading::dedicated : Threading::single;
  d.idle = o.idle == "spin" ? Idle::spin : o.idle == "nap" ? Idle::nap : Idle::yield;
  return Device::open(d);
}

Exit client(const Options& o) {
  if (const auto wrong = make_tests(o, PathMtu::mtu4096); !wrong) return print_error(wrong.error().message), Exit::usage;
  // The server first: it listens once its port is up, and a memif client that comes before its server may never link.
  auto peer = LineSocket::connect(o.host, o.oob_port, o.wait);
  if (!peer) return print_error(peer.error().message), Exit::failed;
  auto device = open_device(o);
  if (!device) return print_error(device.error().message), Exit::failed;
  const auto tests = make_tests(o, device->max_path_mtu());
  if (!tests) return print_error(tests.error().message), Exit::usage;
  if (!device->wait_for_link(o.wait * 1000)) {
    print_error("the port's link did not come up within " + std::to_string(o.wait) + " s: is the other side of it running?");
    return Exit::failed;
  }
  for (const PerfTest& t : *tests) {
    const auto r = run_client(*device, *peer, t, !o.json && isatty(STDERR_FILENO) != 0);
    if (!r) return print_error(to_string(t.op) + " " + std::to_string(t.size) + " B: " + r.error().message), Exit::failed;
    if (o.json) {
      fmt::print("{}\n", result_json(t, *r).dump());
    } else {
      print_human(t, *r);
    }
    std::fflush(stdout);
  }
  return Exit::ok;
}

Exit server(const Options& o) {
  auto device = open_device(o);
  if (!device) return print_error(device.error().message), Exit::failed;
  auto peer = LineSocket::accept_one(o.bind_address, o.oob_port, o.wait);
  if (!peer) return print_error(peer.error().message), Exit::failed;
  const auto tests = run_server(*device, *peer);
  if (!tests) return print_error(tests.error().message), Exit::failed;
  if (o.json) {
    fmt::print("{}\n", Json{{"tests", *tests}}.dump());
  } else {
    fmt::print("served {} tests\n", *tests);
  }
  return Exit::ok;
}

void add_test_options(CLI::App& app, Options& o) {
  app.add_option("--op", o.ops, "send, write, read, fetch_add, cmp_swap; several after commas (default send)")
      ->delimiter(',')->allow_extra_args(false);  // HOST may follow
  app.add_flag("--lat", o.lat, "latency (the default); SEND and WRITE give half of there and back");
  app.add_flag("--bw", o.bw, "bandwidth; with --lat both");
  app.add_option_function<std::vector<std::string>>("--size,-s", [&o](const std::vector<std::string>& list) {
       o.sizes.clear();
       for (const auto& text : list) {
         const auto v = parse_number(text);
         if (!v || *v > 1u << 28) refuse_number("--size", text, 0, 1u << 28);
         o.sizes.push_back(*v);
       }
     }, "bytes of a message; several after commas (default 64; atomics always 8)")->delimiter(',')->allow_extra_args(false)->type_name("N");
  app.add_flag("--all,-a", o.all, "sizes 1, 2, 4 .. 1 MiB");
  add_number(app, "--iterations,-n", o.iterations, 1, 1u << 30, "messages of a test (default 10000 for --lat, 256 MB's worth for --bw, 2000 to 200000)");
  add_number(app, "--seconds", o.test.seconds, 1, 3600, "bandwidth: run so long instead");
  add_number(app, "--depth,-q", o.test.depth, 1, 4096, "requests outstanding a queue pair, --bw (default 64)");
  add_number(app, "--qps", o.test.qps, 1, 256, "queue pairs, --bw (default 1)");
  app.add_option_function<std::string>("--mtu,-m", [&o](const std::string& text) {
       const auto v = parse_number(text);
       if (!v || (*v != 256 && *v != 512 && *v != 1024 && *v != 2048 && *v != 4096)) {
         throw CLI::ValidationError("--mtu", "'" + text + "' is not 256, 512, 1024, 2048 or 4096");
       }
       o.test.mtu = static_cast<std::uint32_t>(*v);
     }, "path MTU (default the largest that fits)")->type_name("N");
  add_number(app, "--window", o.test.window, 2, 1u << 22, "packets unacknowledged a queue pair (default 256)");
  add_number(app, "--timeout", o.test.timeout, 1, 31, "ack timeout code, 4.096 us * 2^N (default 14: 67 ms)");
  app.add_flag("--verify", o.test.verify, "check the data of every message");
}

Run add(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("HOST", o->host, "the server's host, for the exchange before the test; without it, be the server")->type_name("");
  app.add_option("--port,-d", o->device.port, "the DPDK port: a virtual device such as net_memif0,role=server,socket=/tmp/u.sock, or a PCI address")
      ->required()->type_name("DEVICE");
  app.add_option("--address", o->address, "the port's address (default 10.99.0.1/24 for the server, .2 for the client)")->type_name("IP/LENGTH");
  add_test_options(app, *o);
  add_number(app, "--oob-port", o->oob_port, 1, 65535, "TCP port of the exchange before the test (default 18515)");
  app.add_option("--bind", o->bind_address, "server: address of that TCP port (default 127.0.0.1)");
  add_number(app, "--wait", o->wait, 1, 3600, "seconds to wait for the other side (default 30)");
  add_number(app, "--max-frame", o->device.max_frame, 512, 9216, "the longest Ethernet frame in bytes (default: what the port is set to, 4352 in shared memory)");
  app.add_option("--fault", o->device.faults, "damage what is sent: drop=0.01,dup=..,reorder=..,corrupt=..,seed=1")->type_name("LIST");
  app.add_option("--cc", o->device.congestion, "congestion control of this side: none (default), dcqcn, fixed_rate,rate=500; with parameters dcqcn:nvidia,rp_ai_rate=20")
      ->type_name("NAME");
  add_number(app, "--line-rate", o->device.line_rate, 1, 400'000, "Mb/s that the port sends, for --cc (default 100000)");
  app.add_option("--threading", o->threading, "single (default): this thread does all; dedicated: a worker thread")
      ->check(CLI::IsMember({"single", "dedicated"}));
  app.add_option("--idle", o->idle, "dedicated: what a worker without work does (default yield)")->check(CLI::IsMember({"spin", "yield", "nap"}));
  add_number(app, "--core", o->device.core, 0, 1023, "the worker's core");
  app.add_flag("--hugepages", o->device.hugepages, "use hugepages (reserve them first: README)");
  app.add_flag("--json", o->json, "one JSON object a test, one a line");
  app.footer(
      "Start the server first:  uroce perf --port net_memif0,role=server,socket=/tmp/u.sock,bsize=4608\n"
      "then the client:         uroce perf localhost --port net_memif0,role=client,socket=/tmp/u.sock,bsize=4608 --op send --lat\n"
      "The client chooses what is measured. Exit status: 0 all tests done (and data right with --verify), 1 failed, 2 wrong usage.");
  return [o] { return o->host.empty() ? server(*o) : client(*o); };
}

const Registration kRegistration({"", "perf", "measure latency and bandwidth between two processes", add});

}  // namespace
}  // namespace uroce::tools
