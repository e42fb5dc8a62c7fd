// SPDX-License-Identifier: BSD-3-Clause
// A set of enumerators. E's values are bit numbers.
#pragma once
#include <cstdint>
#include <initializer_list>

namespace uroce {

template <class E>
class FlagSet {
 public:
  constexpr FlagSet() noexcept = default;
  constexpr FlagSet(E e) noexcept : bits_(bit(e)) {}  // NOLINT: one flag is a set
  constexpr FlagSet(std::initializer_list<E> es) noexcept {
    for (E e : es) bits_ |= bit(e);
  }
  [[nodiscard]] constexpr bool has(E e) const noexcept { return (bits_ & bit(e)) != 0; }
  [[nodiscard]] constexpr bool contains(FlagSet o) const noexcept { return (o.bits_ & ~bits_) == 0; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }
  static constexpr FlagSet from_bits(std::uint32_t b) noexcept {
    FlagSet f;
    f.bits_ = b;
    return f;
  }
  constexpr FlagSet& operator|=(FlagSet o) noexcept { return bits_ |= o.bits_, *this; }
  friend constexpr FlagSet operator|(FlagSet a, FlagSet b) noexcept { return from_bits(a.bits_ | b.bits_); }
  friend constexpr FlagSet operator&(FlagSet a, FlagSet b) noexcept { return from_bits(a.bits_ & b.bits_); }
  friend constexpr FlagSet operator-(FlagSet a, FlagSet b) noexcept { return from_bits(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(FlagSet, FlagSet) noexcept = default;

 private:
  static constexpr std::uint32_t bit(E e) noexcept { return 1u << static_cast<unsigned>(e); }
  std::uint32_t bits_ = 0;
};

}  // namespace uroce
