// SPDX-License-Identifier: BSD-3-Clause
// How much of a reliable connection's stream survives loss, against what go-back-N can do at best. goodput_run.h has
// the bound and the set-up.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "goodput_report.h"
#include "goodput_run.h"
#include "number_option.h"

namespace uroce::bench {
namespace {

constexpr std::uint32_t kWindows[] = {16, 64, 256};
constexpr std::uint32_t kDropPpm[] = {100, 300, 1000, 3000, 10'000, 20'000, 50'000, 100'000};
constexpr unsigned kSeeds = 8;

struct Options {
  std::uint64_t packets = 2'000'000, seed = 1;
  std::uint32_t ack_every = 1;
  std::string svg, csv;
};

enum Exit { kOk = 0, kFailed = 1, kUsage = 2 };

int failed(const std::string& why) {
  std::fflush(stdout);
  fmt::print(stderr, "uroce_goodput: {}\n", why);
  return kFailed;
}

// Opened before the measuring, which takes minutes.
bool open_file(std::ofstream& file, const std::string& path) {
  if (!path.empty()) file.open(path, std::ios::binary);
  return path.empty() || file.is_open();
}
bool write_file(std::ofstream& file, const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  file << text;
  file.close();
  return !file.fail();
}
int cannot_write(const std::string& path) { return failed(fmt::format("cannot write '{}'", path)); }
int cannot_open(const std::string& path) {
  return failed(fmt::format("cannot open '{}' for writing: it must be a file in a folder that exists", path));
}

void print_heading(const Options& o) {
  const Rig any = Rig::make(kWindows[0], o.ack_every);
  fmt::print("RC goodput under loss, simulated: 1 MiB WRITEs, path MTU {}, {} Gb/s, {} seeds of {} packets a point.\n",
             kMtu, kRateBps / 1'000'000'000, kSeeds, o.packets / kSeeds);
  fmt::print("A full frame takes {} ns on the line, an ACK {} ns; an ACK is asked for every {}.\n", any.slot.ns,
             any.ack_time.ns, o.ack_every == 1 ? "packet" : fmt::format("{} packets", o.ack_every));
}

struct Link {
  Rig rig;
  Estimate lossless;
};

// Empty once a run has failed, which `why` tells.
std::vector<Link> measure_links(const Options& o, std::string& why) {
  std::vector<Link> links;
  for (const std::uint32_t window : kWindows) {
    Link l{Rig::make(window, o.ack_every), {}};
    if (l.rig.timeout > l.rig.round_trip * 2) {
      why = fmt::format("no timeout code lies within one and two round trips of {} ns", l.rig.round_trip.ns);
      return {};
    }
    l.lossless = estimate(l.rig, 0, l.rig.timeout_code, o.packets / 4, o.seed, kSeeds);
    why = l.lossless.total.failure;
    if (!why.empty()) return {};
    fmt::print("{}", describe(l.rig, l.lossless));
    links.push_back(l);
  }
  return links;
}

int run(const Options& o) {
  std::ofstream svg, csv;
  if (!open_file(svg, o.svg)) return cannot_open(o.svg);
  if (!open_file(csv, o.csv)) return cannot_open(o.csv);
  print_heading(o);
  std::string why;
  const std::vector<Link> links = measure_links(o, why);
  if (links.empty()) return failed(why);

  fmt::print("\n{}", table_head());
  std::fflush(stdout);
  std::vector<Point> points;
  base::Rng rng(o.seed);
  for (const std::uint32_t ppm : kDropPpm) {
    for (const Link& l : links) {
      Point p{ppm, l.rig, l.lossless.line_share, {}, {}};
      p.quick = estimate(l.rig, ppm, l.rig.timeout_code, o.packets, rng.next(), kSeeds);
      p.usual = estimate(l.rig, ppm, kDefaultTimeoutCode, o.packets / 2, rng.next(), kSeeds);
      for (const Estimate* e : {&p.quick, &p.usual}) {
        if (!e->total.failure.empty()) {
          return failed(fmt::format("p = {} ppm, W = {}: {}", ppm, l.rig.window, e->total.failure));
        }
      }
      fmt::print("{}", table_row(p));
      std::fflush(stdout);  // the next takes seconds
      points.push_back(p);
    }
  }
  fmt::print("{}", table_foot());
  if (!write_file(svg, o.svg, to_svg(points))) return cannot_write(o.svg);
  if (!write_file(csv, o.csv, to_csv(points))) return cannot_write(o.csv);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return failed("cannot write to standard output");
  return kOk;
}

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Goodput of a reliable connection under loss, against the go-back-N bound (1 - p) / (1 + p W). Runs in "
               "virtual time: the same seed gives the same result. The default takes some minutes.",
               "uroce_goodput"};
  app.add_option("--svg", o.svg, "write a plot there")->type_name("FILE");
  app.add_option("--csv", o.csv, "write the numbers there")->type_name("FILE");
  tools::add_number(app, "--packets", o.packets, 100'000, 1'000'000'000'000,
                    "request packets sent a point, all seeds together; half as many with the default timeout "
                    "(2000000)");
  tools::add_number(app, "--seed", o.seed, 0, UINT64_MAX, "where the random losses begin (1)");
  tools::add_number(app, "--ack-every", o.ack_every, 1, 8,
                    "packets an ACK request; above 1 the round trip is that much shorter than W packets (1)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help
    const bool extras = dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr;
    const auto left = app.remaining();
    fmt::print(stderr, "uroce_goodput: {}\nType `uroce_goodput --help` for what is allowed.\n",
               extras && !left.empty() ? fmt::format("unknown argument '{}'", left.front()) : std::string(e.what()));
    return kUsage;
  }
  return run(o);
}

}  // namespace
}  // namespace uroce::bench

int main(int argc, char** argv) {
  try {
    return uroce::bench::main(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "uroce_goodput: %s\n", e.what());
    return 1;
  }
}
