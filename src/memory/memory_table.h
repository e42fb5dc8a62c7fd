// SPDX-License-Identifier: BSD-3-Clause
// Registered memory: keys and where they lead. A key is 24 bits that name a slot, permuted with a secret so that no key
// tells another, and 8 bits that change with each use of the slot.
//
// Threads: register, deregister and invalidate-by-owner belong to one control thread at a time (the API locks);
// translate() may run on any worker at the same time. A key dies with one store; the memory may be unmapped once every
// worker has left the turn it was in (engine::GracePeriod), as a translation is never kept across turns.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include <uroce/result.h>
#include <uroce/types.h>

#include "memory/slot_names.h"

namespace uroce::memory {

using PdNumber = std::uint32_t;

enum class KeyFault : std::uint8_t { none, no_such_key, wrong_pd, no_permission, out_of_range };

struct Registration {
  std::uint8_t* address = nullptr;  // where the bytes are
  std::uint64_t length = 0;
  std::uint64_t iova = 0;  // the remote address of the first byte
  AccessFlags access{};
  PdNumber pd = 0;
};

class MemoryTable {
 public:
  // Room for `capacity` regions (1 .. 2^20); `secret` is unpredictable outside tests.
  MemoryTable(std::uint32_t capacity, std::uint64_t secret);

  // For replays of recorded traffic: keys are what the recording says, so they are dictated and not secret.
  struct Dictated {};
  MemoryTable(std::uint32_t capacity, Dictated);
  // Errors: as register_region(); invalid_argument for a key whose upper 24 bits are not under the capacity; busy.
  Result<void> register_dictated(std::uint32_t key, const Registration& r);

  // The key, valid for local and remote use alike. Errors: no_room; invalid_argument for an address or iova range that
  // wraps, or remote write or atomic without local write.
  Result<std::uint32_t> register_region(const Registration& r);
  // The key stops working at once. Errors: not_found.
  Result<void> kill(std::uint32_t key);
  // Gives the slot of a killed key back, after the grace period.
  void release(std::uint32_t key);

  // A peer's SEND with invalidate, on a worker: true when the key was live, of this PD and allows it. It is dead then.
  bool invalidate(std::uint32_t key, PdNumber pd) noexcept;

  // The bytes [address, address + length) of the key's remote address space, or nullptr and why. Bounds are checked
  // without ever adding to an address, so nothing wraps.
  std::uint8_t* translate(std::uint32_t key, PdNumber pd, std::uint64_t address, std::uint64_t length, AccessFlags needed,
                          KeyFault& why) const noexcept {
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

  [[nodiscard]] std::uint32_t live() const noexcept { return live_; }

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> key{0};
    std::atomic<bool> live{false};
    Registration region;
    std::uint8_t tag = 0;
  };
  static Result<void> check(const Registration& r);
  Slot* find(std::uint32_t key) const noexcept {
    const std::uint32_t index = names_.slot(key >> 8);
    if (index >= capacity_) return nullptr;
    Slot& s = slots_[index];
    // Acquire: pairs with the release in register_region(), so the region read after this is the key's own.
    if (!s.live.load(std::memory_order_acquire) || s.key.load(std::memory_order_relaxed) != key) return nullptr;
    return &s;
  }

  std::uint32_t capacity_;
  SlotNames names_;
  bool dictated_ = false;
  std::uint32_t live_ = 0;
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<std::uint32_t[]> free_;  // a FIFO, so that a freed slot rests as long as possible
  std::uint32_t free_head_ = 0, free_count_ = 0;
};

}  // namespace uroce::memory
