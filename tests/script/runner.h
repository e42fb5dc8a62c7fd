// SPDX-License-Identifier: BSD-3-Clause
// Runs a script: see README.md for the language.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "args.h"
#include "world.h"

namespace uroce::script {

class Runner {
 public:
  // Throws ScriptError, "file:line: what", for a script that is wrong and for one that does not hold.
  static void run_text(std::string_view text, const std::string& file);
  static void run_file(const std::filesystem::path& path);

 private:
  Runner(std::string_view text, const std::string& file);
  void whole();
  void block(std::size_t begin, std::size_t end);
  std::size_t matching_end(std::size_t repeat) const;
  void timed(const Line& line);
  void finish();

  // Commands (commands.cc, queue_commands.cc).
  void setup(const Line& line);
  void receive(const Line& line, bool with_next);
  void expect_sent(const Line& line, std::int64_t earliest, std::int64_t latest);
  void expect_nothing(const Line& line);
  void post(const Line& line);
  void post_send(const Line& line);
  void post_recv(const Line& line);
  void complete(const Line& line);
  void check_completion(const Line& line, const Completion& w, bool receive);
  void event(const Line& line);
  void state(const Line& line);
  void memory(const Line& line);
  void fill(const Line& line);
  void counter(const Line& line);
  void drop(const Line& line);
  void modify(const Line& line);
  void kill(const Line& line);
  void port(const Line& line);

  World& world();
  [[nodiscard]] std::vector<Sge> parse_sges(const Args& a, std::uint64_t base, std::string_view usual_key);
  std::uint8_t* place(const Line& line, std::uint64_t at, std::uint64_t length);
  std::optional<std::uint64_t> name(std::string_view word) const;
  // The words of a timed line from number `first` on, after the time and the verb.
  [[nodiscard]] Args args(const Line& line, std::size_t first, const std::vector<std::string_view>& allowed) const;

  std::string file_;
  std::vector<Line> lines_;
  Names names_;
  Options setup_;
  std::unique_ptr<World> world_;
  base::Instant clock_{};              // of the line before
  std::vector<std::uint64_t> rounds_;  // of the repeats around this line
  unsigned assertions_ = 0;
};

}  // namespace uroce::script
