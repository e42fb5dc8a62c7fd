// SPDX-License-Identifier: BSD-3-Clause
// An unsigned integer stored big-endian in exactly N bytes, alignment 1. A field of this type can't be mistaken for a
// host-order integer: there is no implicit conversion either way.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace uroce::wire {

template <std::unsigned_integral T, std::size_t N>
  requires(N <= sizeof(T))
class BigEndian {
 public:
  BigEndian() = default;
  constexpr explicit BigEndian(T v) noexcept { set(v); }
  [[nodiscard]] constexpr T get() const noexcept { return load(std::make_index_sequence<N>{}); }
  constexpr void set(T v) noexcept { store(v, std::make_index_sequence<N>{}); }
  friend constexpr bool operator==(BigEndian, BigEndian) = default;

 private:
  // A fold, not a loop: gcc 12 turns this into one load + bswap at -O2; it does not see through the loop.
  template <std::size_t... I>
  [[nodiscard]] constexpr T load(std::index_sequence<I...>) const noexcept {
    return static_cast<T>((... | static_cast<T>(static_cast<T>(bytes_[I]) << (8 * (N - 1 - I)))));
  }
  template <std::size_t... I>
  constexpr void store(T v, std::index_sequence<I...>) noexcept {
    ((bytes_[I] = static_cast<std::uint8_t>(v >> (8 * (N - 1 - I)))), ...);
  }
  std::uint8_t bytes_[N];
};

using be16 = BigEndian<std::uint16_t, 2>;
using be24 = BigEndian<std::uint32_t, 3>;
using be32 = BigEndian<std::uint32_t, 4>;
using be64 = BigEndian<std::uint64_t, 8>;

// What may be laid over received bytes at any address.
template <class H>
concept Header = std::is_trivially_copyable_v<H> && std::is_standard_layout_v<H> && alignof(H) == 1 &&
                 std::has_unique_object_representations_v<H>;

}  // namespace uroce::wire
