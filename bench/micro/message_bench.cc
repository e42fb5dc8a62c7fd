// SPDX-License-Identifier: BSD-3-Clause
// One whole message from a requester to a responder over net_ring, both in one thread: post, frame, parse, place,
// acknowledge, both completions. uroce_message_cost in bench/macro has the same beside its limit.
#include <benchmark/benchmark.h>

#include <string>

#include "messages.h"
#include "platform/dpdk/eal.h"

namespace uroce::bench {
namespace {

// Time of one message.
void message(benchmark::State& s, WrOpcode opcode) {
  const MessageKind kind{opcode, static_cast<std::uint32_t>(s.range(0)), static_cast<std::uint32_t>(s.range(1))};
  platform::EalConfig eal;
  if (const auto cores = platform::usable_cores(); !cores.empty()) eal.main_core = cores.front();
  if (auto r = platform::eal_start(eal); !r) return s.SkipWithError(r.error().message.c_str());
  static int pairs = 0;  // port names are not used twice
  auto pair = ConnectedPair::make({.name = "micro" + std::to_string(pairs++) + "_", .bytes = kind.slots() * kind.stride(),
                                   .depth = std::max(16u, 2 * kind.depth)});
  if (!pair) return s.SkipWithError(pair.error().message.c_str());
  Messages messages(*pair, kind);
  while (s.KeepRunningBatch(kind.depth)) {
    if (!messages.round()) return s.SkipWithError("a message was lost or failed");
  }
  s.SetBytesProcessed(s.iterations() * s.range(0));
}

BENCHMARK_CAPTURE(message, send, WrOpcode::send)->ArgNames({"bytes", "depth"})->Args({64, 1})->Args({64, 64});
BENCHMARK_CAPTURE(message, write, WrOpcode::rdma_write)->ArgNames({"bytes", "depth"})->Args({64, 1})->Args({4096, 16});

}  // namespace
}  // namespace uroce::bench
