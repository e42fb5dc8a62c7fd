// SPDX-License-Identifier: BSD-3-Clause
// Where neighbours are kept: the hash index, the lists, and who makes room for whom.
#include "base/assert.h"
#include "net/neighbours.h"

namespace uroce::net {

void IndexSet::add(std::uint32_t i) noexcept {
  if (contains(i)) return;
  words_[i / 64] |= std::uint64_t{1} << (i % 64);
  ++size_;
}

void IndexSet::remove(std::uint32_t i) noexcept {
  if (!contains(i)) return;
  words_[i / 64] &= ~(std::uint64_t{1} << (i % 64));
  --size_;
}

std::optional<std::uint32_t> IndexSet::take() noexcept {
  if (size_ == 0) return std::nullopt;
  std::uint32_t word = next_ / 64;
  std::uint64_t left = words_[word] & (~std::uint64_t{0} << (next_ % 64));
  while (left == 0) {
    word = (word + 1) % word_count_;
    left = words_[word];
  }
  const std::uint32_t i = word * 64 + static_cast<std::uint32_t>(std::countr_zero(left));
  remove(i);
  next_ = (i + 1) % (word_count_ * 64);
  return i;
}

NeighbourTable::Entry* NeighbourTable::find(const IpAddress& a) const noexcept {
  for (std::uint32_t at = hash_of(a) & mask_; index_[at] != kNone; at = (at + 1) & mask_) {
    Entry& e = entries_[index_[at]];
    if (e.address == a) return &e;
  }
  return nullptr;
}

// The oldest of the least that matters. For a stranger nothing that we asked for is given up.
NeighbourTable::Entry* NeighbourTable::victim(bool wanted) noexcept {
  for (const List list : {List::free, List::learned, List::unresolved, List::used}) {
    if (!wanted && list > List::learned) break;
    const Ends& ends = lists_[static_cast<std::size_t>(list)];
    if (ends.oldest != kNone) return &entries_[ends.oldest];
  }
  return nullptr;
}

NeighbourTable::Entry* NeighbourTable::create(const IpAddress& a, bool wanted) noexcept {
  Entry* e = victim(wanted);
  if (e == nullptr) {
    counters_.add(Counter::neighbour_table_full);
    return nullptr;
  }
  if (e->list != List::free) {
    counters_.add(Counter::neighbours_evicted);
    forget(*e);
  }
  e->address = a;
  e->hash = hash_of(a);
  e->wanted = wanted;
  e->asked_since = false;
  std::uint32_t at = e->hash & mask_;
  while (index_[at] != kNone) at = (at + 1) & mask_;
  index_[at] = static_cast<std::uint16_t>(index_of(*e));
  ++size_;
  return e;
}

void NeighbourTable::forget(Entry& e) noexcept {
  UROCE_DASSERT(e.holds == 0 && e.list != List::free);
  remove_from_index(e);
  owed_.remove(index_of(e));
  changed_.remove(index_of(e));
  wheel_.disarm(e.timer);
  unlink(e);
  link(e, List::free);
  --size_;
}

// Linear probing without tombstones: what was pushed past the gap moves back into it.
void NeighbourTable::remove_from_index(const Entry& e) noexcept {
  std::uint32_t gap = e.hash & mask_;
  while (index_[gap] != index_of(e)) gap = (gap + 1) & mask_;
  for (std::uint32_t at = (gap + 1) & mask_; index_[at] != kNone; at = (at + 1) & mask_) {
    const std::uint32_t home = entries_[index_[at]].hash & mask_;
    if (((at - home) & mask_) >= ((at - gap) & mask_)) {
      index_[gap] = index_[at];
      gap = at;
    }
  }
  index_[gap] = kNone;
}

NeighbourTable::List NeighbourTable::list_of(const Entry& e) noexcept {
  if (e.holds != 0) return List::held;
  if (!e.wanted) return List::learned;
  return e.usable() ? List::used : List::unresolved;
}

void NeighbourTable::unlink(Entry& e) noexcept {
  Ends& ends = lists_[static_cast<std::size_t>(e.list)];
  (e.previous == kNone ? ends.oldest : entries_[e.previous].next) = e.next;
  (e.next == kNone ? ends.newest : entries_[e.next].previous) = e.previous;
}

void NeighbourTable::link(Entry& e, List list) noexcept {
  Ends& ends = lists_[static_cast<std::size_t>(list)];
  const auto i = static_cast<std::uint16_t>(index_of(e));
  e.list = list;
  e.next = kNone;
  e.previous = ends.newest;
  (ends.newest == kNone ? ends.oldest : entries_[ends.newest].next) = i;
  ends.newest = i;
}

// To the young end of the list it belongs to now.
void NeighbourTable::refile(Entry& e) noexcept {
  unlink(e);
  link(e, list_of(e));
}

}  // namespace uroce::net
