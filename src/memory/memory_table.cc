// SPDX-License-Identifier: BSD-3-Clause
#include "memory/memory_table.h"

namespace uroce::memory {

bool MemoryTable::invalidate(std::uint32_t key, PdNumber pd) noexcept {
  Slot* s = find(key);
  if (s == nullptr || s->region.pd != pd || !s->region.access.has(Access::remote_invalidate)) return false;
  // Exchange: of two invalidations that meet, one wins.
  return s->live.exchange(false, std::memory_order_acq_rel);
}

}  // namespace uroce::memory
