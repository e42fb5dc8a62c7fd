// SPDX-License-Identifier: BSD-3-Clause
#include "wire/print.h"

#include "wire/syndrome.h"

namespace uroce::wire {

void print_syndrome(base::TextWriter& out, std::uint8_t syndrome) noexcept {
  const std::uint8_t value = ack_value(syndrome);
  switch (ack_kind(syndrome)) {
    case AckKind::ack: out.put("ACK(credit ").dec(value).put(")"); return;
    case AckKind::rnr_nak: out.put("RNR(timer ").dec(value).put(")"); return;
    case AckKind::reserved: out.put("RESERVED(").dec(value).put(")"); return;
    case AckKind::nak: break;
  }
  switch (static_cast<Nak>(syndrome & 0x7fu)) {
    case Nak::psn_sequence: out.put("NAK_SEQ"); return;
    case Nak::invalid_request: out.put("NAK_INVALID_REQ"); return;
    case Nak::remote_access: out.put("NAK_ACCESS"); return;
    case Nak::remote_operational: out.put("NAK_OPERATIONAL"); return;
    case Nak::invalid_rd_request: out.put("NAK_INVALID_RD"); return;
  }
  out.put("NAK(").dec(value).put(")");
}

void print_address(base::TextWriter& out, const IpAddress& a) noexcept {
  if (a.is_v4()) {
    const auto b = a.v4_bytes();
    out.dec(b[0]).put(".").dec(b[1]).put(".").dec(b[2]).put(".").dec(b[3]);
    return;
  }
  // RFC 5952: the longest run of two or more zero groups (the first of equals) becomes "::".
  const auto group = [&](std::size_t i) { return static_cast<unsigned>(a.bytes[2 * i] << 8 | a.bytes[2 * i + 1]); };
  std::size_t best = 8, best_length = 1;
  for (std::size_t i = 0; i < 8;) {
    std::size_t n = 0;
    while (i + n < 8 && group(i + n) == 0) ++n;
    if (n > best_length) best = i, best_length = n;
    i += n + 1;
  }
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == best) {
      out.put("::");
      i += best_length - 1;
      continue;
    }
    if (i != 0 && i != best + best_length) out.put(":");
    out.hex(group(i));
  }
}

void print_mac(base::TextWriter& out, const MacAddress& m) noexcept {
  for (std::size_t i = 0; i < 6; ++i) {
    if (i != 0) out.put(":");
    out.hex(m.bytes[i], 2);
  }
}

void print_packet(base::TextWriter& out, const RocePacket& p) noexcept {
  print_address(out, p.datagram().source());
  out.put(" > ");
  print_address(out, p.datagram().destination());
  const Bth& b = p.bth();
  out.put(" ").put(p.info().name).put(" qp=0x").hex(p.dest_qp()).put(" psn=").dec(p.psn());
  if (b.ack_req()) out.put(" ack_req");
  if (b.solicited()) out.put(" solicited");
  if (b.becn()) out.put(" becn");
  if (p.ecn() == Ecn::ce) out.put(" ce");
  if (const auto* h = p.ext<Ext::deth>()) out.put(" src_qp=0x").hex(h->source_qp.get()).put(" qkey=0x").hex(h->qkey.get());
  if (const auto* h = p.ext<Ext::reth>()) {
    out.put(" va=0x").hex(h->va.get()).put(" rkey=0x").hex(h->rkey.get()).put(" len=").dec(h->dma_length.get());
  }
  if (const auto* h = p.ext<Ext::atomic_eth>()) {
    out.put(" va=0x").hex(h->va.get()).put(" rkey=0x").hex(h->rkey.get());
    out.put(" swap_or_add=0x").hex(h->swap_or_add.get()).put(" compare=0x").hex(h->compare.get());
  }
  if (const auto* h = p.ext<Ext::aeth>()) {
    out.put(" ");
    print_syndrome(out, h->syndrome);
    out.put(" msn=").dec(h->msn.get());
  }
  if (const auto* h = p.ext<Ext::atomic_ack_eth>()) out.put(" original=0x").hex(h->original.get());
  if (const auto* h = p.ext<Ext::imm_dt>()) {
    out.put(" imm=0x");
    for (std::uint8_t byte : h->data) out.hex(byte, 2);
  }
  if (const auto* h = p.ext<Ext::ieth>()) out.put(" invalidate=0x").hex(h->rkey.get());
  if (const auto* h = p.ext<Ext::xrc_eth>()) out.put(" srq=0x").hex(h->srq.get());
  if (!p.payload().empty()) out.put(" payload=").dec(p.payload().size());
  if (b.pad() != 0) out.put(" pad=").dec(b.pad());
}

}  // namespace uroce::wire
