// SPDX-License-Identifier: BSD-3-Clause
#include "replay_plan.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/assert.h"
#include "capture_file.h"
#include "frame_verdict.h"
#include "wire/syndrome.h"

namespace uroce::tools {
namespace {

using wire::Ext;
using wire::Op;

// Source, destination, destination QPN: all that a packet says of its connection.
using Direction = std::tuple<wire::IpAddress, wire::IpAddress, std::uint32_t>;

struct Halves {
  std::vector<Flow> flows;
  std::map<Direction, std::size_t> request_flow;
  std::map<Direction, std::vector<ReplayFrame>> answers;
};

void sort_frame(Halves& h, const CapturedFrame& f, const wire::RocePacket& p) {
  if (p.info().service != wire::Service::rc) return;
  const Direction d{p.datagram().source(), p.datagram().destination(), p.dest_qp()};
  ReplayFrame frame{f.number, {f.bytes.begin(), f.bytes.end()}};
  if (!p.info().request) {
    h.answers[d].push_back(std::move(frame));
    return;
  }
  const auto [it, is_new] = h.request_flow.try_emplace(d, h.flows.size());
  if (is_new) {
    Flow flow;
    std::tie(flow.requester, flow.responder, flow.responder_qpn) = d;
    h.flows.push_back(std::move(flow));
  }
  h.flows[it->second].requests.push_back(std::move(frame));
}

std::uint32_t round_up_to_mtu(std::size_t payload) {
  std::uint32_t mtu = 256;
  while (mtu < payload && mtu < 4096) mtu *= 2;
  return mtu;
}

// FIRST and MIDDLE packets are full; else the longest packet gives a lower bound, and 1024 is the usual size.
void infer_mtu(Flow& flow) {
  std::uint32_t full = 0, longest = 0;
  for (const auto* list : {&flow.requests, &flow.answers}) {
    for (const ReplayFrame& f : *list) {
      const auto p = f.packet();
      const auto n = static_cast<std::uint32_t>(p.payload().size());
      if (p.info().payload == wire::PayloadRule::full) full = std::max(full, n);
      longest = std::max(longest, n);
    }
  }
  flow.path_mtu = full != 0 ? full : std::max(1024u, round_up_to_mtu(longest));
}

std::uint32_t span_of(const wire::RocePacket& p, std::uint32_t mtu) {
  const auto* reth = p.ext<Ext::reth>();
  if (p.info().op != Op::read_request || reth->dma_length.get() == 0) return 1;
  return (reth->dma_length.get() - 1) / mtu + 1;
}

// Of the answers that go back between the same hosts, those whose PSNs these requests used.
void pair_answers(Flow& flow, std::map<Direction, std::vector<ReplayFrame>>& answers) {
  std::set<std::uint32_t> psns;
  for (const ReplayFrame& f : flow.requests) {
    const auto p = f.packet();
    // 1024 until the MTU is known: enough to tell connections apart.
    for (std::uint32_t i = 0; i < span_of(p, 1024); ++i) psns.insert((p.psn() + i) & 0xffffff);
  }
  std::size_t best = 0;
  auto chosen = answers.end();
  for (auto it = answers.begin(); it != answers.end(); ++it) {
    if (std::get<0>(it->first) != flow.responder || std::get<1>(it->first) != flow.requester) continue;
    const auto overlap = static_cast<std::size_t>(std::count_if(
        it->second.begin(), it->second.end(), [&](const ReplayFrame& f) { return psns.contains(f.packet().psn()); }));
    if (overlap > best) {
      best = overlap;
      chosen = it;
    }
  }
  if (chosen == answers.end()) return;
  flow.requester_qpn = std::get<2>(chosen->first);
  flow.answers = std::move(chosen->second);
  answers.erase(chosen);
}

void learn_from_answers(Flow& flow) {
  std::set<std::uint32_t> refused;  // PSNs
  std::map<std::uint32_t, std::uint64_t> originals;
  for (const ReplayFrame& f : flow.answers) {
    const auto p = f.packet();
    if (const auto* atomic = p.ext<Ext::atomic_ack_eth>()) originals.try_emplace(p.psn(), atomic->original.get());
    const auto* aeth = p.ext<Ext::aeth>();
    if (aeth == nullptr || p.info().op != Op::ack) continue;
    if (aeth->syndrome == static_cast<std::uint8_t>(wire::Nak::remote_access)) refused.insert(p.psn());
    if (wire::ack_kind(aeth->syndrome) == wire::AckKind::rnr_nak) {
      ++flow.rnr_naks[p.psn()];
      flow.rnr_timer = wire::ack_value(aeth->syndrome);
    }
  }
  for (const ReplayFrame& f : flow.requests) {
    const auto p = f.packet();
    if (refused.contains(p.psn())) continue;
    const auto hull = [&](std::uint32_t key, std::uint64_t va, std::uint64_t length) {
      if (length == 0) return;
      KeyHull& k = flow.keys[key];
      k.begin = std::min(k.begin, va);
      k.end = std::max(k.end, va + length);
    };
    if (const auto* reth = p.ext<Ext::reth>()) hull(reth->rkey.get(), reth->va.get(), reth->dma_length.get());
    if (const auto* ieth = p.ext<Ext::ieth>()) flow.keys[ieth->rkey.get()].invalidated = true;
    if (const auto* atomic = p.ext<Ext::atomic_eth>()) {
      hull(atomic->rkey.get(), atomic->va.get(), 8);
      const auto known = originals.find(p.psn());
      if (known != originals.end() && flow.atomic_seed.try_emplace(atomic->va.get(), known->second).second) {
        flow.atomic_seeded_by[p.psn()] = known->second;
      }
    }
  }
}

void measure_messages(Flow& flow) {
  std::uint32_t length = 0;
  for (const ReplayFrame& f : flow.requests) {
    const auto p = f.packet();
    if (p.info().starts()) length = 0;
    length += static_cast<std::uint32_t>(p.payload().size());
    if (const auto* reth = p.ext<Ext::reth>()) flow.longest_message = std::max(flow.longest_message, reth->dma_length.get());
    flow.longest_message = std::max(flow.longest_message, length);
  }
}

}  // namespace

wire::RocePacket ReplayFrame::packet() const {
  wire::Drop why{};
  const auto p = wire::parse_frame(bytes, why);
  UROCE_ASSERT(p.has_value());
  return *p;
}

Result<std::vector<Flow>> read_flows(const std::string& path) {
  auto file = CaptureFile::open(path);
  if (!file) return tl::unexpected(file.error());
  Halves h;
  for (;;) {
    auto frame = file->next();
    if (!frame) return tl::unexpected(frame.error());
    if (!*frame) break;
    // A frame with a wrong ICRC belongs to the traffic too: the responder must drop it as Linux did.
    const Verdict v = judge(**frame);
    if (v.packet && (v.judgement == Judgement::good || v.judgement == Judgement::bad)) {
      const bool answer_broken = v.judgement == Judgement::bad && !v.packet->info().request;
      if (!answer_broken) sort_frame(h, **frame, *v.packet);
    }
  }
  for (Flow& flow : h.flows) {
    pair_answers(flow, h.answers);
    infer_mtu(flow);
    learn_from_answers(flow);
    measure_messages(flow);
  }
  if (h.flows.empty()) return fail(ErrorCode::not_found, path + ": holds no RC request");
  return std::move(h.flows);
}

}  // namespace uroce::tools
