// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <charconv>
#include <string>

#include "congestion/controller.h"

namespace uroce::congestion {
namespace {

template <class Items>
std::string names(const Items& items) {
  std::string all;
  for (const auto& i : items) {
    all += all.empty() ? "" : ", ";
    if constexpr (requires { i->name; }) {
      all += i->name;
    } else if constexpr (requires { i.name; }) {
      all += i.name;
    } else {
      all += i.key;
    }
  }
  return all;
}

auto refuse(const std::string& why) { return fail(ErrorCode::invalid_argument, "congestion control: " + why); }

// Appended to, not added up: gcc 12 at -O3 sees an overlap in operator+ that is not there.
std::string quoted(std::string_view s) {
  std::string out(1, '\'');
  out += s;
  out += '\'';
  return out;
}

// Of the notification point, which is the same whatever the algorithm.
constexpr ParameterInfo kNotification[] = {{"np_min_time_between_cnps", "us between CNPs of a flow", 0, 1'000'000},
                                           {"np_cnp_dscp", "DSCP of CNPs", 0, 63}};

Result<void> set(Profile& p, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return refuse(quoted(assignment) + ": KEY=VALUE is wanted");
  const std::string_view key = assignment.substr(0, equals), digits = assignment.substr(equals + 1);
  const auto& known = p.algorithm->parameters;
  const auto at = std::find_if(known.begin(), known.end(), [&](const ParameterInfo& i) { return i.key == key; });
  const auto notification = std::find_if(std::begin(kNotification), std::end(kNotification),
                                         [&](const ParameterInfo& i) { return i.key == key; });
  if (at == known.end() && notification == std::end(kNotification)) {
    return refuse(quoted(key) + " is no parameter of " + std::string(p.algorithm->name) + ", which has " + names(known) +
                  ", " + names(kNotification));
  }
  const ParameterInfo& info = at == known.end() ? *notification : *at;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || value < info.least || value > info.most) {
    return refuse(std::string(key) + " " + quoted(digits) + " is not in " + std::to_string(info.least) + " .. " +
                  std::to_string(info.most) + " (" + std::string(info.doc) + ")");
  }
  if (&info == &kNotification[0]) {
    p.cnp_gap = base::Duration::micros(value);
  } else if (&info == &kNotification[1]) {
    p.cnp_dscp = static_cast<std::uint8_t>(value);
  } else {
    p.values[static_cast<std::size_t>(at - known.begin())] = value;
  }
  return {};
}

}  // namespace

Result<Profile> make_profile(std::string_view text, std::uint64_t line_bps) {
  if (line_bps < kMinRate_bps || line_bps > kMaxRate_bps) {
    return refuse("a line of " + std::to_string(line_bps) + " b/s is not in 1000000 .. 400000000000");
  }
  Profile p;
  p.line_bps = line_bps;
  const auto take = [&text](char until) {
    const std::size_t n = std::min(text.find(until), text.size());
    const std::string_view word = text.substr(0, n);
    text.remove_prefix(std::min(n + 1, text.size()));
    return word;
  };
  std::string_view head = take(',');
  const std::size_t colon = std::min(head.find(':'), head.size());
  const std::string_view name = head.substr(0, colon);
  if (name == "none") {
    return head == name && text.empty() ? Result<Profile>(p) : refuse("'none' has no parameters");
  }
  for (const Algorithm* a : algorithms()) {
    if (a->name == name) p.algorithm = a;
  }
  if (p.algorithm == nullptr) return refuse(quoted(name) + " is not one of none, " + names(algorithms()));
  const auto& sets = p.algorithm->sets;
  const ParameterSet* chosen = &sets.front();
  if (colon != head.size()) {
    const std::string_view wanted = head.substr(colon + 1);
    const auto at = std::find_if(sets.begin(), sets.end(), [&](const ParameterSet& s) { return s.name == wanted; });
    if (at == sets.end()) {
      return refuse(quoted(wanted) + " is no parameter set of " + std::string(name) + ", which has " + names(sets));
    }
    chosen = &*at;
  }
  p.values = chosen->values;
  p.cnp_gap = base::Duration::micros(chosen->cnp_gap_us);
  while (!text.empty()) {
    if (auto r = set(p, take(',')); !r) return tl::unexpected(r.error());
  }
  return p;
}

}  // namespace uroce::congestion
