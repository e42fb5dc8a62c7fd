// SPDX-License-Identifier: BSD-3-Clause
// DCQCN on the simulated star beside published packet-level runs: `ns3-compat` follows that model's rules and must meet its
// figures, the standard profile stands beside it.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "number_option.h"
#include "star_run.h"

namespace uroce::bench {
namespace {

// A published ns-3 model of DCQCN, run by others for these set-ups (1 us links, 1 000 B packets, 112 ms of line rate in all).
struct Published {
  const char* set;  // "hpcc" or "paper"
  std::uint32_t senders;
  double share, jain, mean_kb, p50_kb, p90_kb, p99_kb, max_kb;  // share: throughput, of that of one flow alone
};
constexpr std::array kPublished{
    Published{"hpcc", 2, .987, 1.0000, 184, 141, 451, 503, 519},  Published{"hpcc", 8, .957, .9996, 258, 199, 629, 682, 723},
    Published{"hpcc", 16, .951, .9996, 335, 274, 782, 835, 866},  Published{"paper", 2, .978, .9996, 48, 41, 106, 173, 225},
    Published{"paper", 8, .979, .9998, 124, 125, 205, 236, 266},  Published{"paper", 10, .977, .9992, 123, 122, 214, 246, 280},
    Published{"paper", 16, .979, .9933, 125, 123, 226, 263, 286},
};

StarConfig config_of(const std::string& set, const std::string& congestion, std::uint32_t senders, std::uint32_t seed) {
  StarConfig c;
  c.congestion = congestion;
  c.senders = senders;
  c.seed = seed;
  if (set == "hpcc") {
    c.rate_bps = 100'000'000'000;
    c.kmin_bytes = 400'000;
    c.kmax_bytes = 1'600'000;
    c.pmax_ppm = 200'000;
  }
  return c;
}

bool near(double value, double wanted, double share) { return std::abs(value - wanted) <= share * wanted; }

void print(const char* who, const StarResult& r, double share, const char* verdict) {
  fmt::print("  {:<22}{:>8.3f}{:>9.4f}{:>8.0f}{:>6.0f}{:>6.0f}{:>6.0f}{:>6.0f}", who, share, r.jain, r.queue_mean_kb, r.queue_p50_kb,
             r.queue_p90_kb, r.queue_p99_kb, r.queue_max_kb);
  if (r.packets != 0) fmt::print("{:>9.2f}{:>9}", 100 * static_cast<double>(r.marked) / static_cast<double>(r.packets), r.cnps);
  fmt::print("  {}\n", verdict);
}

int run(std::uint32_t seed, const std::string& only) {
  fmt::print("Star, every flow starts at line rate; queue in KB over 20 .. 100 ms; throughput as a share of one flow alone.\n"
             "{:<24}{:>8}{:>9}{:>8}{:>6}{:>6}{:>6}{:>6}{:>9}{:>9}\n", "", "share", "Jain", "mean", "p50", "p90", "p99", "max",
             "% marked", "CNPs");
  int missed = 0;
  for (const std::string set : {"hpcc", "paper"}) {
    if (!only.empty() && set != only) continue;
    const StarResult alone = run_star(config_of(set, "dcqcn:ns3-" + set, 1, seed));
    if (!alone.failure.empty()) return fmt::print(stderr, "uroce_dcqcn: {}\n", alone.failure), 1;
    for (const Published& p : kPublished) {
      if (p.set != set) continue;
      fmt::print("{} set, N={}, {} Gb/s\n", set, p.senders, set == "hpcc" ? 100 : 40);
      StarResult published;
      published.jain = p.jain;
      published.queue_mean_kb = p.mean_kb;
      published.queue_p50_kb = p.p50_kb;
      published.queue_p90_kb = p.p90_kb;
      published.queue_p99_kb = p.p99_kb;
      published.queue_max_kb = p.max_kb;
      print("published ns-3", published, p.share, "");
      for (const bool compatible : {true, false}) {
        const StarResult r = run_star(config_of(set, "dcqcn:" + std::string(compatible ? "ns3-" : "") + set, p.senders, seed));
        if (!r.failure.empty()) return fmt::print(stderr, "uroce_dcqcn: {}\n", r.failure), 1;
        const double share = r.goodput_gbps / alone.goodput_gbps;
        std::string verdict;
        if (compatible) {
          if (!near(share, p.share, .03)) verdict += " share";
          if (std::abs(r.jain - p.jain) > .005) verdict += " Jain";
          if (!near(r.queue_mean_kb, p.mean_kb, .25)) verdict += " mean";
          if (!near(r.queue_p99_kb, p.p99_kb, .25)) verdict += " p99";
          missed += verdict.empty() ? 0 : 1;
          verdict = verdict.empty() ? "agrees" : "differs:" + verdict;
        }
        print(compatible ? "uroce, ns3-compat" : "uroce, standard", r, share, verdict.c_str());
      }
    }
  }
  fmt::print("Agrees: share within 3 %, Jain within .005, mean and p99 within 25 %. {}\n",
             missed == 0 ? "All do." : fmt::format("{} do not.", missed));
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace uroce::bench

int main(int argc, char** argv) {
  std::uint32_t seed = 1;
  std::string only;
  CLI::App app("DCQCN on a simulated star, beside published packet-level runs.", "uroce_dcqcn");
  uroce::tools::add_number(app, "--seed", seed, 1, 1'000'000, "of marks and PSNs (default 1)");
  app.add_option("--set", only, "one parameter set only: hpcc, paper")->check(CLI::IsMember({"hpcc", "paper"}));
  CLI11_PARSE(app, argc, argv);
  return uroce::bench::run(seed, only);
}
