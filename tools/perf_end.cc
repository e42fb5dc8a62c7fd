// SPDX-License-Identifier: BSD-3-Clause
#include "perf_end.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace uroce::tools {

std::string to_string(PerfOp op) {
  static constexpr const char* kNames[] = {"send", "write", "read", "fetch_add", "cmp_swap"};
  return kNames[static_cast<int>(op)];
}

Result<PerfOp> parse_op(const std::string& text) {
  for (int i = 0; i <= static_cast<int>(PerfOp::cmp_swap); ++i) {
    if (to_string(static_cast<PerfOp>(i)) == text) return static_cast<PerfOp>(i);
  }
  return fail(ErrorCode::invalid_argument, "operation '" + text + "': send, write, read, fetch_add or cmp_swap is wanted");
}

double PerfResult::percentile_us(double p) const {
  if (samples_ns.empty()) return 0;
  // Nearest rank.
  const auto rank = static_cast<std::size_t>(std::ceil(p / 100 * static_cast<double>(samples_ns.size())));
  return samples_ns[std::clamp<std::size_t>(rank, 1, samples_ns.size()) - 1] / 1000.0;
}

Json to_json(const PerfTest& t) {
  return {{"op", to_string(t.op)}, {"latency", t.latency}, {"size", t.size},       {"iterations", t.iterations},
          {"seconds", t.seconds},  {"depth", t.depth},     {"qps", t.qps},         {"mtu", t.mtu},
          {"window", t.window},    {"timeout", t.timeout}, {"verify", t.verify}};
}

Result<PerfTest> parse_test(const Json& j) {
  try {
    PerfTest t;
    const auto op = parse_op(j.at("op").get<std::string>());
    if (!op) return tl::unexpected(op.error());
    t.op = *op;
    t.latency = j.at("latency");
    t.size = j.at("size");
    t.iterations = j.at("iterations");
    t.seconds = j.at("seconds");
    t.depth = j.at("depth");
    t.qps = j.at("qps");
    t.mtu = j.at("mtu");
    t.window = j.at("window");
    t.timeout = j.at("timeout");
    t.verify = j.at("verify");
    if (t.size > (1u << 28) || t.depth < 1 || t.depth > 8192 || t.qps < 1 || t.qps > 4096) {
      return fail(ErrorCode::invalid_argument, "the client asks for a test out of range");
    }
    return t;
  } catch (const Json::exception& e) {
    return fail(ErrorCode::invalid_argument, std::string("the other side speaks something else than uroce perf: ") + e.what());
  }
}

Result<std::unique_ptr<PerfEnd>> PerfEnd::make(Device& device, const PerfTest& test) {
  std::unique_ptr<PerfEnd> end(new PerfEnd(test));
  end->slots_ = test.latency ? 1 : test.depth * test.qps;
  end->stride_ = (std::max(test.size, 8u) + 63) / 64 * 64;
  // Buffers are written to: what does not fit would end in the kernel killing somebody.
  const std::uint64_t bytes = std::uint64_t{end->stride_} * end->slots_ * 2;
  const std::uint64_t most = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 2;
  if (bytes > most) {
    return fail(ErrorCode::no_room,
                fmt::format("buffers for {} requests of {} B take {} MB, more than half of this machine's memory ({} MB); "
                            "take a smaller --size, --depth or --qps",
                            end->slots_, test.size, bytes >> 20, most >> 20));
  }
  end->memory_.assign(bytes, 0);
  end->pd_ = std::make_unique<Pd>(device.alloc_pd());
  using A = Access;
  auto region = end->pd_->register_memory(end->memory_.data(), end->memory_.size(),
                                          {A::local_write, A::remote_write, A::remote_read, A::remote_atomic});
  if (!region) return tl::unexpected(region.error());
  end->region_ = std::make_unique<MemoryRegion>(std::move(*region));
  const CqConfig cq{.capacity = std::bit_ceil(2 * test.depth * test.qps + 64)};
  auto send = device.create_cq(cq), recv = device.create_cq(cq);
  if (!send) return tl::unexpected(send.error());
  if (!recv) return tl::unexpected(recv.error());
  end->send_cq_ = std::make_unique<Cq>(std::move(*send));
  end->recv_cq_ = std::make_unique<Cq>(std::move(*recv));
  for (std::uint32_t i = 0; i < test.qps; ++i) {
    auto qp = end->pd_->create_qp({.send_cq = end->send_cq_.get(),
                                   .recv_cq = end->recv_cq_.get(),
                                   .send_depth = std::max(test.depth, 2u),
                                   .recv_depth = std::max(2 * test.depth, 4u),
                                   .max_sges = 1,
                                   .window_packets = test.window});
    if (!qp) return tl::unexpected(qp.error());
    end->qps_.push_back(std::move(*qp));
  }
  return end;
}

