// SPDX-License-Identifier: BSD-3-Clause
// How a subcommand enters the program: a file of its own with one static Registration, and its name in meson.build.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>
#include <vector>

namespace uroce::tools {

// What every subcommand returns. Wrong usage is found before a subcommand runs, except where it says so itself.
enum class Exit : int {
  ok = 0,
  failed = 1,  // a check failed, or a file or device could not be used
  usage = 2,
};

using Run = std::function<Exit()>;

struct Command {
  std::string_view group;  // "" for a command of its own, "pcap" for `uroce pcap NAME`
  std::string_view name;
  std::string_view summary;
  // Adds the options to `app` and returns what runs once they are parsed; their storage lives in the returned function.
  Run (*add)(CLI::App& app);
};

class Registration {
 public:
  explicit Registration(const Command& command);
};

// Sorted by group and name, so that help does not depend on link order.
std::vector<Command> commands();

// "uroce: message" on stderr.
void print_error(std::string_view message);

}  // namespace uroce::tools
