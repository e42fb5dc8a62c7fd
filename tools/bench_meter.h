// SPDX-License-Identifier: BSD-3-Clause
// Time by stage. A batch of packets goes through one stage after the other, and the counter is read between stages only, so
// that reading it is a small share of what is measured.
#pragma once
#include <uroce/result.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "platform/dpdk/ticks.h"

namespace uroce::tools {

struct Cost {  // ticks a packet, of several repeats
  double best = 0, median = 0;
};

struct StageCost {
  std::string_view name;  // in JSON
  std::string_view doc;
  Cost cost;
};

struct BenchPlan {
  unsigned repeats = 5;
  unsigned milliseconds = 50;  // a repeat
};

class Meter {
 public:
  struct Stage {
    std::string_view name, doc;
  };
  explicit Meter(std::vector<Stage> stages) : stages_(std::move(stages)), sums_(stages_.size()), costs_(stages_.size()) {}

  // In a batch: start(), then lap() with each stage's number at its end. What lies between a last lap and the next start
  // counts for nothing.
  void start() noexcept { last_ = platform::ticks_after_all(); }
  void lap(std::size_t stage) noexcept {
    const std::uint64_t now = platform::ticks_after_all();
    sums_[stage] += now - last_;
    last_ = now;
  }

  // Batches for so many ticks; `step` does one and says how many packets it was, 0: it could not.
  template <class Step>
  Result<void> repeat(std::uint64_t ticks, bool warming_up, Step& step) {
    std::fill(sums_.begin(), sums_.end(), 0);
    warming_up_ = warming_up;
    const std::uint64_t until = platform::ticks_after_all() + ticks;
    std::uint64_t packets = 0;
    do {
      const std::uint64_t n = step(*this);
      if (n == 0) return fail(ErrorCode::system, "the port gave no buffers or no frames, or did not take all frames");
      packets += n;
    } while (last_ < until);
    if (!warming_up) note(packets);
    return {};
  }
  // What is done now does not count.
  [[nodiscard]] bool warming_up() const noexcept { return warming_up_; }

  [[nodiscard]] std::vector<StageCost> stages() const {
    std::vector<StageCost> out;
    for (std::size_t i = 0; i < stages_.size(); ++i) out.push_back({stages_[i].name, stages_[i].doc, cost_of(costs_[i])});
    return out;
  }
  // All stages of a repeat together.
  [[nodiscard]] Cost total() const { return cost_of(totals_); }
  // In all repeats.
  [[nodiscard]] std::uint64_t packets() const noexcept { return packets_; }

 private:
  void note(std::uint64_t packets) {
    double total = 0;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      costs_[i].push_back(static_cast<double>(sums_[i]) / static_cast<double>(packets));
      total += costs_[i].back();
    }
    totals_.push_back(total);
    packets_ += packets;
  }
  static Cost cost_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    if (n == 0) return {};
    return {values[0], n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2};
  }

  std::vector<Stage> stages_;
  std::vector<std::uint64_t> sums_;
  std::vector<std::vector<double>> costs_;
  std::vector<double> totals_;
  std::uint64_t last_ = 0, packets_ = 0;
  bool warming_up_ = false;
};

// One of several things that are measured in turn: what disturbs the machine for a while then disturbs them alike.
struct Measured {
  Meter& meter;
  std::function<std::uint64_t(Meter&)> step;
};

inline Result<void> measure_in_turn(const BenchPlan& plan, std::vector<Measured> all) {
  const auto ticks = static_cast<std::uint64_t>(platform::ticks_a_second() * plan.milliseconds / 1000);
  for (unsigned r = 0; r <= plan.repeats; ++r) {
    for (Measured& one : all) {
      const bool warming_up = r == 0;
      if (auto ok = one.meter.repeat(warming_up ? ticks / 8 : ticks, warming_up, one.step); !ok) return ok;
    }
  }
  return {};
}

}  // namespace uroce::tools
