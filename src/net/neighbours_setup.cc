// SPDX-License-Identifier: BSD-3-Clause
// The allocating half of the neighbour table.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/assert.h"
#include "net/neighbours.h"

namespace uroce::net {

IndexSet::IndexSet(std::uint32_t capacity)
    : word_count_((capacity + 63) / 64), words_(new std::uint64_t[word_count_]()) {}
IndexSet::~IndexSet() = default;

NeighbourTable::NeighbourTable(std::uint32_t capacity, std::uint64_t seed, base::Instant start, Counters& counters)
    : counters_(counters),
      seed_(seed),
      capacity_(capacity),
      mask_(std::bit_ceil(2 * capacity) - 1),
      entries_(new Entry[capacity]),
      index_(new std::uint16_t[mask_ + 1]),
      owed_(capacity),
      changed_(capacity),
      wheel_(start) {
  UROCE_ASSERT(capacity >= 1 && capacity <= 32768);
  std::fill_n(index_.get(), mask_ + 1, kNone);
  for (std::uint32_t i = 0; i < capacity; ++i) link(entries_[i], List::free);
}

NeighbourTable::~NeighbourTable() = default;

// Here because XXH3 brings allocating functions along, used or not.
std::uint32_t NeighbourTable::hash_of(const IpAddress& a) const noexcept {
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(a.bytes.data(), a.bytes.size(), seed_));
}

}  // namespace uroce::net
