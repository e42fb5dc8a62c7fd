// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <set>

#include "print_text.h"
#include "replay_compare.h"
#include "replay_device.h"
#include "wire/syndrome.h"

namespace uroce::tools {
namespace {

using wire::Ext;
using wire::Op;
using wire::Place;

// Gives the responder a receive just before a packet that needs one, unless Linux had none at that moment.
void provide_receive(ReplayDevice& device, const wire::RocePacket& p, std::map<std::uint32_t, std::uint32_t>& refusals) {
  const bool takes_one = (p.info().op == Op::send && p.info().starts()) || (p.info().op == Op::write && p.ext<Ext::imm_dt>());
  if (!takes_one) return;
  const auto refusal = refusals.find(p.psn());
  if (refusal != refusals.end() && refusal->second != 0 && device.qp().responder().expected().value() == p.psn()) {
    --refusal->second;
    device.clear_receives();
  } else if (device.qp().rq().size() == 0) {
    device.post_receive();
  }
}

// Linux answers a READ that is asked for again from the middle as if it had gone on: MIDDLE, or LAST when one packet
// long. We answer it as the new request it is: FIRST, or ONLY.
bool restarted_as_linux_does(const wire::RocePacket& captured, const wire::RocePacket& ours) {
  if (captured.info().op != Op::read_response || ours.info().op != Op::read_response) return false;
  return (captured.info().place == Place::middle && ours.info().place == Place::first) ||
         (captured.info().place == Place::last && ours.info().place == Place::only);
}

class Comparison {
 public:
  Comparison(const Flow& flow, ReplayReport& report) : flow_(flow), report_(report) {
    std::set<std::uint32_t> seen;
    for (const ReplayFrame& f : flow.requests) {
      const auto p = f.packet();
      if (p.info().op != Op::read_request) continue;
      if (seen.contains(p.psn())) continue;
      if (asked_.contains(p.psn())) restarted_.insert(p.psn());
      seen.insert(p.psn());
      const std::uint32_t length = p.ext<Ext::reth>()->dma_length.get();
      const std::uint32_t count = length == 0 ? 1 : (length - 1) / flow.path_mtu + 1;
      for (std::uint32_t i = 0; i < count; ++i) asked_.insert((p.psn() + i) & 0xffffff);
    }
  }

  bool same(const wire::RocePacket& captured, const wire::RocePacket& ours) {
    if (captured.psn() != ours.psn()) return false;
    bool by_rule = false;
    if (captured.bth().opcode != ours.bth().opcode) {
      if (!restarted_.contains(captured.psn()) || !restarted_as_linux_does(captured, ours)) return false;
      by_rule = true;
    }
    const auto *a = captured.ext<Ext::aeth>(), *b = ours.ext<Ext::aeth>();
    if (a != nullptr && b != nullptr && (a->syndrome != b->syndrome || a->msn.get() != b->msn.get())) return false;
    if (const auto* original = captured.ext<Ext::atomic_ack_eth>()) {
      if (original->original.get() != ours.ext<Ext::atomic_ack_eth>()->original.get()) return false;
      const bool is_seed = flow_.atomic_seeded_by.contains(captured.psn());
      ++(is_seed ? report_.atomics_seeded : report_.atomics_checked);
    }
    if (by_rule) ++report_.rules["rxe-partial-read-replay"];
    return true;
  }

  // The captured answers must be an ordered part of ours; what we have more was lost before the capture point.
  void run(const std::vector<ReplayFrame>& ours) {
    std::size_t next = 0;
    std::int64_t refused_psn = -1;  // by the RNR NAK just before
    for (const ReplayFrame& c : flow_.answers) {
      const auto captured = c.packet();
      if (repeats_rnr(captured, refused_psn)) continue;
      std::size_t i = next;
      while (i < ours.size() && !same(captured, ours[i].packet())) ++i;
      if (i == ours.size()) {
        ++report_.missing;
        const auto expected = next < ours.size() ? packet_text(ours[next].packet()) : std::string("nothing more");
        report_.differ(fmt::format("frame {}: {}; ours: {}", c.number, packet_text(captured), expected));
        continue;
      }
      report_.ours_only += i - next;
      ++report_.matched;
      next = i + 1;
    }
    report_.ours_only += ours.size() - next;
    if (report_.ours_only != 0) report_.rules["lost-before-capture"] = report_.ours_only;
  }

 private:
  // Linux says RNR for a message's first packet and then "sequence" for its second, at the same PSN; we say it once.
  bool repeats_rnr(const wire::RocePacket& captured, std::int64_t& refused_psn) {
    const auto* aeth = captured.ext<Ext::aeth>();
    const auto kind = aeth == nullptr ? wire::AckKind::ack : wire::ack_kind(aeth->syndrome);
    const bool repeats = kind == wire::AckKind::nak && refused_psn == captured.psn();
    if (kind == wire::AckKind::rnr_nak) {
      refused_psn = captured.psn();
    } else if (!repeats) {
      refused_psn = -1;
    }
    if (repeats) ++report_.rules["rxe-sequence-nak-after-rnr"];
    return repeats;
  }

  const Flow& flow_;
  ReplayReport& report_;
  std::set<std::uint32_t> asked_, restarted_;
};

}  // namespace

void ReplayReport::differ(std::string text) {
  if (differences.size() < 10) differences.push_back(std::move(text));
}

void ReplayReport::add(const ReplayReport& o) {
  captured += o.captured;
  ours += o.ours;
  matched += o.matched;
  missing += o.missing;
  ours_only += o.ours_only;
  atomics_seeded += o.atomics_seeded;
  atomics_checked += o.atomics_checked;
  completions += o.completions;
  completions_expected += o.completions_expected;
  for (const auto& [rule, n] : o.rules) rules[rule] += n;
  for (const auto& d : o.differences) differ(d);
}

Result<ReplayReport> replay_as_responder(const Flow& flow) {
  auto device = ReplayDevice::open(flow, {}, flow.requests);
  if (!device) return tl::unexpected(device.error());
  auto refusals = flow.rnr_naks;
  for (const ReplayFrame& f : flow.requests) {
    provide_receive(**device, f.packet(), refusals);
    (*device)->feed();
  }
  const auto ours = (*device)->close();
  if (!ours) return tl::unexpected(ours.error());
  ReplayReport report;
  report.captured = flow.answers.size();
  report.ours = ours->size();
  Comparison(flow, report).run(*ours);
  return report;
}

}  // namespace uroce::tools
