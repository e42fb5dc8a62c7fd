// SPDX-License-Identifier: BSD-3-Clause
// The result as a table, as CSV and as a plot.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "goodput_run.h"

namespace uroce::bench {

struct Point {
  std::uint32_t drop_ppm = 0;
  Rig rig;
  double lossless_line_share = 0;  // measured at p = 0
  Estimate quick;                  // timeout just over a round trip
  Estimate usual;                  // the default timeout

  [[nodiscard]] double p() const { return drop_ppm / 1e6; }
  [[nodiscard]] double bound() const { return bench::bound(p(), rig.window); }
  [[nodiscard]] double usual_expected() const;
  [[nodiscard]] double goodput(const Estimate& e) const { return e.line_share / lossless_line_share; }
};

// A link's arithmetic, and what it carries at p = 0.
std::string describe(const Rig& s, const Estimate& lossless);
std::string table_head();
std::string table_row(const Point& p);
std::string table_foot();
std::string to_csv(std::span<const Point> points);
std::string to_svg(std::span<const Point> points);

}  // namespace uroce::bench
