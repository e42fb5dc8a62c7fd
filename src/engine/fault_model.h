// SPDX-License-Identifier: BSD-3-Clause
// What a bad network does to a frame, drawn from a seed: the same seed and the same frames give the same faults. Used by
// simulated links and by the decorator over live ports.
#pragma once
#include <cstdint>
#include <string_view>

#include <uroce/result.h>

#include "base/rng.h"

namespace uroce::engine {

// Probabilities in parts per million of frames.
struct FaultRates {
  std::uint32_t drop_ppm = 0;
  std::uint32_t burst_ppm = 0;       // starts of a run of losses
  std::uint32_t burst_length = 3;    // frames in such a run
  std::uint32_t duplicate_ppm = 0;
  std::uint32_t reorder_ppm = 0;     // held back while others pass
  std::uint32_t reorder_depth = 4;   // by at most this many frames
  std::uint32_t corrupt_ppm = 0;     // one bit flipped
  std::uint32_t truncate_ppm = 0;    // cut short

  // "drop=0.01,dup=0.02,reorder=0.05,corrupt=0.001,truncate=0.001,burst=0.001,burst_length=3,reorder_depth=8,seed=1".
  // Probabilities are 0 .. 1. `seed` is set when it is named. Errors: invalid_argument, naming the part.
  static Result<FaultRates> parse(std::string_view text, std::uint64_t& seed);
  [[nodiscard]] bool any() const noexcept {
    return (drop_ppm | burst_ppm | duplicate_ppm | reorder_ppm | corrupt_ppm | truncate_ppm) != 0;
  }
};

struct FaultVerdict {
  bool drop = false;
  bool duplicate = false;
  std::uint32_t hold_frames = 0;   // let this many later frames pass first
  bool corrupt = false;
  std::uint32_t corrupt_bit = 0;   // which bit of the frame
  bool truncate = false;
  std::uint32_t truncate_to = 0;   // bytes
};

class FaultModel {
 public:
  FaultModel(const FaultRates& rates, std::uint64_t seed) noexcept : rates_(rates), rng_(seed) {}
  FaultVerdict judge(std::uint32_t frame_bytes) noexcept;
  // A run of losses that is under way ends.
  void set_rates(const FaultRates& rates) noexcept {
    rates_ = rates;
    burst_left_ = 0;
  }

 private:
  FaultRates rates_;
  base::Rng rng_;
  std::uint32_t burst_left_ = 0;
};

}  // namespace uroce::engine
