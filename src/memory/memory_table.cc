// SPDX-License-Identifier: BSD-3-Clause
#include "memory/memory_table.h"

namespace uroce::memory {

// A Feistel network over 12 + 12 bits: a permutation of the 24-bit slot names, cheap both ways.
std::uint32_t MemoryTable::round(std::uint32_t half, unsigned r) const noexcept {
  return ((half + 1) * round_keys_[r]) >> 20;
}

std::uint32_t MemoryTable::permute(std::uint32_t index) const noexcept {
  std::uint32_t left = index >> 12, right = index & 0xfff;
  for (unsigned r = 0; r < 4; ++r) {
    const std::uint32_t next = left ^ round(right, r);
    left = right;
    right = next;
  }
  return left << 12 | right;
}

std::uint32_t MemoryTable::unpermute(std::uint32_t name) const noexcept {
  std::uint32_t left = name >> 12, right = name & 0xfff;
  for (unsigned r = 4; r-- > 0;) {
    const std::uint32_t previous = right ^ round(left, r);
    right = left;
    left = previous;
  }
  return left << 12 | right;
}

MemoryTable::Slot* MemoryTable::find(std::uint32_t key) const noexcept {
  const std::uint32_t index = slot_index(key);
  if (index >= capacity_) return nullptr;
  Slot& s = slots_[index];
  // Acquire: pairs with the release in register_region(), so the region read after this is the key's own.
  if (!s.live.load(std::memory_order_acquire) || s.key.load(std::memory_order_relaxed) != key) return nullptr;
  return &s;
}

std::uint8_t* MemoryTable::translate(std::uint32_t key, PdNumber pd, std::uint64_t address, std::uint64_t length,
                                     AccessFlags needed, KeyFault& why) const noexcept {
  const Slot* s = find(key);
  if (s == nullptr) return why = KeyFault::no_such_key, nullptr;
  const Registration& r = s->region;
  if (r.pd != pd) return why = KeyFault::wrong_pd, nullptr;
  if (!r.access.contains(needed)) return why = KeyFault::no_permission, nullptr;
  const std::uint64_t offset = address - r.iova;
  if (address < r.iova || offset > r.length || length > r.length - offset) return why = KeyFault::out_of_range, nullptr;
  why = KeyFault::none;
  return r.address + offset;
}

bool MemoryTable::invalidate(std::uint32_t key, PdNumber pd) noexcept {
  Slot* s = find(key);
  if (s == nullptr || s->region.pd != pd || !s->region.access.has(Access::remote_invalidate)) return false;
  // Exchange: of two invalidations that meet, one wins.
  return s->live.exchange(false, std::memory_order_acq_rel);
}

}  // namespace uroce::memory
