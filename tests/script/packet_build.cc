// SPDX-License-Identifier: BSD-3-Clause
// What the scripted peer sends.
#include <cstring>

#include "packet.h"
#include "wire/build.h"
#include "wire/syndrome.h"

namespace uroce::script {
namespace {

constexpr std::size_t kIp = 14, kUdp = kIp + 20, kBth = kUdp + 8;

wire::IpAddress parse_address(const Line& line, std::string_view text) {
  std::array<std::uint8_t, 4> b{};
  std::string rest(text);
  int used = 0;
  unsigned v[4];
  if (std::sscanf(rest.c_str(), "%3u.%3u.%3u.%3u%n", &v[0], &v[1], &v[2], &v[3], &used) != 4 ||
      static_cast<std::size_t>(used) != rest.size()) {
    line.bad_word(text, "an IPv4 address");
  }
  for (std::size_t i = 0; i < 4; ++i) b[i] = static_cast<std::uint8_t>(v[i]);
  return wire::IpAddress::v4(b);
}

std::uint8_t parse_syndrome(const Args& a) {
  if (const auto s = a.number("syndrome")) return static_cast<std::uint8_t>(*s);
  if (const auto t = a.number("rnr")) return wire::rnr_syndrome(static_cast<std::uint8_t>(*t));
  if (const auto nak = a.text("nak")) {
    if (*nak == "sequence") return 0x60;
    if (*nak == "invalid") return 0x61;
    if (*nak == "access") return 0x62;
    if (*nak == "operational") return 0x63;
    a.line().bad_word(*nak, "nak=sequence, invalid, access or operational");
  }
  return static_cast<std::uint8_t>(a.number_or("credit", wire::kNoCredits));
}

void fill_extensions(wire::FrameWriter& w, const wire::OpcodeInfo& info, const World& world, const Args& a,
                     std::uint32_t length) {
  using wire::Ext;
  const auto va = a.number_or("va", World::kTarget);
  const auto rkey = static_cast<std::uint32_t>(a.number_or("rkey", world.key("good")));
  if (info.has(Ext::reth)) {
    if (!a.has("dmalen") && info.op != wire::Op::write) a.line().fail("'dmalen=' is missing");
    if (!a.has("dmalen") && info.place == wire::Place::first) a.line().fail("'dmalen=' is missing");
    auto& h = w.ext<Ext::reth>();
    h.va.set(va);
    h.rkey.set(rkey);
    h.dma_length.set(static_cast<std::uint32_t>(a.number_or("dmalen", length)));
  }
  if (info.has(Ext::atomic_eth)) {
    auto& h = w.ext<Ext::atomic_eth>();
    h.va.set(va);
    h.rkey.set(rkey);
    h.swap_or_add.set(a.has("add") ? a.need("add") : a.number_or("swap", 0));
    h.compare.set(a.number_or("compare", 0));
  }
  if (info.has(Ext::aeth)) {
    w.ext<Ext::aeth>().syndrome = parse_syndrome(a);
    w.ext<Ext::aeth>().msn.set(static_cast<std::uint32_t>(a.number_or("msn", 0)) & 0xffffffu);
  }
  if (info.has(Ext::atomic_ack_eth)) w.ext<Ext::atomic_ack_eth>().original.set(a.need("original"));
  if (info.has(Ext::imm_dt)) {
    const auto imm = static_cast<std::uint32_t>(a.number_or("imm", 0));
    for (unsigned i = 0; i < 4; ++i) w.ext<Ext::imm_dt>().data[i] = static_cast<std::uint8_t>(imm >> (24 - 8 * i));
  }
  if (info.has(Ext::ieth)) w.ext<Ext::ieth>().rkey.set(static_cast<std::uint32_t>(a.need("inv")));
  if (info.has(Ext::cnp)) w.ext<Ext::cnp>().reserved = {};
  if (info.has(Ext::feth)) w.ext<Ext::feth>().type_level.set(0);
  if (info.has(Ext::deth)) {
    w.ext<Ext::deth>().qkey.set(0x11111111);
    w.ext<Ext::deth>().reserved = 0;
    w.ext<Ext::deth>().source_qp.set(World::kPeerQpn);
  }
  if (info.has(Ext::xrc_eth)) {
    w.ext<Ext::xrc_eth>().reserved = 0;
    w.ext<Ext::xrc_eth>().srq.set(0);
  }
}

// What no FrameWriter would write.
void twist(Buffer& frame, const Args& a) {
  auto& bth = *reinterpret_cast<wire::Bth*>(frame.data() + kBth);
  const auto byte = [&](const char* key) { return static_cast<unsigned>(a.need(key)); };
  if (a.has("opcode")) bth.opcode = static_cast<std::uint8_t>(byte("opcode"));
  if (a.has("tver")) bth.se_m_pad_tver = static_cast<std::uint8_t>((bth.se_m_pad_tver & 0xf0u) | (byte("tver") & 15u));
  if (a.has("pad")) {
    bth.se_m_pad_tver = static_cast<std::uint8_t>((bth.se_m_pad_tver & 0xcfu) | (byte("pad") & 3u) << 4);
  }
  if (a.number("mig") == 0u) bth.se_m_pad_tver &= 0xbf;
  if (a.has("pkey")) bth.pkey.set(static_cast<std::uint16_t>(byte("pkey")));
  if (a.has("resv7")) bth.a_reserved = static_cast<std::uint8_t>((bth.a_reserved & 0x80u) | (byte("resv7") & 0x7fu));
  if (a.has("trim")) {
    const auto n = a.need("trim");
    if (n > frame.size() - kBth) a.line().fail("trim=" + std::to_string(n) + " is more than the packet has after UDP");
    frame.resize(frame.size() - n);
  }
  if (a.has("grow")) frame.resize(frame.size() + a.need("grow"), 0xee);
}

}  // namespace

const std::vector<std::string_view>& peer_fields() {
  static const std::vector<std::string_view> kFields{
      "psn",   "len",     "pattern", "ack", "se",       "va",     "rkey", "dmalen",  "imm",     "inv",   "syndrome",
      "nak",   "rnr",     "credit",  "msn", "original", "add",    "swap", "compare", "qp",      "src",   "dst",
      "sport", "opcode",  "tver",    "pad", "pkey",     "mig",    "fecn", "becn",    "resv",    "resv7", "trim",
      "grow",  "badicrc", "tos",     "ttl", "udplen",   "udpsum", "l4",   "padding", "trailing"};
  return kFields;
}

std::uint8_t opcode_of(const Line& line, std::string_view name) {
  std::string known;
  for (unsigned i = 0; i < 256; ++i) {
    if (!wire::kOpcodes[i].known()) continue;
    if (wire::kOpcodes[i].name == name) return static_cast<std::uint8_t>(i);
    if (wire::kOpcodes[i].service == wire::Service::rc) known += std::string(wire::kOpcodes[i].name) + ", ";
  }
  line.bad_word(name, known + "CNP, and the UC, UD and XRC packets by the same scheme");
}

ScriptedPort::Arrival build_packet(const World& world, std::string_view name, const Args& a) {
  const std::uint8_t opcode = opcode_of(a.line(), name);
  const wire::OpcodeInfo& info = wire::kOpcodes[opcode];
  const std::uint32_t usual = info.payload == wire::PayloadRule::full ? world.setup.mtu : 0;
  const auto length = static_cast<std::uint32_t>(a.number_or("len", usual));
  if (length > 9000) a.line().fail("len=" + std::to_string(length) + " is not in 0 .. 9000, for one packet");

  wire::Path path = world.peer_path;
  if (const auto t = a.text("src")) path.source = parse_address(a.line(), *t);
  if (const auto t = a.text("dst")) path.destination = parse_address(a.line(), *t);
  path.udp_source_port = static_cast<std::uint16_t>(a.number_or("sport", path.udp_source_port));
  const wire::FrameTemplate head(path);

  ScriptedPort::Arrival arrival;
  Buffer& frame = arrival.bytes;
  frame.resize(wire::kMaxFrameOverhead + length);
  wire::FrameWriter w(head, frame.data(), opcode, length);
  w.bth().dest_qp.set(static_cast<std::uint32_t>(a.number_or("qp", World::kQpn)) & 0xffffffu);
  w.bth().psn.set(static_cast<std::uint32_t>(a.need("psn")) & 0xffffffu);
  if (a.number_or("ack", 0) != 0) w.bth().a_reserved = wire::kBthAckReq;
  if (a.number_or("se", 0) != 0) w.bth().se_m_pad_tver |= wire::kBthSolicited;
  fill_extensions(w, info, world, a, length);
  const Pattern pattern = parse_pattern(a.line(), a.text("pattern").value_or("a"), a.names());
  for (std::uint32_t i = 0; i < length; ++i) w.payload()[i] = pattern.at(i);
  w.finish();
  frame.resize(kBth + info.header_length + length + (4 - length % 4) % 4);
  twist(frame, a);

  Seal how;
  how.good_icrc = !a.has("badicrc");
  how.tos = static_cast<std::uint8_t>(a.number_or("tos", 0));
  how.ttl = static_cast<std::uint8_t>(a.number_or("ttl", 64));
  how.udp_length = static_cast<std::uint32_t>(a.number_or("udplen", 0));
  how.udp_checksum = static_cast<std::uint16_t>(a.number_or("udpsum", 0));
  how.padding = static_cast<std::uint8_t>(a.number_or("padding", 0));
  how.trailing = static_cast<std::uint32_t>(a.number_or("trailing", 0));
  seal(frame, how);
  // Switches on the way may set these after the ICRC was made.
  const auto congestion =
      (a.number_or("fecn", 0) & 1u) << 7 | (a.number_or("becn", 0) & 1u) << 6 | (a.number_or("resv", 0) & 0x3fu);
  if (frame.size() > kBth + 4) frame[kBth + 4] = static_cast<std::uint8_t>(congestion);
  if (const auto t = a.text("l4")) {
    if (*t != "good" && *t != "bad") a.line().bad_word(*t, "l4=good or l4=bad: the port's verdict on the UDP checksum");
    arrival.l4 = *t == "good" ? engine::L4Checksum::good : engine::L4Checksum::bad;
  }
  return arrival;
}

void seal(Buffer& frame, const Seal& how) {
  const auto put16 = [&](std::size_t at, std::size_t v) {
    frame[at] = static_cast<std::uint8_t>(v >> 8);
    frame[at + 1] = static_cast<std::uint8_t>(v);
  };
  const std::size_t end = frame.size();
  put16(kIp + 2, end + 4 - kIp);
  put16(kUdp + 4, how.udp_length != 0 ? how.udp_length : end + 4 - kUdp);
  put16(kUdp + 6, how.udp_checksum);
  frame[kIp + 1] = how.tos;
  frame[kIp + 8] = how.ttl;
  put16(kIp + 10, 0);
  std::uint32_t sum = 0;
  for (std::size_t i = kIp; i < kUdp; i += 2) sum += static_cast<std::uint32_t>(frame[i] << 8 | frame[i + 1]);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  put16(kIp + 10, ~sum & 0xffffu);

  Buffer masked(frame.begin() + kIp, frame.end());
  for (const std::size_t i : {1u, 8u, 10u, 11u, 26u, 27u, 32u}) {
    if (i < masked.size()) masked[i] = 0xff;
  }
  std::uint32_t crc = wire::crc32(wire::kIcrcStart, masked.data(), masked.size());
  if (!how.good_icrc) crc ^= 0x00010000;
  for (unsigned i = 0; i < 4; ++i) frame.push_back(static_cast<std::uint8_t>(crc >> 8 * i));
  if (frame.size() < 60) frame.resize(60, how.padding);
  frame.resize(frame.size() + how.trailing, 0xee);
}

}  // namespace uroce::script
