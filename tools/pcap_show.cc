// SPDX-License-Identifier: BSD-3-Clause
// uroce pcap show FILE...
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "frame_verdict.h"
#include "number_option.h"
#include "print_text.h"
#include "wire/print.h"

namespace uroce::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> files;
  std::uint64_t first = 1;
  std::uint64_t count = UINT64_MAX;
  std::optional<std::uint32_t> qp;
  bool json = false;
};

std::string packet_text(const Verdict& v) {
  return v.packet ? text_of([&](auto& out) { wire::print_packet(out, *v.packet); }) : std::string();
}

std::string reason_text(wire::Drop reason) {
  const auto& info = wire::kDropInfo[static_cast<std::size_t>(reason)];
  return fmt::format("{} ({})", info.name, info.doc);
}

std::string line_text(const Verdict& v, const CapturedFrame& f) {
  const std::string text = packet_text(v);
  switch (v.judgement) {
    case Judgement::good:
      return text;
    case Judgement::malformed:
      return "malformed: " + reason_text(v.reason);
    case Judgement::bad:
      if (v.reason != wire::Drop::bad_icrc) return "BAD FRAME: " + reason_text(v.reason);
      return text.empty() ? "BAD ICRC" : text + " BAD ICRC";
    case Judgement::dropped:
      return "dropped: " + reason_text(v.reason);
    case Judgement::cut:
      return fmt::format("cut: {} of {} bytes captured", f.bytes.size(), f.wire_length);
  }
  return {};
}

std::string_view judgement_name(Judgement j) {
  switch (j) {
    case Judgement::good:
      return "good";
    case Judgement::malformed:
      return "malformed";
    case Judgement::bad:
      return "bad";
    case Judgement::dropped:
      return "dropped";
    case Judgement::cut:
      return "cut";
  }
  return {};
}

// Every key in every object; null where a frame has no such thing.
Json to_json(const std::string& path, const CapturedFrame& f, const Verdict& v, base::Duration since_first) {
  Json j{{"file", path},
         {"frame", f.number},
         {"time_ns", since_first.ns},
         {"length", f.wire_length},
         {"verdict", judgement_name(v.judgement)},
         {"reason", nullptr},
         {"source", nullptr},
         {"destination", nullptr},
         {"opcode", nullptr},
         {"dest_qp", nullptr},
         {"psn", nullptr},
         {"payload", nullptr},
         {"text", line_text(v, f)}};
  if (v.reason != wire::Drop::count) j["reason"] = wire::drop_name(v.reason);
  if (v.packet) {
    j["source"] = address_text(v.packet->datagram().source());
    j["destination"] = address_text(v.packet->datagram().destination());
    j["opcode"] = v.packet->info().name;
    j["dest_qp"] = v.packet->dest_qp();
    j["psn"] = v.packet->psn();
    j["payload"] = v.packet->payload().size();
  }
  return j;
}

std::optional<Error> show_file(const std::string& path, const Options& o) {
  auto capture = CaptureFile::open(path);
  if (!capture) return capture.error();
  if (!o.json && o.files.size() > 1) fmt::print("{}:\n", path);
  base::Instant start;
  std::uint64_t shown = 0;
  while (shown < o.count) {
    const auto next = capture->next();
    if (!next) return next.error();
    if (!*next) break;
    const CapturedFrame& frame = **next;
    if (frame.number == 1) start = frame.time;
    if (frame.number < o.first) continue;
    const Verdict v = judge(frame);
    if (o.qp && !(v.packet && v.packet->dest_qp() == *o.qp)) continue;
    ++shown;
    const base::Duration since_first = frame.time - start;
    if (o.json) {
      fmt::print("{}\n", to_json(path, frame, v, since_first).dump(-1, ' ', false, Json::error_handler_t::replace));
    } else {
      fmt::print("{:>6} {:>12.6f} {}\n", frame.number, static_cast<double>(since_first.ns) * 1e-9, line_text(v, frame));
    }
  }
  return std::nullopt;
}

Exit show(const Options& o) {
  Exit exit = Exit::ok;
  for (const auto& path : o.files) {
    if (const auto error = show_file(path, o)) {
      print_error(error->message);
      exit = Exit::failed;
    }
  }
  return exit;
}

Run add(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("FILE", o->files, "captures, pcap or pcapng, of Ethernet frames")->required()->type_name("");
  add_number(app, "--first", o->first, 1, UINT64_MAX, "number of the first frame to show, from 1");
  add_number(app, "--count", o->count, 1, UINT64_MAX, "how many frames to show of each file");
  add_number(app, "--qp", o->qp, 0, wire::kMaxQpn, "only packets to this QP number, such as 17 or 0x11");
  app.add_flag("--json", o->json, "one JSON object a frame, one a line");
  app.footer(
      "A line is: frame number, seconds since the first frame, the packet; then BAD ICRC, or why there is no packet.\n"
      "Exit status: 0 all read, 1 an unreadable file, 2 wrong usage.");
  return [o] { return show(*o); };
}

const Registration kRegistration({"pcap", "show", "print captures, one line a frame", add});

}  // namespace
}  // namespace uroce::tools
