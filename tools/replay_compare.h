// SPDX-License-Identifier: BSD-3-Clause
// Plays one end of a captured connection with our transport and compares what it does with what the capture shows.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replay_plan.h"
#include "uroce/result.h"

namespace uroce::tools {

struct ReplayReport {
  std::uint64_t captured = 0;  // answers as responder, first transmissions as requester
  std::uint64_t ours = 0;
  std::uint64_t matched = 0;
  std::uint64_t missing = 0;    // captured, but not done by us
  std::uint64_t ours_only = 0;  // lost before the capture point
  std::uint64_t atomics_seeded = 0, atomics_checked = 0;
  std::uint64_t completions = 0, completions_expected = 0;
  std::map<std::string, std::uint64_t> rules;  // named reasons for which a difference is none
  std::vector<std::string> differences;        // the first few, in words

  void differ(std::string text);
  void add(const ReplayReport& o);
  [[nodiscard]] bool agreed() const noexcept {
    return missing == 0 && differences.empty() && completions == completions_expected;
  }
};

Result<ReplayReport> replay_as_responder(const Flow& flow);
// `completions_only`: for captures whose requests were lost, repeated or reordered on the way to the capture point.
Result<ReplayReport> replay_as_requester(const Flow& flow, bool completions_only);

// Whether requests of the flow were repeated, or come out of order.
bool has_repeats(const Flow& flow);

}  // namespace uroce::tools
