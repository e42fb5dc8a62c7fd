// SPDX-License-Identifier: BSD-3-Clause
// Text into a caller's buffer, without allocation: what does not fit is cut, never overrun.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace uroce::base {

class TextWriter {
 public:
  explicit constexpr TextWriter(std::span<char> room) noexcept : room_(room) {}

  constexpr TextWriter& put(std::string_view s) noexcept {
    for (char c : s) put_char(c);
    return *this;
  }
  constexpr TextWriter& put_char(char c) noexcept {
    if (used_ < room_.size()) room_[used_++] = c;
    return *this;
  }
  constexpr TextWriter& dec(std::uint64_t v) noexcept {
    char digits[20];
    std::size_t n = 0;
    do digits[n++] = static_cast<char>('0' + v % 10);
    while ((v /= 10) != 0);
    while (n != 0) put_char(digits[--n]);
    return *this;
  }
  // At least `width` hexadecimal digits, no prefix.
  constexpr TextWriter& hex(std::uint64_t v, unsigned width = 1) noexcept {
    for (int shift = 60; shift >= 0; shift -= 4) {
      const auto nibble = static_cast<unsigned>(v >> shift) & 15u;
      if (nibble != 0 || static_cast<unsigned>(shift / 4) < width || (v >> shift) != 0) {
        put_char("0123456789abcdef"[nibble]);
      }
    }
    return *this;
  }
  [[nodiscard]] constexpr std::string_view view() const noexcept { return {room_.data(), used_}; }

 private:
  std::span<char> room_;
  std::size_t used_ = 0;
};

}  // namespace uroce::base
