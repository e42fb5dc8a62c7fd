// SPDX-License-Identifier: BSD-3-Clause
// What a congestion control sees of one flow, and what it says: the rate. An algorithm is one file in algorithms/, found
// there by the build; it has its parameters' names and its parameter sets in the same place.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <uroce/result.h>

#include "base/time.h"

namespace uroce::congestion {

// Rates count whole frames as they take time on the wire: preamble, FCS and gap included.
inline constexpr std::uint32_t kFramingBytes = 24;
inline constexpr std::uint64_t kMinRate_bps = 1'000'000, kMaxRate_bps = 400'000'000'000;
inline constexpr std::size_t kMaxParameters = 24;

using Values = std::array<std::uint32_t, kMaxParameters>;

// The state of one flow: at most kStateBytes, in place in its queue pair, never destroyed. One thread. Time does not run
// backwards. No timers: what should have happened since the last call is made up for in the next.
class Controller {
 public:
  // A congestion notification packet has come.
  virtual void on_cnp(base::Instant now) noexcept = 0;
  // A frame has been handed to the port; `bytes` with framing.
  virtual void on_sent(std::uint32_t bytes, base::Instant now) noexcept = 0;
  // What the flow may send. The line's rate or more: it need not be paced.
  [[nodiscard]] virtual std::uint64_t rate_bps(base::Instant now) noexcept = 0;

 protected:
  ~Controller() = default;
};
inline constexpr std::size_t kStateBytes = 64;

struct ParameterInfo {
  std::string_view key, doc;  // the key is mlx5's where it has one; doc gives the unit
  std::uint32_t least, most;
};

struct ParameterSet {
  std::string_view name, source;
  Values values;
  std::uint32_t cnp_gap_us = 50;  // the notification point's, 0: a CNP for each mark
};

struct Algorithm {
  std::string_view name, doc;
  std::span<const ParameterInfo> parameters;
  std::span<const ParameterSet> sets;  // the first is the default
  // Makes a controller in `room` (kStateBytes, aligned to 8). `values` outlives it.
  Controller& (*start)(void* room, const Values& values, std::uint64_t line_bps, base::Instant now);
};

// All of algorithms/, in order of name.
std::span<const Algorithm* const> algorithms() noexcept;

// An algorithm with its parameters, shared by all flows that use it.
struct Profile {
  const Algorithm* algorithm = nullptr;  // null: flows are neither paced nor marked, and report no marks
  Values values{};
  std::uint64_t line_bps = 100'000'000'000;
  base::Duration cnp_gap = base::Duration::micros(50);  // at least this between two CNPs of a flow
  std::uint8_t cnp_dscp = 48;                           // as NVIDIA's
};

// From "ALGORITHM[:SET][,KEY=VALUE]...", as a user types it; "none" for no control. Besides the algorithm's keys there are
// np_min_time_between_cnps, in us, and np_cnp_dscp. Errors: invalid_argument, which names what there is.
Result<Profile> make_profile(std::string_view text, std::uint64_t line_bps);

}  // namespace uroce::congestion
