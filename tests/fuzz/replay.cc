// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target without a fuzzer: every file of a corpus, then a number of seeded mutations of them. Each input
// ends at a guard page, so that a read past it ends the program even without a sanitizer.
//
//   replay CORPUS_DIRECTORY MUTATIONS SEED
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/rng.h"
#include "wire/guarded_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;
using uroce::base::Rng;
using uroce::wire::test::GuardedBytes;

constexpr std::size_t kMaxInput = 8192;

std::vector<Input> load(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // the same order, hence the same mutations, everywhere
  std::vector<Input> inputs;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return inputs;
}

std::size_t pick(Rng& rng, std::size_t bound) {
  return rng.below(static_cast<std::uint32_t>(bound));
}

// Headers are in the first hundred bytes: half of the changes fall there.
std::size_t pick_offset(Rng& rng, const Input& in) {
  return pick(rng, rng.below(2) == 0 ? in.size() : std::min<std::size_t>(in.size(), 100));
}

void mutate(Rng& rng, Input& in) {
  if (in.empty()) in.push_back(0);
  switch (rng.below(6)) {
    case 0:
    case 1: {
      auto& byte = in[pick_offset(rng, in)];
      byte = static_cast<std::uint8_t>(byte ^ 1u << rng.below(8));
      break;
    }
    case 2:
      in[pick_offset(rng, in)] = static_cast<std::uint8_t>(rng.below(256));
      break;
    case 3:
      in[pick_offset(rng, in)] = rng.below(2) == 0 ? 0 : 0xff;
      break;
    case 4:
      in.resize(pick(rng, in.size()) + 1);
      break;
    case 5: {  // a few bytes repeated or taken out
      const std::size_t at = pick_offset(rng, in);
      const std::size_t n = std::min(in.size() - at, 1 + pick(rng, 8));
      const auto first = in.begin() + static_cast<std::ptrdiff_t>(at);
      const Input some(first, first + static_cast<std::ptrdiff_t>(n));
      if (rng.below(2) == 0 && in.size() + n <= kMaxInput) {
        in.insert(first, some.begin(), some.end());
      } else {
        in.erase(first, first + static_cast<std::ptrdiff_t>(n));
      }
      break;
    }
    default:
      break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s CORPUS_DIRECTORY MUTATIONS SEED\n", argv[0]);
    return 2;
  }
  const std::vector<Input> corpus = load(argv[1]);
  const std::uint64_t mutations = std::strtoull(argv[2], nullptr, 10);
  if (corpus.empty() || mutations == 0) {
    std::fprintf(stderr, "%s: nothing to run: %zu files, %s mutations\n", argv[1], corpus.size(), argv[2]);
    return 2;
  }
  GuardedBytes room(kMaxInput);
  const auto run = [&](const Input& in) {
    const auto bytes = room.assign(std::span(in).first(std::min(in.size(), kMaxInput)));
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  };
  for (const Input& in : corpus) run(in);
  Rng rng(std::strtoull(argv[3], nullptr, 10));
  for (std::uint64_t i = 0; i < mutations; ++i) {
    Input in = corpus[pick(rng, corpus.size())];
    for (std::uint32_t n = 1 + rng.below(4); n > 0; --n) mutate(rng, in);
    run(in);
  }
  std::printf("%zu files and %llu mutations\n", corpus.size(), static_cast<unsigned long long>(mutations));
  return 0;
}
