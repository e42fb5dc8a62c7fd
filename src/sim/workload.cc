// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "congestion/controller.h"
#include "sim/host.h"
#include "sim/peer.h"
#include "transport/qp.h"

namespace uroce::sim {

Scenario Scenario::draw(std::uint64_t seed) {
  base::Rng r(seed * 0x9e3779b97f4a7c15ull + 1);
  Scenario s;
  s.seed = seed;
  const bool crowd = seed % 50 == 0;  // 64 queue pairs now and then
  s.pairs = crowd ? 64 : 1 + r.below(4);
  s.hosts = 2 + r.below(3);
  s.operations = crowd ? 12 : 20 + r.below(100);
  s.depth = 1u << r.below(6);
  s.path_mtu_code = 1 + r.below(5);
  const std::uint32_t mtu = 128u << s.path_mtu_code;
  s.max_message = crowd ? 4096 : mtu * (1 + r.below(12)) + r.below(64);
  if (!crowd && r.below(8) == 0) s.max_message = 65536 + r.below(65536);
  s.window_packets = 2 + r.below(r.below(2) == 0 ? 16 : 256);
  s.max_rd_atomic = 1 + r.below(r.below(4) == 0 ? 128 : 8);
  s.timeout_code = 8 + r.below(4);
  s.first_psn = r.below(2) == 0 ? 0xffffff - r.below(200) : r.below(1u << 24);  // the wrap, half of the time
  s.rate_bps = std::uint64_t{1'000'000'000} * (1 + r.below(100));
  s.delay_ns = 200 + r.below(20'000);
  const auto maybe = [&](std::uint32_t one_in, std::uint32_t most) { return r.below(one_in) == 0 ? r.below(most) + 1 : 0; };
  s.faults.drop_ppm = r.below(2) == 0 ? maybe(1, 50'000) : 0;
  if (seed % 10 == 0) s.faults.drop_ppm = 50'000;
  s.faults.burst_ppm = maybe(4, 3'000);
  s.faults.burst_length = 2 + r.below(3);
  s.faults.duplicate_ppm = maybe(3, 50'000);
  s.faults.reorder_ppm = maybe(3, 50'000);
  s.faults.reorder_depth = r.below(4) == 0 ? 64 : 1 + r.below(8);
  s.faults.corrupt_ppm = maybe(4, 10'000);
  s.faults.truncate_ppm = maybe(5, 5'000);
  s.partition = r.below(8) == 0;
  s.slow_receiver = r.below(3) == 0;
  s.credits = r.below(6) == 0;
  s.ipv6 = r.below(3) == 0;
  if (!crowd && r.below(4) == 0) {
    // A shared queue holds what all windows let out: it must drain well within an ack timeout.
    s.rate_bps += 9'000'000'000;
    s.window_packets = std::min(s.window_packets, 32u);
    s.timeout_code = 11;
    // Responses come at the responder's rate: its least must be worth a timeout, too.
    s.congestion = r.below(3) == 0 ? "fixed_rate,rate=" + std::to_string(1000 + r.below(20'000))
                                   : "dcqcn:" + std::string(r.below(2) == 0 ? "paper" : "ns3-hpcc") + ",rp_min_rate=500";
  }
  return s;
}

std::string Scenario::describe() const {
  const auto n = [](std::uint64_t v) { return std::to_string(v); };
  return "seed=" + n(seed) + " hosts=" + n(hosts) + " pairs=" + n(pairs) + " operations=" + n(operations) +
         " depth=" + n(depth) + " max_message=" + n(max_message) + " mtu=" + n(128u << path_mtu_code) +
         " window=" + n(window_packets) + " rd_atomic=" + n(max_rd_atomic) + " timeout=" + n(timeout_code) +
         " psn=" + n(first_psn) + " drop=" + n(faults.drop_ppm) + "ppm burst=" + n(faults.burst_ppm) + "ppm*" +
         n(faults.burst_length) + " dup=" + n(faults.duplicate_ppm) + "ppm reorder=" + n(faults.reorder_ppm) + "ppm/" +
         n(faults.reorder_depth) + " corrupt=" + n(faults.corrupt_ppm) + "ppm truncate=" + n(faults.truncate_ppm) +
         "ppm" + (partition ? " partition" : "") + (slow_receiver ? " slow_receiver" : "") + (credits ? " credits" : "") +
         (ipv6 ? " ipv6" : "") + " congestion=" + congestion;
}

Outcome run(const Scenario& s) {
  EventQueue events;
  Network network(events);
  base::Rng rng(s.seed);
  LinkConfig link;
  link.rate_bps = s.rate_bps;
  link.delay = base::Duration::nanos(s.delay_ns);
  link.faults = s.faults;

  const auto profile = congestion::make_profile(s.congestion, s.rate_bps);
  if (!profile) return {.failure = profile.error().message};

  std::vector<std::unique_ptr<Host>> hosts;
  for (std::uint32_t i = 0; i < s.hosts; ++i) {
    const wire::MacAddress mac{{0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(i + 1)}};
    hosts.push_back(std::make_unique<Host>(network, mac, link, rng.next()));
    if (profile->algorithm == nullptr) continue;
    QueueConfig queue{.rate_bps = s.rate_bps, .delay = link.delay, .kmin_bytes = 5'000, .kmax_bytes = 50'000, .pmax_ppm = 100'000};
    network.queue_towards(mac, queue, rng.next());
  }
  Outcome out;
  std::vector<std::unique_ptr<Peer>> peers;
  for (std::uint32_t i = 0; i < s.pairs; ++i) {
    const std::uint32_t a = i % s.hosts, b = (i + 1 + i / s.hosts % (s.hosts - 1)) % s.hosts;
    peers.push_back(std::make_unique<Peer>(*hosts[a], a, 2 * i, s, *profile, rng.next(), out.failure));
    peers.push_back(std::make_unique<Peer>(*hosts[b], b, 2 * i + 1, s, *profile, rng.next(), out.failure));
    Peer::connect(*peers[2 * i], *peers[2 * i + 1]);
  }
  for (auto& host : hosts) {
    host->application = [&peers, h = host.get()] {
      bool any = false;
      for (auto& p : peers) any |= &p->host() == h && p->turn();
      return any;
    };
  }
  if (s.partition) {
    // Two of the eight timeouts that a request may have: the rest is for the other faults.
    const base::Instant from = base::Instant{} + base::Duration::micros(20 + rng.below(200));
    const base::Duration length = base::Duration::nanos(std::int64_t{4096} << s.timeout_code) * 2;
    SimPort& cut = hosts[0]->port();
    events.at(from, [&cut] { cut.set_partitioned(true); });
    events.at(from + length, [&cut] { cut.set_partitioned(false); });
  }
  events.at({}, [&] {
    for (auto& h : hosts) h->run();
  });

  constexpr base::Instant kLimit{20'000'000'000};  // virtual
  const auto done = [&] { return std::all_of(peers.begin(), peers.end(), [](auto& p) { return p->done(); }); };
  while (out.failure.empty() && !done()) {
    if (!events.step()) {
      out.failure = "nothing left to happen, but not all work is done";
    } else if (events.now() > kLimit) {
      out.failure = "no end in 20 s of virtual time";
    }
    if (!out.failure.empty()) {
      for (auto& p : peers) {
        if (!p->done()) out.failure += "\n  " + p->describe();
      }
    }
  }
  // Whatever is still on its way must not complete or change anything again.
  for (int i = 0; i < 20'000 && out.failure.empty() && events.step(); ++i) {
  }
  for (auto& p : peers) {
    if (out.failure.empty()) p->check_memory();
  }
  out.trace_hash = network.trace_hash();
  out.virtual_ns = events.now().ns;
  for (auto& h : hosts) {
    out.frames += h->port().sent();
    for (std::size_t i = 0; i < transport::kCounterCount; ++i) {
      const auto c = static_cast<transport::Counter>(i);
      out.counters.add(c, h->worker().counters()[c]);
    }
  }
  for (auto& p : peers) p->detach();
  return out;
}

}  // namespace uroce::sim