Json PerfEnd::describe(const Device& device) const {
  Json qps = Json::array();
  for (const QueuePair& qp : qps_) qps.push_back({{"qpn", qp.qpn()}, {"psn", qp.first_psn()}});
  return {{"gid", device.gids()[1].text()}, {"iova", region_->iova()}, {"key", region_->key()}, {"qps", qps}};
}

Result<void> PerfEnd::connect(const Json& peer) {
  try {
    const auto gid = Gid::parse(peer.at("gid").get<std::string>());
    if (!gid) return tl::unexpected(gid.error());
    peer_iova_ = peer.at("iova");
    peer_key_ = peer.at("key");
    if (peer.at("qps").size() != qps_.size()) return fail(ErrorCode::invalid_argument, "the ends disagree on the number of queue pairs");
    QpAttr a;
    a.access = {Access::remote_write, Access::remote_read, Access::remote_atomic};
    a.path_mtu = static_cast<PathMtu>(std::bit_width(test_.mtu / 256));
    a.timeout = static_cast<std::uint8_t>(test_.timeout);
    a.min_rnr_timer = 1;
    for (std::size_t i = 0; i < qps_.size(); ++i) {
      const Json& q = peer.at("qps")[i];
      if (auto r = qps_[i].connect({*gid, q.at("qpn"), q.at("psn")}, a); !r) return r;
    }
    return {};
  } catch (const Json::exception& e) {
    return fail(ErrorCode::invalid_argument, std::string("the other side speaks something else than uroce perf: ") + e.what());
  }
}

void PerfEnd::fill(std::uint8_t* slot, std::uint64_t sequence) const {
  for (std::uint32_t i = 0; i < test_.size; ++i) slot[i] = static_cast<std::uint8_t>(sequence * 31 + i + (i >> 8) * 7 + 1);
}

bool PerfEnd::holds(const std::uint8_t* slot, std::uint64_t sequence) const {
  for (std::uint32_t i = 0; i < test_.size; ++i) {
    if (slot[i] != static_cast<std::uint8_t>(sequence * 31 + i + (i >> 8) * 7 + 1)) return false;
  }
  return true;
}

SendWr PerfEnd::request(std::uint64_t n, Sge& sge) const {
  SendWr wr;
  wr.wr_id = n;
  wr.flags = SendFlag::signaled;
  sge = local_sge(n);
  if (sge.length != 0) wr.sges = std::span(&sge, 1);
  wr.rkey = peer_key_;
  wr.remote_address = peer_inbox(n);
  switch (test_.op) {
    case PerfOp::send: wr.opcode = WrOpcode::send; break;
    case PerfOp::write: wr.opcode = WrOpcode::rdma_write; break;
    case PerfOp::read: wr.opcode = WrOpcode::rdma_read; break;
    case PerfOp::fetch_add:
      wr.opcode = WrOpcode::fetch_add;
      wr.remote_address = peer_inbox(n % qps_.size());  // a counter a queue pair
      wr.compare_add = 1;
      break;
    case PerfOp::cmp_swap:
      wr.opcode = WrOpcode::cmp_swap;
      wr.remote_address = peer_inbox(n % qps_.size());
      wr.compare_add = n / qps_.size();
      wr.swap = n / qps_.size() + 1;
      break;
  }
  return wr;
}

Result<std::size_t> PerfEnd::poll(Cq& cq, std::span<Completion> out) {
  const std::size_t n = cq.poll(out);
  for (const Completion& w : out.first(n)) {
    if (w.status == WcStatus::success) continue;
    return fail(ErrorCode::system,
                fmt::format("request {} ended in {}: qp {:#x}, psn {}, syndrome {:#x}, {} retries used, last acknowledged {} us before",
                            w.wr_id, uroce::to_string(w.status), w.qpn, w.psn, w.syndrome, w.retries_used, w.last_ack_age_us));
  }
  return n;
}

}  // namespace uroce::tools
