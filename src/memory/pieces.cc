// SPDX-License-Identifier: BSD-3-Clause
#include "memory/pieces.h"

#include <algorithm>

namespace uroce::memory {

bool Pieces::resolve_list(const MemoryTable& memory, PdNumber pd, std::span<const Sge> sges, std::uint64_t offset,
                          std::uint32_t length, AccessFlags needed) noexcept {
  count_ = 0;
  for (const Sge& sge : sges) {
    if (length == 0) break;
    if (offset >= sge.length) {
      offset -= sge.length;
      continue;
    }
    const auto take = static_cast<std::uint32_t>(std::min<std::uint64_t>(length, sge.length - offset));
    if (sge.address + offset < sge.address) return false;  // wraps: it would lead to the start of the address space
    KeyFault why;
    std::uint8_t* p = memory.translate(sge.lkey, pd, sge.address + offset, take, needed, why);
    if (p == nullptr) return false;
    pieces_[count_++] = {p, take};
    length -= take;
    offset = 0;
  }
  return length == 0;
}

}  // namespace uroce::memory
