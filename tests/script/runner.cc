// SPDX-License-Identifier: BSD-3-Clause
#include "runner.h"

#include <fstream>
#include <sstream>

#include "packet.h"

namespace uroce::script {
namespace {
constexpr std::string_view kVerbs =
    "<, <<, >, post, complete, event, state, memory, fill, counter, drop, modify, kill, port; and without a time "
    "setup, "
    "repeat, end";
}

void Runner::run_text(std::string_view text, const std::string& file) {
  Runner(text, file).whole();
}

void Runner::run_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) throw ScriptError(path.string() + ": can't be read");
  std::stringstream text;
  text << in.rdbuf();
  run_text(text.str(), path.filename().string());
}

Runner::Runner(std::string_view text, const std::string& file)
    : file_(file), lines_(split_lines(text, file)), names_([this](std::string_view w) { return name(w); }) {}

void Runner::whole() {
  block(0, lines_.size());
  finish();
}

void Runner::finish() {
  if (assertions_ == 0)
    throw ScriptError(file_ + ": asserts nothing; at least one of >, complete, event, state, memory, counter, drop");
  const Line end{file_, lines_.back().number, {}};
  World& w = world();
  if (!w.port.sent.empty())
    end.fail("at the end of the script, a frame that no line expects: " + describe_frame(w.port.sent.front().bytes));
  for (const bool receive : {false, true}) {
    if (const auto c = receive ? w.poll_recv() : w.poll_send()) {
      end.fail(std::string("at the end of the script, a completion that no line expects: ") +
               (receive ? "recv" : "send") + " wr=" + std::to_string(c->wr_id) + " " + to_string(c->status));
    }
  }
  if (!w.events.empty()) {
    end.fail(std::string("at the end of the script, an event that no line expects: ") +
             to_string(w.events.front().type));
  }
}

std::size_t Runner::matching_end(std::size_t repeat) const {
  int depth = 0;
  for (std::size_t i = repeat; i < lines_.size(); ++i) {
    if (lines_[i].words[0] == "repeat") ++depth;
    if (lines_[i].words[0] == "end" && --depth == 0) return i;
  }
  lines_[repeat].fail("this repeat has no end");
}

void Runner::block(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const Line& line = lines_[i];
    const std::string& verb = line.words[0];
    if (verb == "setup") {
      setup(line);
    } else if (verb == "repeat") {
      if (line.words.size() != 2) line.fail("expected: repeat COUNT");
      const std::uint64_t count = evaluate(line, line.words[1], names_);
      if (count > 100'000) line.bad_word(line.words[1], "a count of 0 .. 100000");
      const std::size_t last = matching_end(i);
      rounds_.push_back(0);
      for (; rounds_.back() < count; ++rounds_.back()) block(i + 1, last);
      rounds_.pop_back();
      i = last;
    } else if (verb == "end") {
      line.fail("an end without a repeat");
    } else {
      timed(line);
    }
  }
}

// +T VERB ... or +T..T > ...
void Runner::timed(const Line& line) {
  const std::string& when = line.words[0];
  if (when[0] != '+') line.bad_word(when, "+TIME before " + std::string(kVerbs));
  const std::size_t dots = when.find("..");
  const std::int64_t earliest =
      parse_time(line, std::string_view(when).substr(1, dots == std::string::npos ? dots : dots - 1), when);
  const std::int64_t latest =
      dots == std::string::npos ? earliest : parse_time(line, std::string_view(when).substr(dots + 2), when);
  if (line.words.size() < 2) line.fail("a verb is missing; allowed here: " + std::string(kVerbs));
  const std::string& verb = line.words[1];
  world();
  if (verb == ">" && !(line.words.size() == 3 && line.words[2] == "nothing")) {
    return expect_sent(line, earliest, latest);
  }
  if (dots != std::string::npos) line.bad_word(when, "one time; a range belongs to a > line with a packet");
  if (clock_.ns + earliest < world().now().ns) line.fail("time does not go back");
  world().advance_to({clock_.ns + earliest});
  clock_ = world().now();
  static constexpr struct {
    std::string_view verb;
    void (Runner::*run)(const Line&);
  } kCommands[] = {{">", &Runner::expect_nothing}, {"post", &Runner::post},       {"complete", &Runner::complete},
                   {"event", &Runner::event},      {"state", &Runner::state},     {"memory", &Runner::memory},
                   {"fill", &Runner::fill},        {"counter", &Runner::counter}, {"drop", &Runner::drop},
                   {"modify", &Runner::modify},    {"kill", &Runner::kill},       {"port", &Runner::port}};
  if (verb == "<" || verb == "<<") {
    receive(line, verb == "<<");
  } else {
    bool known = false;
    for (const auto& c : kCommands) {
      if (c.verb != verb) continue;
      known = true;
      (this->*c.run)(line);
    }
    if (!known) line.bad_word(verb, kVerbs);
  }
  if (verb != "<<") world().run();
}

World& Runner::world() {
  if (world_ == nullptr) {
    world_ = std::make_unique<World>(setup_);
    clock_ = world_->now();
  }
  return *world_;
}

std::optional<std::uint64_t> Runner::name(std::string_view word) const {
  if (word == "$") return rounds_.empty() ? std::nullopt : std::optional(rounds_.back());
  if (word == "target") return World::kTarget;
  if (word == "local") return World::kLocal;
  if (word == "sink") return World::kSink;
  if (word == "mtu") return setup_.mtu;
  if (world_ == nullptr) return std::nullopt;
  const auto k = world_->keys.find(word);
  return k == world_->keys.end() ? std::nullopt : std::optional<std::uint64_t>(k->second);
}

Args Runner::args(const Line& line, std::size_t first, const std::vector<std::string_view>& allowed) const {
  return {line, std::span(line.words).subspan(std::min(first, line.words.size())), allowed, names_};
}

std::uint8_t* Runner::place(const Line& line, std::uint64_t at, std::uint64_t length) {
  std::uint8_t* p = world().bytes_at(at, length);
  if (p == nullptr) line.fail("that is outside target, local, sink and the region at address 0");
  return p;
}

}  // namespace uroce::script
