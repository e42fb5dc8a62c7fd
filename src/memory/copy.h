// SPDX-License-Identifier: BSD-3-Clause
// Copies between frames and registered memory.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wire/crc.h"

namespace uroce::memory {

namespace detail {
using Block = long long __attribute__((vector_size(16), may_alias));
using UnalignedBlock = long long __attribute__((vector_size(16), may_alias, aligned(1)));
}  // namespace detail

// memcpy, but for one thing: glibc copies long runs with REP MOVSB, which some CPUs slow down thirtyfold when source and
// destination lie alike in their pages (glibc bug 30994; 4 KiB in 2.6 us instead of 0.1 on Zen 3). Those are copied here,
// 64 bytes at a time, ascending.
inline void copy(std::uint8_t* to, const std::uint8_t* from, std::size_t length) noexcept {
  constexpr std::size_t kLong = 1024;
  if (length < kLong) {
    std::memcpy(to, from, length);
    return;
  }
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) & 15u;
  std::memcpy(to, from, head);
  to += head;
  from += head;
  length -= head;
  for (; length >= 64; length -= 64, to += 64, from += 64) {
    const auto* f = reinterpret_cast<const detail::UnalignedBlock*>(from);
    auto* t = reinterpret_cast<detail::Block*>(to);
    const detail::Block a = f[0], b = f[1], c = f[2], d = f[3];
    t[0] = a;
    t[1] = b;
    t[2] = c;
    t[3] = d;
    asm("" ::: "memory");  // or the compiler would see a memcpy in the loop, and call it
  }
  std::memcpy(to, from, length);
}

// Copies so that whoever spins on the last byte sees all the others once it has changed. The copy may store in any order
// and with non-temporal stores (which glibc ends in a fence); the last byte is a release store after it.
inline void copy_visible(std::uint8_t* to, const std::uint8_t* from, std::size_t length) noexcept {
  if (length == 0) return;
  copy(to, from, length - 1);
  std::atomic_ref<std::uint8_t>(to[length - 1]).store(from[length - 1], std::memory_order_release);
}

}  // namespace uroce::memory
