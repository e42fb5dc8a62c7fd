// SPDX-License-Identifier: BSD-3-Clause
// Repeated measurements of one thing: the machine is shared, so the best of several counts, and the median tells how
// far to believe it.
#pragma once
#include <algorithm>
#include <chrono>
#include <vector>

namespace uroce::bench {

class Samples {
 public:
  void add(double v) { values_.insert(std::upper_bound(values_.begin(), values_.end(), v), v); }
  [[nodiscard]] double least() const { return values_.empty() ? 0 : values_.front(); }
  [[nodiscard]] double median() const { return values_.empty() ? 0 : values_[values_.size() / 2]; }
  [[nodiscard]] double most() const { return values_.empty() ? 0 : values_.back(); }

 private:
  std::vector<double> values_;  // ascending
};

using SteadyClock = std::chrono::steady_clock;

inline double ns_since(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::nano>(SteadyClock::now() - start).count();
}

}  // namespace uroce::bench
