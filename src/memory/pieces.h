// SPDX-License-Identifier: BSD-3-Clause
// A scatter/gather list as a run of bytes: the translated pieces that hold [offset, offset + length) of it.
#pragma once
#include <array>
#include <span>

#include "memory/copy.h"
#include "memory/memory_table.h"
#include "wire/crc.h"

namespace uroce::memory {

struct Piece {
  std::uint8_t* address;
  std::uint32_t length;
};

// Every key is checked before a byte is touched. Pieces point into registered memory and are valid for this turn.
class Pieces {
 public:
  // False when a key, range or permission fails, or the list is shorter than offset + length.
  bool resolve(const MemoryTable& memory, PdNumber pd, std::span<const Sge> sges, std::uint64_t offset,
               std::uint32_t length, AccessFlags needed) noexcept {
    return sges.size() == 1 ? resolve_one(memory, pd, sges[0], offset, length, needed)
                            : resolve_list(memory, pd, sges, offset, length, needed);
  }

  // As one run, from the list's start to the frame.
  void gather(std::uint8_t* to) const noexcept {
    for (unsigned i = 0; i < count_; ++i) {
      base::copy(to, pieces_[i].address, pieces_[i].length);
      to += pieces_[i].length;
    }
  }
  std::uint32_t gather_crc(std::uint8_t* to, std::uint32_t crc) const noexcept {
    for (unsigned i = 0; i < count_; ++i) {
      crc = wire::copy_crc(to, pieces_[i].address, pieces_[i].length, crc);
      to += pieces_[i].length;
    }
    return crc;
  }
  void scatter(const std::uint8_t* from) const noexcept {
    for (unsigned i = 0; i < count_; ++i) {
      copy_visible(pieces_[i].address, from, pieces_[i].length);
      from += pieces_[i].length;
    }
  }

 private:
  // Most lists have one entry.
  bool resolve_one(const MemoryTable& memory, PdNumber pd, const Sge& sge, std::uint64_t offset, std::uint32_t length,
                   AccessFlags needed) noexcept {
    count_ = 0;
    if (length == 0) return true;
    if (offset > sge.length || length > sge.length - offset || sge.address + offset < sge.address) return false;
    KeyFault why;
    std::uint8_t* p = memory.translate(sge.lkey, pd, sge.address + offset, length, needed, why);
    if (p == nullptr) return false;
    pieces_[count_++] = {p, length};
    return true;
  }
  bool resolve_list(const MemoryTable& memory, PdNumber pd, std::span<const Sge> sges, std::uint64_t offset,
                    std::uint32_t length, AccessFlags needed) noexcept;
  std::array<Piece, kMaxSges> pieces_;
  unsigned count_ = 0;
};

}  // namespace uroce::memory
