// SPDX-License-Identifier: BSD-3-Clause
// Queue pair numbers: random, so that old packets and neighbours can't guess them, and rested after use, so that packets
// of the last connection under a number have died out before the next has it.
#pragma once
#include <cstdint>
#include <deque>
#include <unordered_set>

#include "base/rng.h"
#include "base/time.h"

namespace uroce::engine {

class QpnPool {
 public:
  // Numbers `first` .. `last`; 0 and 1 are special and never among them.
  QpnPool(std::uint32_t first, std::uint32_t last, std::uint64_t seed) : first_(first), last_(last), rng_(seed) {}

  // 0 when every number is taken or resting.
  std::uint32_t take(base::Instant now);
  void give_back(std::uint32_t qpn, base::Instant now);

  static constexpr base::Duration kRest = base::Duration::seconds(10);

 private:
  struct Resting {
    std::uint32_t qpn;
    base::Instant until;
  };
  std::uint32_t first_, last_;
  base::Rng rng_;
  std::unordered_set<std::uint32_t> unavailable_;
  std::deque<Resting> resting_;
};

}  // namespace uroce::engine
