// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "print_text.h"
#include "replay_compare.h"
#include "replay_device.h"
#include "transport/psn.h"
#include "wire/syndrome.h"

namespace uroce::tools {
namespace {

using transport::Psn;
using wire::Ext;
using wire::Op;

// A work request as the capture shows it, and how it ended there.
struct RebuiltRequest {
  SendWr wr;
  std::uint32_t first_psn = 0, psn_count = 0;
  std::uint64_t length = 0;
  WcStatus status = WcStatus::success;
};

std::uint32_t read_span(const wire::RocePacket& p, std::uint32_t mtu) {
  const std::uint32_t length = p.ext<Ext::reth>()->dma_length.get();
  return length == 0 ? 1 : (length - 1) / mtu + 1;
}

// Each PSN's first transmission, in PSN order from the first request's.
std::vector<const ReplayFrame*> first_transmissions(const Flow& flow) {
  const Psn start{flow.requests.front().packet().psn()};
  std::map<std::uint32_t, const ReplayFrame*> by_offset;
  std::set<std::uint32_t> covered;  // by a READ that was asked for before
  for (const ReplayFrame& f : flow.requests) {
    const auto p = f.packet();
    const std::uint32_t offset = transport::count_between(start, Psn(p.psn()));
    if (offset >= 1u << 23 || covered.contains(offset)) continue;
    by_offset.try_emplace(offset, &f);
    if (p.info().op == Op::read_request) {
      for (std::uint32_t i = 0; i < read_span(p, flow.path_mtu); ++i) covered.insert(offset + i);
    }
  }
  std::vector<const ReplayFrame*> out;
  for (const auto& [offset, f] : by_offset) out.push_back(f);
  return out;
}

void set_opcode(SendWr& wr, const wire::RocePacket& p) {
  const bool imm = p.ext<Ext::imm_dt>() != nullptr;
  switch (p.info().op) {
    case Op::write: wr.opcode = imm ? WrOpcode::rdma_write_with_imm : WrOpcode::rdma_write; break;
    case Op::read_request: wr.opcode = WrOpcode::rdma_read; break;
    case Op::cmp_swap: wr.opcode = WrOpcode::cmp_swap; break;
    case Op::fetch_add: wr.opcode = WrOpcode::fetch_add; break;
    default: wr.opcode = p.ext<Ext::ieth>() != nullptr ? WrOpcode::send_with_inv : imm ? WrOpcode::send_with_imm : WrOpcode::send;
  }
  if (imm) wr.immediate = p.ext<Ext::imm_dt>()->data;
  if (const auto* ieth = p.ext<Ext::ieth>()) wr.invalidate_rkey = ieth->rkey.get();
  if (p.bth().solicited()) wr.flags |= SendFlag::solicited;
}

Result<std::vector<RebuiltRequest>> rebuild(const Flow& flow, const std::vector<const ReplayFrame*>& firsts) {
  std::vector<RebuiltRequest> out;
  bool open = false;
  for (const ReplayFrame* f : firsts) {
    const auto p = f->packet();
    if (p.info().starts() == open) {
      return fail(ErrorCode::unsupported, fmt::format("frame {}: a message whose other packets the capture lacks", f->number));
    }
    if (!open) {
      RebuiltRequest r;
      r.wr.flags = SendFlag::signaled;
      r.first_psn = p.psn();
      if (const auto* reth = p.ext<Ext::reth>()) {
        r.wr.remote_address = reth->va.get();
        r.wr.rkey = reth->rkey.get();
        if (p.info().op == Op::read_request) r.length = reth->dma_length.get();
      }
      if (const auto* atomic = p.ext<Ext::atomic_eth>()) {
        r.wr.remote_address = atomic->va.get();
        r.wr.rkey = atomic->rkey.get();
        const bool swap = p.info().op == Op::cmp_swap;
        r.wr.compare_add = swap ? atomic->compare.get() : atomic->swap_or_add.get();
        r.wr.swap = swap ? atomic->swap_or_add.get() : 0;
        r.length = 8;
      }
      out.push_back(r);
    }
    RebuiltRequest& r = out.back();
    r.length += p.payload().size();
    r.psn_count += p.info().op == Op::read_request ? read_span(p, flow.path_mtu) : 1;
    open = !p.info().ends();
    if (!open) set_opcode(r.wr, p);
  }
  if (open) return fail(ErrorCode::unsupported, "the capture ends within a message");
  return out;
}

// A request refused for good ends in error, and all after it flushed.
void expect_endings(const Flow& flow, std::vector<RebuiltRequest>& requests) {
  for (const ReplayFrame& f : flow.answers) {
    const auto p = f.packet();
    const auto* aeth = p.ext<Ext::aeth>();
    if (p.info().op != Op::ack || wire::ack_kind(aeth->syndrome) != wire::AckKind::nak) continue;
    WcStatus status;
    switch (static_cast<wire::Nak>(aeth->syndrome)) {
      case wire::Nak::invalid_request: status = WcStatus::rem_inv_req_err; break;
      case wire::Nak::remote_access: status = WcStatus::rem_access_err; break;
      case wire::Nak::remote_operational: status = WcStatus::rem_op_err; break;
      default: continue;
    }
    bool failed = false;
    for (RebuiltRequest& r : requests) {
      if (failed) r.status = WcStatus::wr_flush_err;
      if (transport::count_between(Psn(r.first_psn), Psn(p.psn())) < r.psn_count) {
        r.status = status;
        failed = true;
      }
    }
  }
}

// Opcode, PSN, RETH, length and pad; AckReq and MigReq may differ by rule.
void compare_packet(const ReplayFrame& f, const wire::RocePacket& ours, ReplayReport& report) {
  const auto captured = f.packet();
  const auto reth_of = [](const wire::RocePacket& p) {
    const auto* r = p.ext<Ext::reth>();
    return r == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(r), sizeof(*r));
  };
  if (captured.bth().opcode != ours.bth().opcode || captured.psn() != ours.psn() || reth_of(captured) != reth_of(ours) ||
      captured.payload().size() != ours.payload().size() || captured.bth().pad() != ours.bth().pad()) {
    ++report.missing;
    return report.differ(fmt::format("frame {}: {}; ours: {}", f.number, packet_text(captured), packet_text(ours)));
  }
  ++report.matched;
  if (captured.bth().ack_req() != ours.bth().ack_req()) ++report.rules["ack-request-placement"];
  if (captured.bth().mig_req() != ours.bth().mig_req()) ++report.rules["mig-req"];
}

void compare_transmissions(const std::vector<const ReplayFrame*>& firsts, const std::vector<ReplayFrame>& sent,
                           ReplayReport& report) {
  std::map<std::uint32_t, const ReplayFrame*> ours;
  for (const ReplayFrame& f : sent) ours.try_emplace(f.packet().psn(), &f);
  report.captured = firsts.size();
  report.ours = ours.size();
  for (const ReplayFrame* f : firsts) {
    const auto it = ours.find(f->packet().psn());
    if (it == ours.end()) {
      ++report.missing;
      report.differ(fmt::format("frame {}: {}; we sent no such PSN", f->number, packet_text(f->packet())));
      continue;
    }
    compare_packet(*f, it->second->packet(), report);
  }
}

void compare_completions(ReplayDevice& device, const std::vector<RebuiltRequest>& requests, ReplayReport& report) {
  report.completions_expected = requests.size();
  transport::LaneEntry entry;
  for (std::size_t i = 0; device.send_lane().pop(entry); ++i) {
    const Completion& w = entry.completion;
    if (i < requests.size() && w.wr_id == i && w.status == requests[i].status) {
      ++report.completions;
    } else {
      report.differ(fmt::format("completion {}: wr_id {} {}; expected wr_id {} {}", i, w.wr_id, to_string(w.status), i,
                                i < requests.size() ? to_string(requests[i].status) : "none"));
    }
  }
  if (report.completions < requests.size()) {
    report.differ(fmt::format("{} of {} requests completed as the capture shows", report.completions, requests.size()));
  }
}

// A captured response reaches us only once we have sent what it answers.
void play_responses(ReplayDevice& device, const Flow& flow, ReplayReport& report) {
  for (const ReplayFrame& f : flow.answers) {
    const Psn psn{f.packet().psn()};
    const auto sent = [&] { return transport::before(psn, device.qp().requester().high()); };
    device.run();
    if (!sent()) {
      device.advance(base::Duration::seconds(1));  // over any RNR wait
      device.run();
    }
    if (!sent()) report.differ(fmt::format("frame {}: answers PSN {}, which we never sent", f.number, psn.value()));
    device.feed();
  }
  device.advance(base::Duration::seconds(1));
  device.run();
}

}  // namespace

