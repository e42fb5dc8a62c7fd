// SPDX-License-Identifier: BSD-3-Clause
// uroce pcap replay FILE...
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "replay_compare.h"

namespace uroce::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> files;
  std::string as = "responder";
  bool json = false;
};

Json to_json(const std::string& path, const Options& o, std::size_t connections, const ReplayReport& r) {
  Json j{{"file", path}, {"as", o.as}, {"agreed", r.agreed()}, {"connections", connections}};
  j[o.as == "responder" ? "answers" : "transmissions"] = {
      {"captured", r.captured}, {"ours", r.ours}, {"matched", r.matched}, {"missing", r.missing}, {"ours_only", r.ours_only}};
  j["atomics"] = {{"seeded", r.atomics_seeded}, {"checked", r.atomics_checked}};
  j["completions"] = {{"expected", r.completions_expected}, {"matched", r.completions}};
  j["rules"] = Json::object();
  for (const auto& [rule, n] : r.rules) j["rules"][rule] = n;
  j["differences"] = r.differences;
  return j;
}

void print_table(const std::string& path, const Options& o, std::size_t connections, const ReplayReport& r) {
  fmt::print("{}: as {}, {} connection{}: {}\n", path, o.as, connections, connections == 1 ? "" : "s",
             r.agreed() ? "agrees" : "DIFFERS");
  fmt::print("  {:<15}{} captured, {} ours, {} matched, {} missing from ours, {} only ours\n",
             o.as == "responder" ? "answers" : "transmissions", r.captured, r.ours, r.matched, r.missing, r.ours_only);
  if (r.completions_expected != 0) fmt::print("  {:<15}{} of {} as captured\n", "completions", r.completions, r.completions_expected);
  if (r.atomics_seeded + r.atomics_checked != 0) {
    fmt::print("  {:<15}{} results gave the memory's content, {} were checked against it\n", "atomics", r.atomics_seeded, r.atomics_checked);
  }
  for (const auto& [rule, n] : r.rules) fmt::print("  {:<15}{} {}\n", "rule", rule, n);
  for (const auto& d : r.differences) fmt::print("  {:<15}{}\n", "difference", d);
}

Exit replay(const Options& o) {
  Exit exit = Exit::ok;
  for (const auto& path : o.files) {
    const auto failed = [&](const std::string& message) {
      print_error(message);
      exit = Exit::failed;
    };
    const auto flows = read_flows(path);
    if (!flows) {
      failed(flows.error().message);
      continue;
    }
    ReplayReport total;
    std::size_t connections = 0;
    for (const Flow& flow : *flows) {
      if (flow.answers.empty()) continue;  // nothing to compare with
      ++connections;
      const auto report = o.as == "responder" ? replay_as_responder(flow) : replay_as_requester(flow, has_repeats(flow));
      if (report) {
        total.add(*report);
      } else {
        total.differ(report.error().message);
      }
    }
    if (connections == 0) {
      failed(path + ": no RC connection in it has both requests and answers");
      continue;
    }
    if (!total.agreed()) exit = Exit::failed;
    if (o.json) {
      fmt::print("{}\n", to_json(path, o, connections, total).dump(-1, ' ', false, Json::error_handler_t::replace));
    } else {
      print_table(path, o, connections, total);
    }
  }
  return exit;
}

Run add(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("FILE", o->files, "captures, pcap or pcapng, of Ethernet frames")->required()->type_name("");
  app.add_option("--as", o->as, "the end that is played: responder (default) or requester")
      ->check(CLI::IsMember({"responder", "requester"}));
  app.add_flag("--json", o->json, "one JSON object a file, one a line");
  app.footer(
      "Plays one end of each captured RC connection with this transport, through DPDK's net_pcap, and compares its\n"
      "packets with the captured ones. Rules: lost-before-capture, answers that the capture point never saw;\n"
      "rxe-partial-read-replay, how Linux answers a READ restarted in the middle; rxe-sequence-nak-after-rnr, its second\n"
      "NAK for a message without a receive; ack-request-placement and mig-req, bits that may differ; completions-only,\n"
      "for requesters in captures with repeated requests.\n"
      "Exit status: 0 agrees or differs by these rules only, 1 differs or unreadable, 2 wrong usage.");
  return [o] { return replay(*o); };
}

const Registration kRegistration({"pcap", "replay", "play one end of captured connections and compare", add});

}  // namespace
}  // namespace uroce::tools
