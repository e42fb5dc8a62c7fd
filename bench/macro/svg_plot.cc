// SPDX-License-Identifier: BSD-3-Clause
#include "svg_plot.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>

namespace uroce::bench {
namespace {

// Pixels. The plot's frame, and what is around it.
constexpr double kWidth = 1040, kHeight = 620;
constexpr double kLeft = 92, kRight = 700, kTop = 84, kBottom = 540;
constexpr double kLegendLeft = 728, kLegendStep = 25;
constexpr std::string_view kInk = "#222222", kFaint = "#5c5c5c", kGrid = "#dddddd", kFaintGrid = "#f0f0f0";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default: out += c; break;
    }
  }
  return out;
}

class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot) {}

  std::string draw() {
    put("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n",
        kWidth, kHeight);
    put("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n", kWidth, kHeight);
    text(kLeft, 36, 20, "start", kInk, plot_.title, " font-weight=\"bold\"");
    text(kLeft, 62, 14, "start", kFaint, plot_.subtitle);
    x_axis();
    y_axis();
    put("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\"/>\n", kLeft, kTop,
        kRight - kLeft, kBottom - kTop, kInk);
    for (const Series& s : plot_.series) series(s);
    legend();
    svg_ += "</svg>\n";
    return std::move(svg_);
  }

 private:
  template <class... A>
  void put(fmt::format_string<A...> format, A&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<A>(args)...);
  }
  void text(double x, double y, int size, std::string_view anchor, std::string_view colour, std::string_view what,
            std::string_view more = "") {
    put("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\"{}>{}</text>\n", x, y, size,
        anchor, colour, more, escaped(what));
  }
  void segment(double x1, double y1, double x2, double y2, std::string_view colour, std::string_view more = "") {
    put("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n", x1, y1, x2, y2, colour,
        more);
  }

  // Where along the axis, 0 .. 1.
  static double place(const Axis& a, double v) {
    return a.logarithmic ? std::log10(v / a.from) / std::log10(a.to / a.from) : (v - a.from) / (a.to - a.from);
  }
  [[nodiscard]] double px(double v) const { return kLeft + (kRight - kLeft) * place(plot_.x, v); }
  [[nodiscard]] double py(double v) const { return kBottom - (kBottom - kTop) * place(plot_.y, v); }
  static bool within(const Axis& a, double v) { return v >= a.from * (1 - 1e-9) && v <= a.to * (1 + 1e-9); }

  void x_axis() {
    for (const double v : plot_.x.minor_ticks) segment(px(v), kTop, px(v), kBottom, kFaintGrid);
    for (const Tick& t : plot_.x.ticks) {
      segment(px(t.value), kTop, px(t.value), kBottom + 6, kGrid);
      text(px(t.value), kBottom + 25, 15, "middle", kInk, t.text);
    }
    text((kLeft + kRight) / 2, kBottom + 55, 16, "middle", kInk, plot_.x.label);
  }
  void y_axis() {
    for (const double v : plot_.y.minor_ticks) segment(kLeft, py(v), kRight, py(v), kFaintGrid);
    for (const Tick& t : plot_.y.ticks) {
      segment(kLeft - 6, py(t.value), kRight, py(t.value), kGrid);
      text(kLeft - 12, py(t.value) + 5, 15, "end", kInk, t.text);
    }
    const double middle = (kTop + kBottom) / 2;
    text(26, middle, 16, "middle", kInk, plot_.y.label, fmt::format(" transform=\"rotate(-90 26 {:.1f})\"", middle));
  }

  static std::string_view dashing(Mark m) { return m == Mark::dashes ? " stroke-dasharray=\"7 5\"" : ""; }
  void marker(Mark m, double x, double y, std::string_view colour) {
    put("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\" stroke=\"{}\" stroke-width=\"2\"/>\n", x, y,
        m == Mark::dot ? colour : "#ffffff", colour);
  }
  void series(const Series& s) {
    const bool line = s.mark == Mark::line || s.mark == Mark::dashes;
    std::string points;
    for (const auto& [x, y] : s.points) {
      if (!within(plot_.x, x) || !within(plot_.y, y)) continue;
      if (line) {
        points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", px(x), py(y));
      } else {
        marker(s.mark, px(x), py(y), s.colour);
      }
    }
    if (!points.empty()) {
      put("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}/>\n", points, s.colour,
          s.mark == Mark::line ? "2.5" : "1.5", dashing(s.mark));
    }
  }

  void legend() {
    double y = kTop + 12;
    for (const LegendEntry& e : plot_.legend) {
      if (e.colour.empty()) {
        if (y > kTop + 12) y += kLegendStep / 2;
        text(kLegendLeft, y, 15, "start", kInk, e.label, " font-weight=\"bold\"");
      } else {
        if (e.mark == Mark::line || e.mark == Mark::dashes) {
          segment(kLegendLeft, y - 5, kLegendLeft + 34, y - 5, e.colour,
                  fmt::format(" stroke-width=\"{}\"{}", e.mark == Mark::line ? "2.5" : "1.5", dashing(e.mark)));
        } else {
          marker(e.mark, kLegendLeft + 17, y - 5, e.colour);
        }
        text(kLegendLeft + 46, y, 15, "start", kInk, e.label);
      }
      y += kLegendStep;
    }
  }

  const Plot& plot_;
  std::string svg_;
};

}  // namespace

std::string to_svg(const Plot& plot) { return Drawing(plot).draw(); }

}  // namespace uroce::bench
