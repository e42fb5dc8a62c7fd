// SPDX-License-Identifier: BSD-3-Clause
// A small plot as SVG text. The same input gives the same bytes.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace uroce::bench {

struct Tick {
  double value;
  std::string text;
};

struct Axis {
  std::string label;  // with its unit
  double from = 0, to = 1;
  bool logarithmic = false;  // then from > 0
  std::vector<Tick> ticks;   // labelled, with a grid line
  std::vector<double> minor_ticks;
};

enum class Mark { line, dashes, dot, ring };

struct Series {
  Mark mark = Mark::line;
  std::string colour;
  std::vector<std::pair<double, double>> points;  // what lies outside the axes is left out
};

struct LegendEntry {
  std::string label;  // alone: a heading
  Mark mark = Mark::line;
  std::string colour;
};

struct Plot {
  std::string title;
  std::string subtitle;
  Axis x, y;
  std::vector<Series> series;       // later ones on top
  std::vector<LegendEntry> legend;  // right of the plot
};

std::string to_svg(const Plot& plot);

}  // namespace uroce::bench
