// SPDX-License-Identifier: BSD-3-Clause
// What our side sent, against what a script expects.
#include <cstdio>

#include "packet.h"
#include "wire/icrc.h"
#include "wire/print.h"
#include "wire/syndrome.h"

namespace uroce::script {
namespace {

std::string hex(std::uint64_t v) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

// Collects the first difference.
class Differ {
 public:
  explicit Differ(const Args& a) : a_(a) {}
  void number(std::string_view key, std::uint64_t got, std::uint64_t mask = ~0ull) {
    const auto want = a_.number(key);
    if (want) rule(std::string(key), *want & mask, got);
  }
  void rule(const std::string& what, std::uint64_t want, std::uint64_t got) {
    if (want != got)
      say(what + " is " + std::to_string(got) + " (" + hex(got) + "), expected " + std::to_string(want) + " (" +
          hex(want) + ")");
  }
  void say(const std::string& what) {
    if (difference_.empty()) difference_ = what;
  }
  // The line names a field of a header that this packet does not have.
  void absent(std::initializer_list<std::string_view> keys) {
    for (std::string_view k : keys) {
      if (a_.has(k)) a_.line().bad_word(k, "fields of the headers that this packet has");
    }
  }
  [[nodiscard]] std::string take() { return std::move(difference_); }

