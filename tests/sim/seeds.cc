// SPDX-License-Identifier: BSD-3-Clause
// Runs simulator seeds: `uroce_sim_seeds --first 1 --count 1000`. A failing seed prints what went wrong and the line
// that replays it. --hashes prints a trace hash a seed, to compare two builds.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "sim/workload.h"

namespace {

std::uint64_t number(const char* text) {
  std::uint64_t v = 0;
  const char* end = text + std::strlen(text);
  const auto [p, ec] = std::from_chars(text, end, v);
  if (ec != std::errc{} || p != end) {
    std::fprintf(stderr, "'%s' is not a whole number\n", text);
    std::exit(2);
  }
  return v;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t first = 1, count = 100;
  bool hashes = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--hashes") {
      hashes = true;
    } else if (i + 1 < argc && option == "--first") {
      first = number(argv[++i]);
    } else if (i + 1 < argc && option == "--count") {
      count = number(argv[++i]);
    } else if (i + 1 < argc && option == "--seed") {
      first = number(argv[++i]);
      count = 1;
    } else {
      std::fprintf(stderr, "usage: %s [--first N] [--count N] [--seed N] [--hashes]\n", argv[0]);
      return 2;
    }
  }
  std::uint64_t failed = 0, frames = 0, combined = 0, retransmitted = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto scenario = uroce::sim::Scenario::draw(seed);
    const auto outcome = uroce::sim::run(scenario);
    frames += outcome.frames;
    retransmitted += outcome.counters[uroce::transport::Counter::tx_retransmitted];
    combined = combined * 0x100000001b3ull ^ outcome.trace_hash;
    if (hashes) std::printf("%llu %016llx\n", static_cast<unsigned long long>(seed), static_cast<unsigned long long>(outcome.trace_hash));
    if (!outcome.failure.empty()) {
      ++failed;
      std::printf("FAILED %s\n  %s\n  replay: %s --seed %llu\n", scenario.describe().c_str(), outcome.failure.c_str(),
                  argv[0], static_cast<unsigned long long>(seed));
    }
  }
  std::printf("%llu seeds, %llu failed, %llu frames, %llu retransmitted, trace hash %016llx\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(failed),
              static_cast<unsigned long long>(frames), static_cast<unsigned long long>(retransmitted),
              static_cast<unsigned long long>(combined));
  return failed == 0 ? 0 : 1;
}
