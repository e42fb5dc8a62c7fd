// SPDX-License-Identifier: BSD-3-Clause
#include "args.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace uroce::script {
namespace {

bool word_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

// A left-to-right reader of one number expression.
class Expression {
 public:
  Expression(const Line& line, std::string_view text, const Names& names) : line_(line), text_(text), names_(names) {}
  std::uint64_t whole() {
    std::uint64_t v = term();
    while (at_ < text_.size()) {
      const char op = text_[at_++];
      if (op == '+') {
        v += term();
      } else if (op == '-') {
        v -= term();
      } else {
        bad();
      }
    }
    return v;
  }

 private:
  std::uint64_t term() {
    std::uint64_t v = factor();
    while (at_ < text_.size() && text_[at_] == '*') {
      ++at_;
      v *= factor();
    }
    return v;
  }
  std::uint64_t factor() {
    const std::size_t start = at_;
    while (at_ < text_.size() && word_char(text_[at_])) ++at_;
    std::string_view word = text_.substr(start, at_ - start);
    if (word.empty()) bad();
    if (word[0] >= '0' && word[0] <= '9') {
      const bool hex = word.starts_with("0x");
      if (hex) word.remove_prefix(2);
      std::uint64_t v = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v, hex ? 16 : 10);
      if (error != std::errc{} || end != word.data() + word.size()) bad();
      return v;
    }
    const auto v = names_(word);
    if (!v) bad();
    return *v;
  }
  [[noreturn]] void bad() const {
    line_.bad_word(text_,
                   "a number: decimal, 0x hexadecimal, $ (round of the repeat), target, local, sink, mtu or the "
                   "name of a key; joined by + - *");
  }
  const Line& line_;
  std::string_view text_;
  const Names& names_;
  std::size_t at_ = 0;
};

}  // namespace

void Line::fail(const std::string& what) const {
  throw ScriptError(file + ":" + std::to_string(number) + ": " + what);
}

void Line::bad_word(std::string_view word, std::string_view allowed) const {
  fail("word '" + std::string(word) + "' is not understood; allowed here: " + std::string(allowed));
}

std::vector<Line> split_lines(std::string_view text, const std::string& file) {
  std::vector<Line> lines;
  std::istringstream in{std::string(text)};
  std::string raw;
  for (unsigned number = 1; std::getline(in, raw); ++number) {
    std::istringstream words(raw.substr(0, raw.find('#')));
    Line line{file, number, {}};
    for (std::string word; words >> word;) line.words.push_back(word);
    if (!line.words.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::uint64_t evaluate(const Line& line, std::string_view text, const Names& names) {
  return Expression(line, text, names).whole();
}

std::int64_t parse_time(const Line& line, std::string_view text, std::string_view word) {
  static constexpr std::string_view kAllowed = "a time: 0, or a number with at most 3 decimals and ns, us, ms or s";
  std::size_t at = 0;
  std::int64_t thousandths = 0, scale = 1000;
  for (; at < text.size() && ((text[at] >= '0' && text[at] <= '9') || text[at] == '.'); ++at) {
    if (text[at] == '.') {
      if (scale != 1000) line.bad_word(word, kAllowed);
      scale = 100;
      continue;
    }
    const std::int64_t digit = text[at] - '0';
    if (scale == 1000) {
      thousandths = thousandths * 10 + digit * 1000;
    } else {
      if (scale == 0) line.bad_word(word, kAllowed);
      thousandths += digit * scale;
      scale /= 10;
    }
  }
  const std::string_view unit = text.substr(at);
  if (at == 0 || (unit.empty() && thousandths != 0)) line.bad_word(word, kAllowed);
  if (unit.empty()) return 0;
  if (unit == "ns") return thousandths / 1000;
  if (unit == "us") return thousandths;
  if (unit == "ms") return thousandths * 1000;
  if (unit == "s") return thousandths * 1000 * 1000;
  line.bad_word(word, kAllowed);
}

Args::Args(const Line& line, std::span<const std::string> words, const std::vector<std::string_view>& allowed,
           const Names& names)
    : line_(&line), names_(&names) {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const Item item{std::string_view(word).substr(0, equals),
                    equals == std::string::npos ? std::string_view("1") : std::string_view(word).substr(equals + 1)};
    if (std::find(allowed.begin(), allowed.end(), item.key) == allowed.end()) {
      std::string list;
      for (std::string_view a : allowed) list += (list.empty() ? "" : ", ") + std::string(a);
      line.bad_word(word, list.empty() ? "nothing more" : list);
    }
    if (has(item.key)) line.fail("word '" + word + "': " + std::string(item.key) + " is given twice");
    items_.push_back(item);
  }
}

const Args::Item* Args::find(std::string_view key) const {
  for (const Item& i : items_) {
    if (i.key == key) return &i;
  }
  return nullptr;
}

std::optional<std::string_view> Args::text(std::string_view key) const {
  const Item* i = find(key);
  return i == nullptr ? std::nullopt : std::optional(i->value);
}

std::optional<std::uint64_t> Args::number(std::string_view key) const {
  const Item* i = find(key);
  return i == nullptr ? std::nullopt : std::optional(evaluate(*line_, i->value, *names_));
}

std::uint64_t Args::number_or(std::string_view key, std::uint64_t otherwise) const {
  return number(key).value_or(otherwise);
}

std::uint64_t Args::need(std::string_view key) const {
  const auto v = number(key);
  if (!v) line_->fail("'" + std::string(key) + "=' is missing");
  return *v;
}

Pattern parse_pattern(const Line& line, std::string_view text, const Names& names) {
  if (text.empty() || text[0] < 'a' || text[0] > 'z' || (text.size() > 1 && text[1] != '+')) {
    line.bad_word(text, "a pattern: one letter a..z, then +OFFSET if it does not start at byte 0");
  }
  return {text[0], text.size() > 1 ? evaluate(line, text.substr(2), names) : 0};
}

}  // namespace uroce::script
