// SPDX-License-Identifier: BSD-3-Clause
#include "number_option.h"

#include <fmt/format.h>

#include <charconv>

namespace uroce::tools {

std::optional<std::uint64_t> parse_number(std::string_view text) noexcept {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void refuse_number(const std::string& option, const std::string& text, std::uint64_t min, std::uint64_t max) {
  const auto allowed = max == UINT64_MAX ? fmt::format("a number of at least {}", min)
                                         : fmt::format("a number from {} to {} ({:#x})", min, max, max);
  throw CLI::ValidationError(option, fmt::format("'{}' is not {}", text, allowed));
}

}  // namespace uroce::tools
