// SPDX-License-Identifier: BSD-3-Clause
#include "goodput_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include "svg_plot.h"
#include "wire/syndrome.h"

namespace uroce::bench {
namespace {

// A mean over fewer of these rare and long stalls says little.
constexpr std::uint64_t kEnoughTimeouts = 10;
// Apart in brightness too, for those who don't see the hues (Okabe, Ito).
constexpr std::array<const char*, 3> kColours{"#0072b2", "#d55e00", "#009e73"};
constexpr const char* kGrey = "#444444";

base::Duration default_timeout() { return wire::ack_timeout(kDefaultTimeoutCode); }

double retransmitted_share(const Measurement& m) {
  return m.sent == 0 ? 0 : static_cast<double>(m.retransmitted) / static_cast<double>(m.sent);
}

std::vector<std::uint32_t> windows_of(std::span<const Point> points) {
  std::vector<std::uint32_t> all;
  for (const Point& p : points) {
    if (std::find(all.begin(), all.end(), p.rig.window) == all.end()) all.push_back(p.rig.window);
  }
  return all;
}

void add_series(Plot& plot, std::span<const Point> points, std::uint32_t window, const std::string& colour) {
  Series limit{Mark::line, colour, {}}, model{Mark::dashes, colour, {}};
  Series quick{Mark::dot, colour, {}}, usual{Mark::ring, colour, {}};
  const Rig* rig = nullptr;
  for (const Point& p : points) {
    if (p.rig.window != window) continue;
    rig = &p.rig;
    quick.points.emplace_back(p.p(), p.goodput(p.quick));
    if (p.usual.total.timeouts >= kEnoughTimeouts) usual.points.emplace_back(p.p(), p.goodput(p.usual));
  }
  constexpr int kSteps = 120;
  for (int i = 0; i <= kSteps; ++i) {
    const double p = std::pow(10.0, -4 + 3.0 * i / kSteps);
    limit.points.emplace_back(p, bound(p, window));
    if (rig != nullptr) model.points.emplace_back(p, expected(p, *rig, default_timeout()));
  }
  plot.series.insert(plot.series.end(), {std::move(model), std::move(limit), std::move(usual), std::move(quick)});
}

}  // namespace

double Point::usual_expected() const { return expected(p(), rig, default_timeout()); }

std::string describe(const Rig& r, const Estimate& lossless) {
  const double slot = static_cast<double>(r.slot.ns), round_trip = static_cast<double>(r.round_trip.ns);
  std::string out = fmt::format("W = {}: delay ((W - {}) * {} - {}) / 2 = {} ns, ", r.window, r.ack_every, r.slot.ns,
                                r.ack_time.ns, r.delay.ns);
  out += fmt::format("round trip {} + 2 * {} + {} = {} ns", r.slot.ns, r.delay.ns, r.ack_time.ns, r.round_trip.ns);
  out += fmt::format(" = {:.2f} slots,\n  timeout code {} = {} ns = {:.2f} round trips; ", round_trip / slot,
                     r.timeout_code, r.timeout.ns, static_cast<double>(r.timeout.ns) / round_trip);
  out += fmt::format("at p = 0 {:.2f} % of line rate is payload (at most {:.2f} %)\n", 100 * lossless.line_share,
                     100 * full_line_share());
  return out;
}

std::string table_head() {
  return fmt::format("{:>71}|{:>35}\n", "timeout just over a round trip         ", "default timeout, 67 ms     ") +
         fmt::format("{:>6}{:>5}{:>8}{:>10}{:>7}{:>7}{:>8}", "p %", "W", "bound", "measured", "+- %", "ratio",
                     "line %") +
         fmt::format("{:>7}{:>9}{:>10} |", "NAKs", "timeouts", "resent %") +
         fmt::format("{:>9}{:>10}{:>8}{:>9}\n", "expected", "measured", "+- %", "timeouts");
}

std::string table_row(const Point& p) {
  const Measurement &q = p.quick.total, &u = p.usual.total;
  const double goodput = p.goodput(p.quick);
  std::string out = fmt::format("{:>6.2f}{:>5}{:>8.4f}{:>10.4f}{:>7.2f}{:>7.3f}{:>8.2f}", 100 * p.p(), p.rig.window,
                                p.bound(), goodput, 100 * p.quick.standard_error, goodput / p.bound(),
                                100 * p.quick.line_share);
  out += fmt::format("{:>7}{:>9}{:>10.1f} |", q.naks, q.timeouts, 100 * retransmitted_share(q));
  out += fmt::format("{:>9.4f}{:>10.4f}", p.usual_expected(), p.goodput(p.usual));
  const bool enough = u.timeouts >= kEnoughTimeouts;
  out += enough ? fmt::format("{:>8.1f}", 100 * p.usual.standard_error) : fmt::format("{:>8}", "?");
  return out + fmt::format("{:>9}\n", u.timeouts);
}

std::string table_foot() {
  return fmt::format(
      "Goodput: payload delivered, as a share of that at p = 0. +-: standard error over the seeds; ? with fewer than\n"
      "{} timeouts, too few of these long stalls to tell. resent: retransmitted share of the request packets sent.\n",
      kEnoughTimeouts);
}

std::string to_csv(std::span<const Point> points) {
  std::string out =
      "p,window,bound,measured,standard_error,ratio,line_share,sent,lost,delivered,naks,timeouts,retransmitted,"
      "timeout_ns,default_measured,default_standard_error,default_expected,default_sent,default_naks,"
      "default_timeouts\n";
  for (const Point& p : points) {
    const Measurement &q = p.quick.total, &u = p.usual.total;
    const auto into = std::back_inserter(out);
    fmt::format_to(into, "{:.6f},{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},", p.p(), p.rig.window, p.bound(),
                   p.goodput(p.quick), p.quick.standard_error, p.goodput(p.quick) / p.bound(), p.quick.line_share);
    fmt::format_to(into, "{},{},{},{},{},{},{},", q.sent, q.lost, q.delivered, q.naks, q.timeouts, q.retransmitted,
                   p.rig.timeout.ns);
    fmt::format_to(into, "{:.6f},{:.6f},{:.6f},{},{},{}\n", p.goodput(p.usual), p.usual.standard_error,
                   p.usual_expected(), u.sent, u.naks, u.timeouts);
  }
  return out;
}

std::string to_svg(std::span<const Point> points) {
  Plot plot;
  plot.title = "RC goodput under loss: go-back-N against its bound";
  plot.subtitle = "Simulated 25 Gb/s link, path MTU 1024, 1 MiB RDMA WRITEs, requests lost at random, ACKs not";
  plot.x = {"p, share of request packets lost (%)", 1e-4, 1e-1, true, {}, {}};
  plot.x.ticks = {{1e-4, "0.01 %"}, {1e-3, "0.1 %"}, {1e-2, "1 %"}, {1e-1, "10 %"}};
  for (const double decade : {1e-4, 1e-3, 1e-2}) {
    for (int i = 2; i <= 9; ++i) plot.x.minor_ticks.push_back(decade * i);
  }
  plot.y = {"goodput, share of that at p = 0 (%)", 0, 1, false, {}, {}};
  for (int i = 0; i <= 10; i += 2) plot.y.ticks.push_back({i / 10.0, fmt::format("{} %", i * 10)});
  for (int i = 1; i <= 9; i += 2) plot.y.minor_ticks.push_back(i / 10.0);
  plot.legend.push_back({"Window = round trip, W", Mark::line, ""});
  double longest = 0;
  for (const Point& p : points) {
    longest = std::max(longest, static_cast<double>(p.rig.timeout.ns) / static_cast<double>(p.rig.round_trip.ns));
  }
  std::size_t next = 0;
  for (const std::uint32_t window : windows_of(points)) {
    const char* colour = kColours[next++ % kColours.size()];
    add_series(plot, points, window, colour);
    plot.legend.push_back({fmt::format("{} packets", window), Mark::line, colour});
  }
  plot.legend.push_back({fmt::format("Timeout up to {:.2f} round trips", longest), Mark::line, ""});
  plot.legend.push_back({"bound (1 - p) / (1 + p W)", Mark::line, kGrey});
  plot.legend.push_back({"measured", Mark::dot, kGrey});
  plot.legend.push_back({"Default timeout, 67 ms", Mark::line, ""});
  plot.legend.push_back({"expected: lost again costs 67 ms", Mark::dashes, kGrey});
  plot.legend.push_back({fmt::format("measured, {} timeouts or more", kEnoughTimeouts), Mark::ring, kGrey});
  return to_svg(plot);
}

}  // namespace uroce::bench
