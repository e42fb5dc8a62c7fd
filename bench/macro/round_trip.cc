// SPDX-License-Identifier: BSD-3-Clause
// Half a round trip of a 64-byte WRITE between two threads, beside that of a bare frame through the same kind of port, in
// turns in the same run: what the transport adds to the time on the wire. The wire is a net_ring, that is, the caches of
// two cores, and how near those are decides every figure; so a ping-pong of one cache line is timed before each pair, and
// pairs are compared within its class.
#include <fmt/core.h>
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "connected_pair.h"
#include "number_option.h"
#include "platform/dpdk/eal.h"
#include "platform/dpdk/ethdev_port.h"

namespace uroce::bench {
namespace {

constexpr std::uint32_t kBytes = 64;
constexpr std::size_t kBareFrame = 14 + 20 + 8 + 12 + 16 + kBytes + 4;  // of an RDMA WRITE ONLY
constexpr double kMostTimesBare = 2.5;
constexpr double kNearBelowNs = 150;  // one way: 57 to 73 ns were seen within a core complex, 220 to 310 across

struct Options {
  std::uint32_t rounds = 15;       // pairs
  std::uint32_t iterations = 20'000;
  bool hugepages = false;
  std::string json;
};

enum class Phase : std::uint32_t { idle, probe, bare, write, stop };

struct alignas(64) Line {
  std::atomic<std::uint32_t> value{0};
};

// What both threads see.
struct Stage {
  ConnectedPair& pair;
  engine::Port& bare_a;
  engine::Port& bare_b;
  Line phase, there, back;
  [[nodiscard]] Phase now() const { return static_cast<Phase>(phase.value.load(std::memory_order_acquire)); }
  void enter(Phase p) { phase.value.store(static_cast<std::uint32_t>(p), std::memory_order_release); }
};

// One end of the ping-pong of WRITEs: spins on the last byte of its own memory, as ib_write_lat does.
class Writer {
 public:
  Writer(End& self, End& other) : self_(self), last_(self.bytes[kTarget + kBytes - 1]), sge_(self.region->sge(0, kBytes)) {
    wr_.opcode = WrOpcode::rdma_write;
    wr_.flags = SendFlag::signaled;
    wr_.sges = {&sge_, 1};
    wr_.remote_address = other.region->iova() + kTarget;
    wr_.rkey = other.region->key();
    last_ = 0;
  }
  void send(std::uint8_t number) {
    self_.bytes[kBytes - 1] = number;
    self_.qp->post_send(wr_);
  }
  [[nodiscard]] bool came(std::uint8_t number) {
    self_.device->progress();
    self_.send_cq->poll(done_);
    return std::atomic_ref<std::uint8_t>(last_).load(std::memory_order_acquire) == number;
  }

 private:
  static constexpr std::size_t kTarget = 4096;
  End& self_;
  std::uint8_t& last_;
  Sge sge_;
  SendWr wr_;
  std::array<Completion, 8> done_;
};

// The least that a user of a port does: a buffer for each frame, every byte written here and read there.
class BareEnd {
 public:
  explicit BareEnd(engine::Port& port) : port_(port) {}
  void send(std::uint8_t number) {
    engine::TxFrame f;
    while (port_.tx_alloc({&f, 1}) == 0) {
    }
    std::memset(f.data, number, kBareFrame);
    f.length = kBareFrame;
    while (port_.tx_burst({&f, 1}) == 0) {
    }
  }
  // Whether a frame came, whole.
  [[nodiscard]] bool came(std::uint8_t number) {
    engine::RxFrame f;
    if (port_.rx_burst({&f, 1}) == 0) return false;
    std::array<std::uint8_t, kBareFrame> wanted;
    wanted.fill(number);
    const bool right = f.bytes.size() == kBareFrame && std::memcmp(f.bytes.data(), wanted.data(), kBareFrame) == 0;
    port_.rx_release({&f, 1});
    return right;
  }

 private:
  engine::Port& port_;
};

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core), &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

// The far end: answers in whatever phase it is.
void echo(Stage& s, int core) {
  pin(core);
  rte_thread_register();  // without a number DPDK gives a thread no cache of buffers
  Writer writer(s.pair.b, s.pair.a);
  BareEnd bare(s.bare_b);
  std::uint8_t expected = 1;  // counts the frames and messages of all phases
  std::uint32_t probe = 0;
  for (;;) {
    switch (s.now()) {
      case Phase::stop: rte_thread_unregister(); return;
      case Phase::idle: break;
      case Phase::probe: {
        const std::uint32_t v = s.there.value.load(std::memory_order_acquire);
        if (v != probe) s.back.value.store(probe = v, std::memory_order_release);
        break;
      }
      case Phase::bare:
        if (!bare.came(expected)) break;
        bare.send(expected++);
        break;
      case Phase::write:
        if (!writer.came(expected)) break;
        writer.send(expected++);
        break;
    }
  }
}

// The near end: times round trips.
class Timer {
 public:
  explicit Timer(std::uint32_t iterations) : ticks_(iterations) {}
  // `round` does one trip. Half of the median, in ns.
  template <class F>
  double median_half_ns(F&& round) {
    std::uint64_t start = rte_rdtsc();
    for (auto& t : ticks_) {
      round();
      const std::uint64_t end = rte_rdtsc();
      t = end - start;
      start = end;
    }
    return half_ns(0.5);
  }
  double half_ns(double part) {
    const auto at = ticks_.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(ticks_.size() - 1));
    std::nth_element(ticks_.begin(), at, ticks_.end());
    return static_cast<double>(*at) * 1e9 / static_cast<double>(rte_get_tsc_hz()) / 2;
  }

 private:
  std::vector<std::uint64_t> ticks_;
};

