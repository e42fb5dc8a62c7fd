// SPDX-License-Identifier: BSD-3-Clause
// memcpy for payloads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace uroce::base {

namespace detail {
// Sixteen bytes in a register. Reached by memcpy alone: gcc and clang read an alignment attribute on such a type differently.
using Block = long long __attribute__((vector_size(16)));

inline Block load(const std::uint8_t* from) noexcept {
  Block block;
  std::memcpy(&block, from, sizeof block);
  return block;
}

inline void store(std::uint8_t* to, Block block) noexcept {
  std::memcpy(std::assume_aligned<sizeof block>(to), &block, sizeof block);
}
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
    const detail::Block a = detail::load(from), b = detail::load(from + 16);
    const detail::Block c = detail::load(from + 32), d = detail::load(from + 48);
    detail::store(to, a);
    detail::store(to + 16, b);
    detail::store(to + 32, c);
    detail::store(to + 48, d);
    asm("" ::: "memory");  // or the compiler would see a memcpy in the loop, and call it
  }
  std::memcpy(to, from, length);
}

}  // namespace uroce::base
