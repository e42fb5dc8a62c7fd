// SPDX-License-Identifier: BSD-3-Clause
#include "goodput_run.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "sim_connect.h"
#include "sim/event_queue.h"
#include "sim/host.h"
#include "sim/network.h"
#include "transport/qp.h"
#include "wire/syndrome.h"

namespace uroce::bench {
namespace {

using transport::Counter;

// Ethernet, IPv4, UDP, BTH and ICRC; what the line adds is that of SimPort: preamble, FCS and gap.
constexpr std::uint64_t kHeaders = 14 + 20 + 8 + 12 + 4, kAeth = 4, kFraming = 24;
constexpr std::uint32_t kDepth = 8;  // messages posted: 8192 packets, so that the send queue never runs dry
constexpr std::uint64_t kSourceIova = 0x1000'0000, kTargetIova = 0x2000'0000;
constexpr memory::PdNumber kPd = 1;

// Rounded as SimPort does.
base::Duration line_time(std::uint64_t frame_bytes) {
  return base::Duration::nanos(static_cast<std::int64_t>((frame_bytes + kFraming) * 8 * 1'000'000'000 / kRateBps));
}

sim::LinkConfig link_of(const Rig& s, std::uint32_t drop_ppm) {
  sim::LinkConfig link;
  link.rate_bps = kRateBps;
  link.delay = s.delay;
  link.faults.drop_ppm = drop_ppm;
  return link;
}

// One end of the connection.
struct End {
  End(sim::Network& network, std::uint8_t number, const Rig& s, std::uint32_t drop_ppm, std::uint64_t seed)
      : host(network, {{0x02, 0, 0, 0, 0, number}}, link_of(s, drop_ppm), seed),
        address(wire::IpAddress::v4(10, 0, 0, number)),
        slots(2 * kDepth),
        qp(config(number, s)),
        bytes(kMessageBytes) {
    send_lane.init(slots.data(), 2 * kDepth, 2 * kDepth, 0);
    recv_lane.init(&unused, 1, 1, 1);
    host.worker().add(qp);
  }
  ~End() { host.worker().remove(qp); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  transport::QpConfig config(std::uint8_t number, const Rig& s) {
    transport::QpConfig c;
    c.qpn = 0x100u + number;
    c.pd = kPd;
    c.send_lane = &send_lane;
    c.recv_lane = &recv_lane;
    c.send_depth = kDepth;
    c.recv_depth = 1;
    c.max_sges = 1;
    c.window_packets = s.window;
    c.ack_every = s.ack_every;
    return c;
  }

  // The failure, or nothing.
  std::string connect(End& to, std::uint8_t timeout_code, std::uint32_t sq_psn, std::uint32_t rq_psn) {
    transport::QpAttributes a;
    a.sq_psn = sq_psn;
    a.rq_psn = rq_psn;
    a.timeout = timeout_code;
    return bench::connect(host, qp, {host.port().mac(), address}, {to.host.port().mac(), to.address}, to.qp.qpn(), a);
  }

  sim::Host host;
  wire::IpAddress address;
  std::vector<transport::LaneEntry> slots;
  transport::LaneEntry unused;  // WRITEs complete nothing on this side
  transport::CompletionLane send_lane, recv_lane;
  transport::Qp qp;
  std::vector<std::uint8_t> bytes;
};

// A stream of WRITEs from one end to the other. Each writes the same bytes to the same place.
class Stream {
 public:
  Stream(const Rig& s, std::uint32_t drop_ppm, std::uint8_t timeout_code, std::uint64_t seed)
      : network_(events_),
        rng_(seed),
        from_(network_, 1, s, drop_ppm, rng_.next()),
        to_(network_, 2, s, 0, rng_.next()) {
    for (auto& b : from_.bytes) b = static_cast<std::uint8_t>(rng_.next());
    lkey_ = from_.host.memory()
                .register_region({from_.bytes.data(), kMessageBytes, kSourceIova, Access::local_write, kPd})
                .value();
    rkey_ = to_.host.memory()
                .register_region({to_.bytes.data(), kMessageBytes, kTargetIova,
                                  {Access::local_write, Access::remote_write}, kPd})
                .value();
    const std::uint32_t psn = rng_.below(1u << 24), back = rng_.below(1u << 24);
    fail(from_.connect(to_, timeout_code, psn, back));
    fail(to_.connect(from_, timeout_code, back, psn));
    last_una_ = from_.qp.requester().una();
    from_.host.application = [this] { return application(); };
    events_.at({}, [this] { from_.host.run(); });
  }

  // Until that many request packets were sent, from the start.
  void run_until(std::uint64_t packets) {
    while (failure_.empty() && from_.host.port().sent() < packets) {
      if (!events_.step()) fail("nothing left to happen");
    }
  }
  [[nodiscard]] Measurement so_far() {
    const auto& counters = from_.host.worker().counters();
    Measurement m;
    m.failure = failure_;
    m.sent = from_.host.port().sent();
    m.lost = from_.host.port().lost();
    m.retransmitted = counters[Counter::tx_retransmitted];
    m.delivered = delivered_;
    m.naks = counters[Counter::rx_sequence_naks];
    m.timeouts = counters[Counter::ack_timeouts];
    m.elapsed_ns = events_.now().ns;
    return m;
  }
  void check_bytes() {
    if (messages_ != 0 && from_.bytes != to_.bytes) fail("the receiver's memory differs from the sender's");
  }

 private:
  void fail(const std::string& why) {
    if (failure_.empty()) failure_ = why;
  }

  bool application() {
    const transport::Psn una = from_.qp.requester().una();
    delivered_ += transport::count_between(last_una_, una);
    last_una_ = una;
    bool any = false;
    for (transport::LaneEntry e; from_.send_lane.pop(e); any = true) {
      const WcStatus status = e.completion.status;
      if (status != WcStatus::success) fail(std::string("a WRITE ended in ") + to_string(status));
      ++messages_;
    }
    while (failure_.empty() && from_.qp.sq().ring().has_room()) {
      const Sge piece{kSourceIova, kMessageBytes, lkey_};
      SendWr wr;
      wr.opcode = WrOpcode::rdma_write;
      wr.flags = SendFlag::signaled;
      wr.sges = {&piece, 1};
      wr.remote_address = kTargetIova;
      wr.rkey = rkey_;
      if (from_.qp.sq().post(wr) != transport::PostError::none) return fail("a post was refused"), any;
      from_.host.worker().ring_doorbell(from_.qp);
      any = true;
    }
    return any;
  }

  sim::EventQueue events_;
  sim::Network network_;
  base::Rng rng_;
  End from_, to_;
  std::uint32_t lkey_ = 0, rkey_ = 0;
  transport::Psn last_una_;
  std::uint64_t delivered_ = 0, messages_ = 0;
  std::string failure_;
};

}  // namespace

Rig Rig::make(std::uint32_t window, std::uint32_t ack_every) {
  Rig s;
  s.window = window;
  s.ack_every = ack_every;
  s.slot = line_time(kHeaders + kMtu);
  s.ack_time = line_time(kHeaders + kAeth);
  const std::int64_t both_ways = (s.slot * (window - ack_every) - s.ack_time).ns;
  s.delay = base::Duration::nanos(both_ways / 2);
  s.round_trip = s.slot + s.delay * 2 + s.ack_time;
  for (s.timeout_code = 1; wire::ack_timeout(s.timeout_code) <= s.round_trip; ++s.timeout_code) {
  }
  s.timeout = wire::ack_timeout(s.timeout_code);
  return s;
}

double full_line_share() { return static_cast<double>(kMtu) / static_cast<double>(kHeaders + kMtu + kFraming); }

double bound(double p, std::uint32_t window) { return (1 - p) / (1 + p * window); }

double expected(double p, const Rig& s, base::Duration timeout) {
  const double nak_slots = static_cast<double>((s.slot + s.round_trip).ns) / static_cast<double>(s.slot.ns);
  const double timeout_slots = static_cast<double>(timeout.ns) / static_cast<double>(s.slot.ns);
  return 1 / (1 + p * nak_slots + p * p / (1 - p) * timeout_slots);
}

void Measurement::add(const Measurement& o) {
  if (failure.empty()) failure = o.failure;
  sent += o.sent;
  lost += o.lost;
  retransmitted += o.retransmitted;
  delivered += o.delivered;
  naks += o.naks;
  timeouts += o.timeouts;
  elapsed_ns += o.elapsed_ns;
}

double Measurement::line_share(const Rig& s) const {
  if (elapsed_ns == 0) return 0;
  return full_line_share() * static_cast<double>(delivered) * static_cast<double>(s.slot.ns) /
         static_cast<double>(elapsed_ns);
}

Measurement measure(const Rig& s, std::uint32_t drop_ppm, std::uint8_t timeout_code, std::uint64_t packets,
                    std::uint64_t seed) {
  Stream stream(s, drop_ppm, timeout_code, seed);
  const std::uint64_t start = std::uint64_t{4} * s.window;  // until ACKs come back as fast as packets leave
  stream.run_until(start);
  const Measurement before = stream.so_far();
  stream.run_until(start + packets);
  stream.check_bytes();
  Measurement m = stream.so_far();
  m.sent -= before.sent;
  m.lost -= before.lost;
  m.retransmitted -= before.retransmitted;
  m.delivered -= before.delivered;
  m.naks -= before.naks;
  m.timeouts -= before.timeouts;
  m.elapsed_ns -= before.elapsed_ns;
  return m;
}

Estimate estimate(const Rig& s, std::uint32_t drop_ppm, std::uint8_t timeout_code, std::uint64_t packets,
                  std::uint64_t seed, unsigned seeds) {
  Estimate e;
  std::vector<Measurement> runs;
  base::Rng rng(seed);
  for (unsigned i = 0; i < seeds; ++i) {
    runs.push_back(measure(s, drop_ppm, timeout_code, packets / seeds, rng.next()));
    e.total.add(runs.back());
  }
  e.line_share = e.total.line_share(s);
  // A ratio of sums: its error follows from how the residuals, delivered - ratio * time, scatter over the runs.
  const auto elapsed = static_cast<double>(std::max<std::int64_t>(e.total.elapsed_ns, 1));
  const double rate = static_cast<double>(e.total.delivered) / elapsed;
  double squares = 0;
  for (const Measurement& m : runs) {
    const double residual = static_cast<double>(m.delivered) - rate * static_cast<double>(m.elapsed_ns);
    squares += residual * residual;
  }
  if (e.total.delivered != 0) {
    e.standard_error = std::sqrt(squares * seeds / (seeds - 1)) / static_cast<double>(e.total.delivered);
  }
  return e;
}

}  // namespace uroce::bench