struct Round {
  double hop_ns = 0, bare_ns = 0, bare_p99_ns = 0, write_ns = 0, write_p99_ns = 0;
  [[nodiscard]] bool near() const { return hop_ns < kNearBelowNs; }
  [[nodiscard]] double ratio() const { return write_ns / bare_ns; }
};

Round measure(Stage& s, Timer& timer, Writer& writer, std::uint8_t& number) {
  Round r;
  s.enter(Phase::probe);
  std::uint32_t probe = s.there.value.load(std::memory_order_relaxed);
  r.hop_ns = timer.median_half_ns([&] {
    s.there.value.store(++probe, std::memory_order_release);
    while (s.back.value.load(std::memory_order_acquire) != probe) {
    }
  });
  s.enter(Phase::bare);
  BareEnd bare(s.bare_a);
  r.bare_ns = timer.median_half_ns([&] {
    bare.send(number);
    while (!bare.came(number)) {
    }
    ++number;
  });
  r.bare_p99_ns = timer.half_ns(0.99);
  s.enter(Phase::write);
  r.write_ns = timer.median_half_ns([&] {
    writer.send(number);
    while (!writer.came(number)) {
    }
    ++number;
  });
  r.write_p99_ns = timer.half_ns(0.99);
  s.enter(Phase::idle);
  return r;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

nlohmann::json report(const std::vector<Round>& all, bool near) {
  std::vector<Round> rounds;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rounds), [&](const Round& r) { return r.near() == near; });
  if (rounds.empty()) return nullptr;
  const auto of = [&](double Round::*member) {
    std::vector<double> v;
    for (const Round& r : rounds) v.push_back(r.*member);
    return median(v);
  };
  std::vector<double> ratios;
  for (const Round& r : rounds) ratios.push_back(r.ratio());
  const double ratio = median(ratios);
  fmt::print("{:<6}{:>6}{:>10.0f}{:>10.0f}{:>10.0f}{:>10.0f}{:>10.0f}{:>9.2f}{:>9.2f}\n", near ? "near" : "far", rounds.size(),
             of(&Round::hop_ns), of(&Round::bare_ns), of(&Round::bare_p99_ns), of(&Round::write_ns), of(&Round::write_p99_ns), ratio,
             kMostTimesBare);
  return {{"name", "WRITE 64 B, half a round trip"}, {"placement", near ? "near" : "far"}, {"pairs", rounds.size()},
          {"hop_ns", of(&Round::hop_ns)}, {"bare_ns", of(&Round::bare_ns)}, {"bare_p99_ns", of(&Round::bare_p99_ns)},
          {"ns", of(&Round::write_ns)}, {"p99_ns", of(&Round::write_p99_ns)}, {"ratio", ratio}, {"most", kMostTimesBare}};
}

int failed(const std::string& why) {
  fmt::print(stderr, "uroce_round_trip: {}\n", why);
  return 1;
}

int run(const Options& o) {
  const std::vector<int> cores = platform::usable_cores();
  if (cores.size() < 2) return failed("two cores are needed, one for each end");
  auto pair = ConnectedPair::make({.name = "trip", .hugepages = o.hugepages, .bytes = 8192});
  if (!pair) return failed(pair.error().message);
  auto rings = RingPorts::make("bare");
  if (!rings) return failed(rings.error().message);
  auto a = platform::EthdevPort::open({.port = rings->port(0)});
  if (!a) return failed(a.error().message);
  auto b = platform::EthdevPort::open({.port = rings->port(1)});
  if (!b) return failed(b.error().message);

  Stage stage{*pair, **a, **b, {}, {}, {}};
  stage.enter(Phase::idle);
  Writer writer(pair->a, pair->b);
  pin(cores[0]);
  std::thread far(echo, std::ref(stage), cores[1]);
  Timer timer(o.iterations);
  std::uint8_t number = 1;
  measure(stage, timer, writer, number);  // warms up: caches, addresses, the branch predictor
  std::vector<Round> rounds;
  for (std::uint32_t i = 0; i < o.rounds; ++i) rounds.push_back(measure(stage, timer, writer, number));
  stage.enter(Phase::stop);
  far.join();

  fmt::print("Two threads over net_ring, {} pages; half round trips in ns, medians of {} in each of {} pairs.\n",
             o.hugepages ? "huge" : "ordinary", o.iterations, o.rounds);
  fmt::print("{:<6}{:>6}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}{:>9}\n", "cores", "pairs", "line hop", "bare", "p99", "WRITE", "p99",
             "ratio", "at most");
  nlohmann::json all = nlohmann::json::array();
  for (const bool near : {true, false}) {
    if (auto r = report(rounds, near); !r.is_null()) all.push_back(std::move(r));
  }
  if (!o.json.empty()) {
    std::ofstream file(o.json, std::ios::binary);
    file << all.dump(2) << '\n';
    file.close();
    if (file.fail()) return failed("cannot write '" + o.json + "'");
  }
  return 0;
}

}  // namespace
}  // namespace uroce::bench

int main(int argc, char** argv) {
  uroce::bench::Options o;
  CLI::App app("Half a round trip of a 64-byte WRITE between two threads, beside that of a bare frame.", "uroce_round_trip");
  uroce::tools::add_number(app, "--rounds", o.rounds, 1, 10'000, "pairs of measurements (default 15)");
  uroce::tools::add_number(app, "--iterations", o.iterations, 100, 10'000'000, "round trips a measurement (default 20000)");
  app.add_flag("--hugepages", o.hugepages, "use hugepages, which must be reserved");
  app.add_option("--json", o.json, "write the figures to a file")->type_name("FILE");
  CLI11_PARSE(app, argc, argv);
  return uroce::bench::run(o);
}