bool has_repeats(const Flow& flow) {
  std::optional<Psn> last;
  for (const ReplayFrame& f : flow.requests) {
    const Psn psn{f.packet().psn()};
    if (last && !transport::before(*last, psn)) return true;
    last = psn;
  }
  return false;
}

Result<ReplayReport> replay_as_requester(const Flow& flow, bool completions_only) {
  const auto firsts = first_transmissions(flow);
  auto requests = rebuild(flow, firsts);
  if (!requests) return tl::unexpected(requests.error());
  expect_endings(flow, *requests);
  if (requests->size() > kMaxQueueDepth) return fail(ErrorCode::unsupported, "over 65536 requests in one connection");

  auto device = ReplayDevice::open(flow, {.requester = true, .send_depth = static_cast<std::uint32_t>(requests->size())},
                                   flow.answers);
  if (!device) return tl::unexpected(device.error());
  for (std::size_t i = 0; i < requests->size(); ++i) {
    RebuiltRequest& r = (*requests)[i];
    r.wr.wr_id = i;
    Sge sge = (*device)->scratch();
    sge.length = static_cast<std::uint32_t>(r.length);
    r.wr.sges = std::span(&sge, 1);
    if ((*device)->qp().sq().post(r.wr) != transport::PostError::none) {
      return fail(ErrorCode::unsupported, fmt::format("request {} of the capture can't be posted", i));
    }
  }
  (*device)->worker().ring_doorbell((*device)->qp());

  ReplayReport report;
  play_responses(**device, flow, report);
  compare_completions(**device, *requests, report);
  const auto sent = (*device)->close();
  if (!sent) return tl::unexpected(sent.error());
  if (completions_only) {
    report.rules["completions-only"] += 1;
  } else {
    compare_transmissions(firsts, *sent, report);
  }
  return report;
}

}  // namespace uroce::tools
