// SPDX-License-Identifier: BSD-3-Clause
// Addresses as RoCEv2 has them: a GID is an IPv6 address, or an IPv4 one as ::ffff:a.b.c.d.
#pragma once
#include <uroce/result.h>

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace uroce {

struct Gid {
  std::array<std::uint8_t, 16> bytes{};
  // "10.0.0.1" or "fd00::1". Errors: invalid_argument.
  static Result<Gid> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  friend constexpr auto operator<=>(const Gid&, const Gid&) = default;
};

}  // namespace uroce
