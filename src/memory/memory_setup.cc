// SPDX-License-Identifier: BSD-3-Clause
// The allocating half of the memory table.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string>

#include "base/assert.h"
#include "memory/memory_table.h"

namespace uroce::memory {

namespace {

SlotNames names_from(std::uint64_t secret) {
  std::uint32_t words[4];
  for (std::uint32_t i = 0; i < 4; ++i) {
    words[i] = static_cast<std::uint32_t>(XXH3_64bits_withSeed(&i, sizeof(i), secret));
  }
  return SlotNames(words);
}

}  // namespace

MemoryTable::MemoryTable(std::uint32_t capacity, std::uint64_t secret)
    : capacity_(capacity), names_(names_from(secret)), slots_(new Slot[capacity]), free_(new std::uint32_t[capacity]) {
  UROCE_ASSERT(capacity >= 1 && capacity <= 1u << 20);
  for (std::uint32_t i = 0; i < capacity; ++i) {
    free_[i] = i;
    slots_[i].tag = static_cast<std::uint8_t>(XXH3_64bits_withSeed(&i, sizeof(i), ~secret));
  }
  free_count_ = capacity;
}

MemoryTable::MemoryTable(std::uint32_t capacity, Dictated) : MemoryTable(capacity, 0) {
  names_ = SlotNames{};
  dictated_ = true;
}

Result<void> MemoryTable::register_dictated(std::uint32_t key, const Registration& r) {
  UROCE_ASSERT(dictated_);
  if (auto ok = check(r); !ok) return ok;
  const std::uint32_t index = key >> 8;
  if (index >= capacity_) {
    return fail(ErrorCode::invalid_argument, "memory region: key " + std::to_string(key) + " needs slot " +
                                                 std::to_string(index) + " of " + std::to_string(capacity_));
  }
  Slot& s = slots_[index];
  if (s.live.load(std::memory_order_relaxed)) {
    return fail(ErrorCode::busy, "memory region: the slot of key " + std::to_string(key) + " is in use");
  }
  s.region = r;
  s.key.store(key, std::memory_order_relaxed);
  s.live.store(true, std::memory_order_release);
  ++live_;
  return {};
}

Result<void> MemoryTable::check(const Registration& r) {
  const auto start = reinterpret_cast<std::uintptr_t>(r.address);
  if (r.length != 0 && start + (r.length - 1) < start) {
    return fail(ErrorCode::invalid_argument, "memory region: address + length " + std::to_string(r.length) + " wraps");
  }
  if (r.length != 0 && r.iova + (r.length - 1) < r.iova) {
    return fail(ErrorCode::invalid_argument, "memory region: iova " + std::to_string(r.iova) + " + length " +
                                                 std::to_string(r.length) + " wraps the 64-bit remote address space");
  }
  if ((r.access.has(Access::remote_write) || r.access.has(Access::remote_atomic)) && !r.access.has(Access::local_write)) {
    return fail(ErrorCode::invalid_argument,
                "memory region: remote_write and remote_atomic need local_write as well (IBTA 10.6.3)");
  }
  return {};
}

Result<std::uint32_t> MemoryTable::register_region(const Registration& r) {
  UROCE_ASSERT(!dictated_);
  if (auto ok = check(r); !ok) return tl::unexpected(ok.error());
  if (free_count_ == 0) {
    return fail(ErrorCode::no_room, "memory regions: all " + std::to_string(capacity_) + " are in use");
  }
  const std::uint32_t index = free_[free_head_];
  free_head_ = (free_head_ + 1) % capacity_;
  --free_count_;
  ++live_;
  Slot& s = slots_[index];
  s.region = r;
  s.tag = static_cast<std::uint8_t>(s.tag + 1);
  std::uint32_t key = names_.name(index) << 8 | s.tag;
  if (key == 0) key = names_.name(index) << 8 | ++s.tag;  // 0 is never a key: it is what forgotten fields hold
  s.key.store(key, std::memory_order_relaxed);
  // Release: whoever sees the key live sees its region.
  s.live.store(true, std::memory_order_release);
  return key;
}

Result<void> MemoryTable::kill(std::uint32_t key) {
  const std::uint32_t index = names_.slot(key >> 8);
  // A free slot holds key 0.
  if (key == 0 || index >= capacity_ || slots_[index].key.load(std::memory_order_relaxed) != key) {
    return fail(ErrorCode::not_found, "memory region: no region has key " + std::to_string(key));
  }
  slots_[index].live.store(false, std::memory_order_seq_cst);  // before the grace period's look at the workers
  return {};
}

void MemoryTable::release(std::uint32_t key) {
  const std::uint32_t index = names_.slot(key >> 8);
  UROCE_ASSERT(key != 0 && index < capacity_ && slots_[index].key.load(std::memory_order_relaxed) == key);
  slots_[index].key.store(0, std::memory_order_relaxed);
  --live_;
  if (dictated_) return;  // no slot of such a table is ever chosen
  free_[(free_head_ + free_count_) % capacity_] = index;
  ++free_count_;
}

}  // namespace uroce::memory
