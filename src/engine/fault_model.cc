// SPDX-License-Identifier: BSD-3-Clause
#include "engine/fault_model.h"

#include <charconv>
#include <string>

namespace uroce::engine {

FaultVerdict FaultModel::judge(std::uint32_t frame_bytes) noexcept {
  FaultVerdict v;
  if (burst_left_ != 0) {
    --burst_left_;
    v.drop = true;
    return v;
  }
  if (rng_.chance_ppm(rates_.burst_ppm)) {
    burst_left_ = rates_.burst_length == 0 ? 0 : rates_.burst_length - 1;
    v.drop = true;
    return v;
  }
  if (rng_.chance_ppm(rates_.drop_ppm)) {
    v.drop = true;
    return v;
  }
  v.duplicate = rng_.chance_ppm(rates_.duplicate_ppm);
  if (rng_.chance_ppm(rates_.reorder_ppm) && rates_.reorder_depth != 0) v.hold_frames = 1 + rng_.below(rates_.reorder_depth);
  v.corrupt = rng_.chance_ppm(rates_.corrupt_ppm);
  if (v.corrupt) v.corrupt_bit = rng_.below(frame_bytes * 8);
  v.truncate = rng_.chance_ppm(rates_.truncate_ppm);
  if (v.truncate) v.truncate_to = rng_.below(frame_bytes);
  return v;
}

Result<FaultRates> FaultRates::parse(std::string_view text, std::uint64_t& seed) {
  FaultRates r;
  struct Rate {
    std::string_view name;
    std::uint32_t FaultRates::*field;
  };
  static constexpr Rate kRates[] = {{"drop", &FaultRates::drop_ppm},       {"dup", &FaultRates::duplicate_ppm},
                                    {"reorder", &FaultRates::reorder_ppm}, {"corrupt", &FaultRates::corrupt_ppm},
                                    {"burst", &FaultRates::burst_ppm},     {"truncate", &FaultRates::truncate_ppm}};
  static constexpr Rate kCounts[] = {{"burst_length", &FaultRates::burst_length},
                                     {"reorder_depth", &FaultRates::reorder_depth}};
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t eq = part.find('=');
    const auto bad = [&](const char* why) {
      return fail(ErrorCode::invalid_argument, "fault '" + std::string(part) + "': " + why +
                                                   " (known: drop, dup, reorder, corrupt, truncate, burst = 0 .. 1; "
                                                   "burst_length, reorder_depth = 1 .. 1000; seed)");
    };
    if (eq == std::string_view::npos) return bad("is not name=value");
    const std::string_view name = part.substr(0, eq), value = part.substr(eq + 1);
    const auto number = [&](auto& out) {
      const auto [end, ec] = std::from_chars(value.data(), value.data() + value.size(), out);
      return ec == std::errc{} && end == value.data() + value.size();
    };
    bool known = false;
    for (const Rate& k : kRates) {
      if (k.name != name) continue;
      // The one place where a fraction is read; it becomes parts per million before anything is drawn.
      double p = 0;
      if (!number(p) || !(p >= 0 && p <= 1)) return bad("is not a probability 0 .. 1");
      r.*k.field = static_cast<std::uint32_t>(p * 1e6 + 0.5);
      known = true;
    }
    for (const Rate& k : kCounts) {
      if (k.name != name) continue;
      std::uint32_t n = 0;
      if (!number(n) || n < 1 || n > 1000) return bad("is not in 1 .. 1000");
      r.*k.field = n;
      known = true;
    }
    if (name == "seed") {
      if (!number(seed)) return bad("is not a whole number");
      known = true;
    }
    if (!known) return bad("is not known");
  }
  return r;
}

}  // namespace uroce::engine
