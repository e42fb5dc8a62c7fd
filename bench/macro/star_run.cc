// SPDX-License-Identifier: BSD-3-Clause
#include "star_run.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "congestion/controller.h"
#include "sim/event_queue.h"
#include "sim/host.h"
#include "sim/network.h"
#include "sim_connect.h"
#include "transport/qp.h"

namespace uroce::bench {
namespace {

using transport::Counter;

constexpr std::uint32_t kDepth = 8192;  // WRITEs posted and packets in flight: never what holds a flow back
constexpr std::uint64_t kSourceIova = 0x1000'0000, kTargetIova = 0x2000'0000;
constexpr memory::PdNumber kPd = 1;

// `hops`: links up to the next queue, or the other end.
sim::LinkConfig link_of(const StarConfig& c, int hops) {
  sim::LinkConfig link;
  link.rate_bps = c.rate_bps;
  link.delay = c.delay * hops;
  link.tx_queue_frames = 2;  // what a controller says takes effect at once
  return link;
}

SimAddress address(std::uint32_t host) {
  const auto n = static_cast<std::uint8_t>(host);
  return {{{0x02, 0, 0, 0, 0, n}}, wire::IpAddress::v4(10, 0, 0, n)};
}

// A queue pair with lanes of its own.
struct FlowEnd {
  FlowEnd(sim::Host& h, std::uint32_t qpn, bool sends, const congestion::Profile& profile)
      : host(h), slots(sends ? 2 * kDepth : 1), qp(config(qpn, sends, profile)) {
    send_lane.init(slots.data(), static_cast<std::uint32_t>(slots.size()), static_cast<std::uint32_t>(slots.size()), 0);
    recv_lane.init(&unused, 1, 1, 1);
    host.worker().add(qp);
  }
  ~FlowEnd() { host.worker().remove(qp); }
  FlowEnd(const FlowEnd&) = delete;
  FlowEnd& operator=(const FlowEnd&) = delete;

  transport::QpConfig config(std::uint32_t qpn, bool sends, const congestion::Profile& profile) {
    transport::QpConfig c;
    c.qpn = qpn;
    c.pd = kPd;
    c.send_lane = &send_lane;
    c.recv_lane = &recv_lane;
    c.send_depth = sends ? kDepth : 1;
    c.recv_depth = 1;
    c.max_sges = 1;
    c.max_inline = 0;
    c.window_packets = kDepth;
    c.congestion = &profile;
    return c;
  }

  sim::Host& host;
  std::vector<transport::LaneEntry> slots;
  transport::LaneEntry unused;
  transport::CompletionLane send_lane, recv_lane;
  transport::Qp qp;
};

class Star {
 public:
  Star(const StarConfig& c, const congestion::Profile& profile)
      : config_(c), profile_(profile), rng_(c.seed), receiver_(network_, address(1).mac, link_of(c, 2), rng_.next()) {
    memory_.resize(1024);
    target_.resize(1024);
    rkey_ = receiver_.memory()
                .register_region({target_.data(), target_.size(), kTargetIova, {Access::local_write, Access::remote_write}, kPd})
                .value();
    sim::QueueConfig queue;
    queue.rate_bps = c.rate_bps;
    queue.delay = c.delay;
    queue.kmin_bytes = c.kmin_bytes;
    queue.kmax_bytes = c.kmax_bytes;
    queue.pmax_ppm = c.pmax_ppm;
    queue.linear_extended = c.linear_extended;
    queue_ = &network_.queue_towards(address(1).mac, queue, rng_.next());
    queue_->histogram.watch(base::Instant{} + c.watch_from, base::Instant{} + c.watch_to);
    const std::uint64_t bytes = c.rate_bps / 8 * static_cast<std::uint64_t>(c.length.ns) / 1'000'000'000 / c.senders;
    messages_ = std::max<std::uint64_t>(bytes / c.message_bytes, 1);
    for (std::uint32_t i = 0; i < c.senders; ++i) add_flow(i);
  }

