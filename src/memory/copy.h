// SPDX-License-Identifier: BSD-3-Clause
// Copies between frames and registered memory.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/copy.h"

namespace uroce::memory {

// Copies so that whoever spins on the last byte sees all the others once it has changed. The copy may store in any order
// and with non-temporal stores (which glibc ends in a fence); the last byte is a release store after it.
inline void copy_visible(std::uint8_t* to, const std::uint8_t* from, std::size_t length) noexcept {
  if (length == 0) return;
  base::copy(to, from, length - 1);
  std::atomic_ref<std::uint8_t>(to[length - 1]).store(from[length - 1], std::memory_order_release);
}

}  // namespace uroce::memory
