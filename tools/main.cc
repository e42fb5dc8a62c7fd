// SPDX-License-Identifier: BSD-3-Clause
// The `uroce` program: finds the subcommand, parses its options, runs it.
#include <fmt/core.h>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "command.h"

namespace uroce::tools {
namespace {

struct GroupInfo {
  std::string_view name;
  std::string_view summary;
};
constexpr GroupInfo kGroups[] = {
    {"pcap", "check, print and replay captures of RoCEv2 traffic (pcap and pcapng)"},
};

std::string group_summary(std::string_view name) {
  for (const auto& g : kGroups) {
    if (g.name == name) return std::string(g.summary);
  }
  return {};
}

// The command or group that the arguments reached before something went wrong.
const CLI::App* deepest(const CLI::App* app) {
  for (;;) {
    const auto parsed = app->get_subcommands();  // those that were given
    if (parsed.empty()) return app;
    app = parsed.front();
  }
}

std::string full_name(const CLI::App* app) {
  return app->get_parent() == nullptr ? app->get_name() : full_name(app->get_parent()) + " " + app->get_name();
}

std::string subcommand_names(const CLI::App* app) {
  std::string names;
  for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + sub->get_name();
  }
  return names;
}

Exit usage_error(const CLI::App& app, std::string message) {
  const CLI::App* at = deepest(&app);
  if (const auto names = subcommand_names(at); !names.empty()) message += fmt::format(" (commands: {})", names);
  print_error(message);
  fmt::print(stderr, "Type `{} --help` for what is allowed.\n", full_name(at));
  return Exit::usage;
}

std::string words(const std::vector<std::string>& list) {
  std::string all;
  for (const auto& w : list) all += (all.empty() ? "'" : " '") + w + "'";
  return all;
}

Exit run(int argc, char** argv) {
  CLI::App app{"RoCEv2 in user space: tools", "uroce"};
  app.set_version_flag("--version", "uroce " UROCE_VERSION);
  Run chosen;
  std::map<std::string_view, CLI::App*> groups;
  for (const Command& c : commands()) {
    CLI::App* parent = &app;
    if (!c.group.empty()) {
      auto& group = groups[c.group];
      if (group == nullptr) group = app.add_subcommand(std::string(c.group), group_summary(c.group));
      parent = group;
    }
    CLI::App* sub = parent->add_subcommand(std::string(c.name), std::string(c.summary));
    sub->callback([&chosen, run_command = c.add(*sub)] { chosen = run_command; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    const auto extras = app.remaining(true);
    const bool option = !extras.empty() && extras.front().starts_with('-');
    const bool wants_command = !subcommand_names(deepest(&app)).empty();
    return usage_error(app, fmt::format("{} {}",
                                        option          ? "unknown option"
                                        : wants_command ? "unknown command"
                                                        : "unexpected argument",
                                        words(extras)));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e), Exit::ok;  // --help, --version
    return usage_error(app, e.what());
  }
  if (!chosen) return usage_error(app, "a command is missing");
  return chosen();
}

}  // namespace
}  // namespace uroce::tools

int main(int argc, char** argv) {
  using uroce::tools::Exit;
  Exit exit = Exit::failed;
  try {
    exit = uroce::tools::run(argc, argv);
    // Output that never arrived is no success: a full disk, a closed pipe.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      std::fputs("uroce: cannot write to standard output\n", stderr);
      exit = Exit::failed;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "uroce: %s\n", e.what());
    exit = Exit::failed;
  }
  return static_cast<int>(exit);
}
