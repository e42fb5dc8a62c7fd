// SPDX-License-Identifier: BSD-3-Clause
// The words of a script line: key=value and bare flags, numbers with names in them, and errors that say where, which
// word, and what would have been allowed.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace uroce::script {

struct ScriptError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Line {
  std::string file;
  unsigned number = 0;
  std::vector<std::string> words;
  // Stops the script with "file:line: what".
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void bad_word(std::string_view word, std::string_view allowed) const;
};

// Comments (from '#') and empty lines are left out. `file` is for messages.
std::vector<Line> split_lines(std::string_view text, const std::string& file);

// What stands for a number by name; nullopt when unknown.
using Names = std::function<std::optional<std::uint64_t>(std::string_view)>;

// number := term (('+' | '-') term)*    term := factor ('*' factor)*    factor := decimal | 0xhex | name
std::uint64_t evaluate(const Line& line, std::string_view text, const Names& names);

// "0", "5us", "2.5ms", "1s", "300ns" in nanoseconds; `word` is what a message quotes.
std::int64_t parse_time(const Line& line, std::string_view text, std::string_view word);

using Keys = std::initializer_list<std::string_view>;

class Args {
 public:
  // Words that are neither key=... nor a flag out of `allowed`, and keys given twice, stop the script.
  Args(const Line& line, std::span<const std::string> words, const std::vector<std::string_view>& allowed,
       const Names& names);
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  [[nodiscard]] std::optional<std::string_view> text(std::string_view key) const;
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const;
  [[nodiscard]] std::uint64_t number_or(std::string_view key, std::uint64_t otherwise) const;
  // Stops the script when the key is missing.
  [[nodiscard]] std::uint64_t need(std::string_view key) const;
  [[nodiscard]] const Line& line() const { return *line_; }
  [[nodiscard]] const Names& names() const { return *names_; }

 private:
  struct Item {
    std::string_view key, value;
  };
  [[nodiscard]] const Item* find(std::string_view key) const;
  const Line* line_;
  const Names* names_;
  std::vector<Item> items_;
};

// Bytes that tell their place: 'pattern=a+100' is pattern 'a' from its byte 100 on.
struct Pattern {
  char name = 'a';
  std::uint64_t offset = 0;
  [[nodiscard]] std::uint8_t at(std::uint64_t i) const noexcept {
    const std::uint64_t p = offset + i;
    return static_cast<std::uint8_t>(static_cast<std::uint64_t>(name) * 37 + p * 7 + p / 251);
  }
};
Pattern parse_pattern(const Line& line, std::string_view text, const Names& names);

}  // namespace uroce::script
