// SPDX-License-Identifier: BSD-3-Clause
// uroce pcap check FILE...
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "capture_summary.h"
#include "command.h"
#include "print_text.h"
#include "wire/print.h"

namespace uroce::tools {
namespace {

using Json = nlohmann::ordered_json;
using wire::kDropInfo;

// Calls f(name, count) for each opcode that occurs, in the order of the opcode table.
template <class F>
void for_each_opcode(const CaptureSummary& s, F f) {
  for (std::size_t i = 0; i < s.opcodes.size(); ++i) {
    if (s.opcodes[i] != 0) f(wire::kOpcodes[i].name, s.opcodes[i]);
  }
}

Json drops_json(const DropCounts& counts) {
  Json j = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) j[std::string(kDropInfo[i].name)] = counts[i];
  }
  return j;
}

Json to_json(const std::string& path, const CaptureSummary& s) {
  Json j{{"file", path}, {"packets", s.packets}, {"opcodes", Json::object()}, {"acks", Json::object()}};
  for_each_opcode(s, [&](auto name, auto n) { j["opcodes"][std::string(name)] = n; });
  for (const auto& [name, n] : s.acks) j["acks"][name] = n;
  Json frames = Json::array(), reasons = Json::object();
  for (const BadFrame& b : s.bad) {
    frames.push_back(b.number);
    reasons[std::to_string(b.number)] = kDropInfo[static_cast<std::size_t>(b.reason)].name;
  }
  j["icrc"] = {{"ok", s.icrc_ok}, {"bad", s.bad.size()}, {"bad_frames", frames}};
  j["retransmitted"] = s.retransmitted;
  j["retransmitted_by_others"] = s.retransmitted_by_others;
  j["client"] = s.client ? Json(address_text(*s.client)) : Json();
  j["naks"] = s.naks;
  j["rnr_naks"] = s.rnr_naks;
  j["gaps"] = Json::array();
  for (const FlowGaps& g : s.gaps) {
    j["gaps"].push_back({{"source", address_text(g.source)},
                         {"dest_qp", g.dest_qp},
                         {"of", g.requests ? "requests" : "responses"},
                         {"count", g.gaps.count},
                         {"missing", g.gaps.missing}});
  }
  j["bad_reasons"] = reasons;
  j["malformed"] = drops_json(s.malformed);
  j["dropped"] = drops_json(s.dropped);
  j["cut"] = s.cut;
  return j;
}

// A labelled row whose items wrap at about 110 columns.
class Row {
 public:
  explicit Row(std::string_view label) : line_(fmt::format("  {:<15}", label)) {}
  void item(const std::string& text) {
    if (line_.size() + text.size() > 110 && line_.size() > kIndent) {
      fmt::print("{}\n", line_);
      line_.assign(kIndent, ' ');
    }
    line_ += (line_.size() > kIndent ? "  " : "") + text;
  }
  void end() const {
    if (line_.size() > kIndent && line_.find_first_not_of(' ', kIndent) != std::string::npos) fmt::print("{}\n", line_);
  }

 private:
  static constexpr std::size_t kIndent = 17;
  std::string line_;
};

void print_drops(const char* label, const DropCounts& counts) {
  Row row(label);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) row.item(fmt::format("{} {}", kDropInfo[i].name, counts[i]));
  }
  row.end();
}

void print_table(const std::string& path, const CaptureSummary& s) {
  fmt::print("{}: {} packets, ICRC {} ok, {} bad{}\n", path, s.packets, s.icrc_ok, s.bad.size(),
             s.bad.empty() ? "" : ": FAILED");
  Row opcodes("opcodes");
  for_each_opcode(s, [&](auto name, auto n) { opcodes.item(fmt::format("{} {}", name, n)); });
  opcodes.end();
  Row acks("acks");
  for (const auto& [name, n] : s.acks) acks.item(fmt::format("{} {}", name, n));
  acks.end();
  if (s.naks + s.rnr_naks != 0) {
    Row naks("naks");
    naks.item(fmt::format("NAK {}", s.naks));
    naks.item(fmt::format("RNR {}", s.rnr_naks));
    naks.end();
  }
  if (s.retransmitted + s.retransmitted_by_others != 0) {
    Row again("retransmitted");
    again.item(fmt::format("{} by the client {}", s.retransmitted, address_text(*s.client)));
    again.item(fmt::format("{} by others", s.retransmitted_by_others));
    again.end();
  }
  Row gaps("gaps");
  for (const FlowGaps& g : s.gaps) {
    gaps.item(fmt::format("{} in {} of {} to qp {:#x} (PSNs jumped over: {})", g.gaps.count,
                          g.requests ? "requests" : "responses", address_text(g.source), g.dest_qp, g.gaps.missing));
  }
  gaps.end();
  Row bad("bad frames");
  for (const BadFrame& b : s.bad) {
    bad.item(b.reason == wire::Drop::bad_icrc ? std::to_string(b.number)
                                              : fmt::format("{} ({})", b.number, wire::drop_name(b.reason)));
  }
  bad.end();
  print_drops("malformed", s.malformed);
  print_drops("not RoCEv2", s.dropped);
  if (s.cut != 0) fmt::print("  {:<15}{} frames too short to judge: captured with a small snap length\n", "cut", s.cut);
}

struct Options {
  std::vector<std::string> files;
  bool json = false;
};

Result<CaptureSummary> read(const std::string& path) {
  auto capture = CaptureFile::open(path);
  if (!capture) return tl::unexpected(capture.error());
  CaptureCounter counter;
  for (;;) {
    const auto frame = capture->next();
    if (!frame) return tl::unexpected(frame.error());
    if (!*frame) return counter.finish();
    counter.on_frame(**frame);
  }
}

Exit check(const Options& o) {
  Exit exit = Exit::ok;
  for (const auto& path : o.files) {
    const auto summary = read(path);
    if (!summary) {
      print_error(summary.error().message);
      exit = Exit::failed;
      continue;
    }
    if (!summary->bad.empty()) exit = Exit::failed;
    if (o.json) {
      // A file name need not be UTF-8, JSON must be.
      fmt::print("{}\n", to_json(path, *summary).dump(-1, ' ', false, Json::error_handler_t::replace));
    } else {
      print_table(path, *summary);
    }
  }
  return exit;
}

Run add(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("FILE", o->files, "captures, pcap or pcapng, of Ethernet frames")->required()->type_name("");
  app.add_flag("--json", o->json, "one JSON object a file, one a line");
  app.footer(
      "Counts opcodes, acknowledges, retransmissions and PSN gaps, and checks every ICRC.\n"
      "Exit status: 0 all ICRCs right, 1 a wrong ICRC or an unreadable file, 2 wrong usage.");
  return [o] { return check(*o); };
}

const Registration kRegistration({"pcap", "check", "check ICRCs and count what captures hold", add});

}  // namespace
}  // namespace uroce::tools
