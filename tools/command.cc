// SPDX-License-Identifier: BSD-3-Clause
#include "command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

namespace uroce::tools {
namespace {

std::vector<Command>& registered() {
  static std::vector<Command> all;  // in a function: registrations run in no known order before main
  return all;
}

}  // namespace

Registration::Registration(const Command& command) {
  registered().push_back(command);
}

std::vector<Command> commands() {
  auto all = registered();
  std::sort(all.begin(), all.end(),
            [](const Command& a, const Command& b) { return std::tie(a.group, a.name) < std::tie(b.group, b.name); });
  return all;
}

void print_error(std::string_view message) {
  std::fflush(stdout);  // results that came before the error stay before it
  fmt::print(stderr, "uroce: {}\n", message);
}

}  // namespace uroce::tools