 private:
  const Args& a_;
  std::string difference_;
};

void compare_syndrome(Differ& d, const Args& a, std::uint8_t syndrome) {
  d.number("syndrome", syndrome);
  if (const auto t = a.number("rnr")) d.rule("syndrome", wire::rnr_syndrome(static_cast<std::uint8_t>(*t)), syndrome);
  if (const auto c = a.number("credit")) d.rule("syndrome", *c, syndrome);
  if (const auto nak = a.text("nak")) {
    const std::string_view names[] = {"sequence", "invalid", "access", "operational"};
    std::uint8_t want = 0;
    for (std::uint8_t i = 0; i < 4; ++i) {
      if (names[i] == *nak) want = static_cast<std::uint8_t>(0x60 + i);
    }
    if (want == 0) a.line().bad_word(*nak, "nak=sequence, invalid, access or operational");
    d.rule("syndrome", want, syndrome);
  }
  // Without a word about it, an acknowledgement is a positive one.
  if (!a.has("syndrome") && !a.has("rnr") && !a.has("credit") && !a.has("nak")) {
    d.rule("syndrome", wire::kNoCredits, syndrome);
  }
}

void compare_headers(Differ& d, const Args& a, const wire::RocePacket& p) {
  using wire::Ext;
  if (const auto* h = p.ext<Ext::reth>()) {
    d.number("va", h->va.get());
    d.number("rkey", h->rkey.get());
    d.number("dmalen", h->dma_length.get());
  }
  if (const auto* h = p.ext<Ext::atomic_eth>()) {
    d.number("va", h->va.get());
    d.number("rkey", h->rkey.get());
    d.number("add", h->swap_or_add.get());
    d.number("swap", h->swap_or_add.get());
    d.number("compare", h->compare.get());
  }
  if (const auto* h = p.ext<Ext::aeth>()) {
    compare_syndrome(d, a, h->syndrome);
    d.number("msn", h->msn.get(), 0xffffff);
  }
  if (const auto* h = p.ext<Ext::atomic_ack_eth>()) d.number("original", h->original.get());
  if (const auto* h = p.ext<Ext::ieth>()) d.number("inv", h->rkey.get());
  if (const auto* h = p.ext<Ext::imm_dt>()) {
    d.number("imm", std::uint64_t{h->data[0]} << 24 | std::uint64_t{h->data[1]} << 16 | std::uint64_t{h->data[2]} << 8 |
                        h->data[3]);
  }
  if (!p.info().has(Ext::reth) && !p.info().has(Ext::atomic_eth)) d.absent({"va", "rkey"});
  if (!p.info().has(Ext::reth)) d.absent({"dmalen"});
  if (!p.info().has(Ext::atomic_eth)) d.absent({"add", "swap", "compare"});
  if (!p.info().has(Ext::aeth)) d.absent({"syndrome", "nak", "rnr", "credit", "msn"});
  if (!p.info().has(Ext::atomic_ack_eth)) d.absent({"original"});
  if (!p.info().has(Ext::ieth)) d.absent({"inv"});
  if (!p.info().has(Ext::imm_dt)) d.absent({"imm"});
}

// What holds for everything that we send on a connection (IBTA 9.2, 9.7.4.1.6).
void check_invariants(Differ& d, const World& w, const wire::RocePacket& p) {
  if (!wire::icrc_matches(p.datagram())) d.say("the ICRC is wrong");
  if (p.datagram().source() != w.path.source || p.datagram().destination() != w.path.destination) {
    d.say("the addresses are not those of the connection");
  }
  const wire::Bth& b = p.bth();
  d.rule("destination QPN", World::kPeerQpn, p.dest_qp());
  d.rule("TVer", 0, b.version());
  // A CNP as ConnectX sends it: MigReq clear, BECN set, 16 zero bytes.
  const bool cnp = p.info().service == wire::Service::cnp;
  d.rule("MigReq", cnp ? 0 : 1, b.mig_req() ? 1 : 0);
  if (const auto* h = p.ext<wire::Ext::cnp>()) {
    for (const std::uint8_t byte : h->reserved) d.rule("reserved byte", 0, byte);
  }
  d.rule("P_Key", 0xffff, b.pkey.get());
  d.rule("BTH byte 4", cnp ? wire::kBthBecn : 0, b.f_b_reserved);
  d.rule("reserved bits beside AckReq", 0, b.a_reserved & 0x7fu);
  if (!p.info().request) d.rule("AckReq of a response", 0, b.ack_req() ? 1 : 0);
  if (!p.info().request) d.rule("SE of a response", 0, b.solicited() ? 1 : 0);
  if (!wire::payload_length_legal(p, w.setup.mtu)) d.say("the payload length is not legal for this opcode");
  const auto payload = p.payload();
  for (unsigned i = 0; i < b.pad(); ++i) d.rule("pad byte", 0, *(payload.data() + payload.size() + i));
}

}  // namespace

const std::vector<std::string_view>& expected_fields() {
  static const std::vector<std::string_view> kFields{
      "psn",      "len", "pattern", "ack",    "se",  "va",       "rkey", "dmalen", "imm",     "inv",
      "syndrome", "nak", "rnr",     "credit", "msn", "original", "add",  "swap",   "compare", "frame",
      "tos"};
  return kFields;
}

std::string describe_frame(const Buffer& frame) {
  wire::Drop why{};
  const auto p = wire::parse_frame(frame, why);
  if (!p) return "a frame that does not parse: " + std::string(wire::drop_name(why));
  char room[512];
  base::TextWriter out{room};
  wire::print_packet(out, *p);
  return std::string(out.view());
}

std::string compare_packet(const World& w, std::string_view name, const Args& a, const Buffer& frame) {
  opcode_of(a.line(), name);
  Differ d(a);
  wire::Drop why{};
  const auto p = wire::parse_frame(frame, why);
  if (!p) return describe_frame(frame);
  if (p->info().name != name) return "another packet was sent";
  check_invariants(d, w, *p);
  d.number("psn", p->psn(), 0xffffff);
  d.number("len", p->payload().size());
  d.number("frame", frame.size());
  d.number("tos", p->datagram().traffic_class());
  d.number("ack", p->bth().ack_req() ? 1 : 0);
  d.number("se", p->bth().solicited() ? 1 : 0);
  compare_headers(d, a, *p);
  if (const auto text = a.text("pattern")) {
    const Pattern pattern = parse_pattern(a.line(), *text, a.names());
    const auto payload = p->payload();
    for (std::size_t i = 0; i < payload.size(); ++i) {
      if (payload[i] == pattern.at(i)) continue;
      d.say("payload byte " + std::to_string(i) + " is not that of pattern " + std::string(*text));
      break;
    }
  }
  return d.take();
}

}  // namespace uroce::script
