// SPDX-License-Identifier: BSD-3-Clause
#include "capture_summary.h"

#include <algorithm>

#include "print_text.h"
#include "wire/print.h"
#include "wire/syndrome.h"

namespace uroce::tools {
namespace {

std::pair<wire::IpAddress, wire::IpAddress> hosts(const wire::IpAddress& a, const wire::IpAddress& b) {
  return std::minmax(a, b);
}

std::size_t index(wire::Drop d) {
  return static_cast<std::size_t>(d);
}

}  // namespace

void CaptureCounter::on_frame(const CapturedFrame& frame) {
  ++summary_.packets;
  const Verdict v = judge(frame);
  switch (v.judgement) {
    case Judgement::good:
      ++summary_.icrc_ok;
      on_packet(*v.packet);
      break;
    case Judgement::malformed:
      ++summary_.icrc_ok;
      ++summary_.malformed[index(v.reason)];
      break;
    case Judgement::bad:
      summary_.bad.push_back({frame.number, v.reason});
      break;
    case Judgement::dropped:
      ++summary_.dropped[index(v.reason)];
      break;
    case Judgement::cut:
      ++summary_.cut;
      break;
  }
}

void CaptureCounter::on_packet(const wire::RocePacket& p) {
  const wire::OpcodeInfo& info = p.info();
  const std::uint8_t opcode = p.bth().opcode;
  const auto source = p.datagram().source();
  const auto destination = p.datagram().destination();
  ++summary_.opcodes[opcode];

  if (const auto* aeth = p.ext<wire::Ext::aeth>(); aeth != nullptr && info.op == wire::Op::ack) {
    if (info.service == wire::Service::rc) {
      ++summary_.acks[text_of([&](auto& out) { wire::print_syndrome(out, aeth->syndrome); })];
    }
    summary_.naks += wire::ack_kind(aeth->syndrome) == wire::AckKind::nak;
    summary_.rnr_naks += wire::ack_kind(aeth->syndrome) == wire::AckKind::rnr_nak;
  }
  if (info.service == wire::Service::cnp) return;  // has no PSN

  if (info.payload == wire::PayloadRule::full) {
    mtus_[hosts(source, destination)].on_full_packet(static_cast<std::uint32_t>(p.payload().size()));
  }
  if (info.request && !summary_.client) summary_.client = source;
  const auto* deth = p.ext<wire::Ext::deth>();
  const auto* reth = p.ext<wire::Ext::reth>();
  const FlowKey key{source,       destination, p.dest_qp(), deth != nullptr ? deth->source_qp.get() : 0,
                    info.service, info.request};
  const bool read = info.op == wire::Op::read_request;
  const bool again = flows_[key].on_packet(opcode, p.psn(), read ? reth->dma_length.get() : 0);
  if (info.request && again) ++(source == summary_.client ? summary_.retransmitted : summary_.retransmitted_by_others);
}

CaptureSummary CaptureCounter::finish() {
  for (const auto& [key, psns] : flows_) {
    if (key.service == wire::Service::ud) continue;  // a datagram QP numbers what it sends to all its peers in one row
    const Gaps g = key.request ? psns.request_gaps(mtus_[hosts(key.source, key.destination)]) : psns.response_gaps();
    if (g.count != 0) summary_.gaps.push_back({key.source, key.dest_qp, key.request, g});
  }
  return std::move(summary_);
}

}  // namespace uroce::tools
