// SPDX-License-Identifier: BSD-3-Clause
// An option that takes a whole number. CLI11's own conversion reads 010 as eight, clips what is too large and names
// ranges in floating point.
#pragma once
#include <CLI/CLI.hpp>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace uroce::tools {

// Decimal, or hexadecimal after 0x; nothing else around it.
std::optional<std::uint64_t> parse_number(std::string_view text) noexcept;

[[noreturn]] void refuse_number(const std::string& option, const std::string& text, std::uint64_t min,
                                std::uint64_t max);

// `target` may be an integer, which keeps its value when the option is not given, or an optional of one.
template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& name, T& target, std::uint64_t min, std::uint64_t max,
                        const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, name, min, max](const std::string& text) {
            const auto v = parse_number(text);
            if (!v || *v < min || *v > max) refuse_number(name, text, min, max);
            if constexpr (std::integral<T>) {
              target = static_cast<T>(*v);
            } else {
              target = static_cast<typename T::value_type>(*v);
            }
          },
          help)
      ->type_name("N");
}

}  // namespace uroce::tools
