// SPDX-License-Identifier: BSD-3-Clause
#include "engine/qpn_pool.h"

namespace uroce::engine {

std::uint32_t QpnPool::take(base::Instant now) {
  while (!resting_.empty() && resting_.front().until <= now) {
    unavailable_.erase(resting_.front().qpn);
    resting_.pop_front();
  }
  const std::uint32_t count = last_ - first_ + 1;
  if (unavailable_.size() >= count) return 0;
  std::uint32_t qpn = first_ + rng_.below(count);
  while (unavailable_.contains(qpn)) qpn = qpn == last_ ? first_ : qpn + 1;
  unavailable_.insert(qpn);
  return qpn;
}

void QpnPool::give_back(std::uint32_t qpn, base::Instant now) { resting_.push_back({qpn, now + kRest}); }

}  // namespace uroce::engine