  StarResult run() {
    while (failure_.empty() && finished_ != flows_.size()) {
      if (!events_.step()) failure_ = "nothing left to happen";
    }
    StarResult r;
    r.failure = failure_;
    const double payload = static_cast<double>(messages_ * config_.message_bytes);
    double sum = 0, squares = 0;
    std::int64_t slowest = 1;
    for (const auto& f : flows_) {
      const auto ns = static_cast<double>(std::max<std::int64_t>(f->finished.ns, 1));
      sum += payload / ns;
      squares += payload / ns * (payload / ns);
      slowest = std::max(slowest, f->finished.ns);
      r.retransmitted += f->host.worker().counters()[Counter::tx_retransmitted];
    }
    const auto n = static_cast<double>(flows_.size());
    r.goodput_gbps = payload * n * 8 / static_cast<double>(slowest);
    r.jain = sum * sum / (n * squares);
    const sim::QueueHistogram& h = queue_->histogram;
    const auto kb = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1000; };
    r.queue_mean_kb = h.mean() / 1000;
    r.queue_sd_kb = h.standard_deviation() / 1000;
    r.queue_p50_kb = kb(h.percentile(50));
    r.queue_p90_kb = kb(h.percentile(90));
    r.queue_p99_kb = kb(h.percentile(99));
    r.queue_max_kb = kb(h.most());
    r.packets = queue_->forwarded();
    r.marked = queue_->marked();
    r.cnps = receiver_.worker().counters()[Counter::np_cnp_sent];
    r.events = events_.executed();
    return r;
  }

 private:
  struct Sender {
    Sender(Star& s, std::uint32_t number)
        : host(s.network_, address(number + 2).mac, link_of(s.config_, 1), s.rng_.next()),
          end(host, 0x1000 + number, true, s.profile_),
          peer(s.receiver_, 0x2000 + number, false, s.profile_) {
      lkey = host.memory().register_region({s.memory_.data(), s.memory_.size(), kSourceIova, {}, kPd}).value();
    }
    sim::Host host;
    FlowEnd end, peer;
    std::uint32_t lkey = 0;
    std::uint64_t posted = 0;
    base::Instant finished{};
  };

  void add_flow(std::uint32_t number) {
    flows_.push_back(std::make_unique<Sender>(*this, number));
    Sender& f = *flows_.back();
    transport::QpAttributes a;
    a.sq_psn = rng_.below(1u << 24);
    a.rq_psn = rng_.below(1u << 24);
    a.timeout = 17;  // half a second: nothing is lost here
    fail(connect(f.host, f.end.qp, address(number + 2), address(1), f.peer.qp.qpn(), a));
    std::swap(a.sq_psn, a.rq_psn);
    fail(connect(receiver_, f.peer.qp, address(1), address(number + 2), f.end.qp.qpn(), a));
    f.host.application = [this, &f] { return application(f); };
    events_.at({}, [&f] { f.host.run(); });
  }

  bool application(Sender& f) {
    bool any = false;
    for (transport::LaneEntry e; f.end.send_lane.pop(e); any = true) {
      if (e.completion.status != WcStatus::success) fail(std::string("a WRITE ended in ") + to_string(e.completion.status));
      if (e.completion.wr_id != messages_) continue;
      f.finished = events_.now();
      ++finished_;
    }
    const Sge piece{kSourceIova, config_.message_bytes, f.lkey};
    SendWr wr;
    wr.opcode = WrOpcode::rdma_write;
    wr.sges = {&piece, 1};
    wr.remote_address = kTargetIova;
    wr.rkey = rkey_;
    while (f.posted != messages_ && f.end.qp.sq().ring().has_room()) {
      wr.wr_id = ++f.posted;
      wr.flags = f.posted == messages_ ? SendFlags{SendFlag::signaled} : SendFlags{};
      if (f.end.qp.sq().post(wr) != transport::PostError::none) return fail("a post was refused"), any;
      any = true;
    }
    if (any) f.host.worker().ring_doorbell(f.end.qp);
    return any;
  }

  void fail(const std::string& why) {
    if (failure_.empty()) failure_ = why;
  }

  const StarConfig& config_;
  const congestion::Profile& profile_;
  base::Rng rng_;
  sim::EventQueue events_;
  sim::Network network_{events_};
  std::vector<std::uint8_t> memory_, target_;
  std::uint32_t rkey_ = 0;
  sim::Host receiver_;
  sim::EgressQueue* queue_ = nullptr;
  std::uint64_t messages_ = 0;
  std::vector<std::unique_ptr<Sender>> flows_;
  std::size_t finished_ = 0;
  std::string failure_;
};

}  // namespace

StarResult run_star(const StarConfig& config) {
  const auto profile = congestion::make_profile(config.congestion, config.rate_bps);
  StarResult refused;
  if (!profile) return refused.failure = profile.error().message, refused;
  if (config.senders < 1 || config.senders > 200 || config.message_bytes < 1 || config.message_bytes > 1024) {
    return refused.failure = "senders must be 1 .. 200, a message 1 .. 1024 bytes", refused;
  }
  return Star(config, *profile).run();
}

}  // namespace uroce::bench
