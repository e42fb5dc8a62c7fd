// SPDX-License-Identifier: BSD-3-Clause
// Building, checking and parsing frames, beside the limits of the same bytes: memcpy, and ISA-L's CRC alone.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "wire/build.h"
#include "wire/crc.h"
#include "wire/frame.h"
#include "wire/icrc.h"

namespace uroce::bench {
namespace {

using Buffer = std::vector<std::uint8_t>;

Buffer bytes(std::size_t n) {
  Buffer b(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = static_cast<std::uint8_t>(i * 167 + 5);
  return b;
}

wire::Path path(bool v6) {
  wire::Path p;
  p.source = v6 ? wire::IpAddress{{0xfd, 1}} : wire::IpAddress::v4(10, 0, 0, 1);
  p.destination = v6 ? wire::IpAddress{{0xfd, 2}} : wire::IpAddress::v4(10, 0, 0, 2);
  return p;
}

std::size_t build(const wire::FrameTemplate& t, std::uint8_t* to, const Buffer& payload, std::uint32_t psn) {
  const auto n = static_cast<std::uint32_t>(payload.size());
  wire::FrameWriter w(t, to, wire::opcode::kSendOnly, n, {0x11, psn & 0xffffffu, true});
  return w.finish(wire::copy_crc(w.payload(), payload.data(), n, w.header_crc()));
}

Buffer frame(std::size_t payload, bool v6) {
  Buffer f(wire::kMaxFrameOverhead + payload);
  f.resize(build(wire::FrameTemplate(path(v6)), f.data(), bytes(payload), 7));
  return f;
}

// Not alike in their pages, where some CPUs copy at a thirtieth of their speed (base/copy.h).
void limit_memcpy(benchmark::State& s) {
  constexpr std::size_t kPage = 4096;
  const Buffer from = bytes(static_cast<std::size_t>(s.range(0)));
  Buffer buffer(from.size() + kPage);
  const auto apart = reinterpret_cast<std::uintptr_t>(from.data()) - reinterpret_cast<std::uintptr_t>(buffer.data());
  std::uint8_t* to = buffer.data() + (apart + kPage / 2) % kPage;
  for (auto _ : s) {
    std::memcpy(to, from.data(), from.size());
    benchmark::ClobberMemory();
  }
}

void limit_isal_crc(benchmark::State& s) {
  const Buffer from = bytes(static_cast<std::size_t>(s.range(0)));
  std::uint32_t crc = 0;
  for (auto _ : s) benchmark::DoNotOptimize(crc = wire::kCrcPortable.crc(from.data(), from.size(), crc));
}

void copy_crc(benchmark::State& s, wire::CrcKernel kernel) {
  const Buffer from = bytes(static_cast<std::size_t>(s.range(0)));
  Buffer to(from.size());
  std::uint32_t crc = 0;
  const auto& ops = wire::crc_ops(kernel);
  for (auto _ : s) benchmark::DoNotOptimize(crc = ops.copy_crc(to.data(), from.data(), from.size(), crc));
}

void check_icrc(benchmark::State& s, bool v6) {
  const Buffer f = frame(static_cast<std::size_t>(s.range(0)), v6);
  wire::Drop why{};
  const auto p = wire::parse_frame(f, why);
  for (auto _ : s) {
    const bool right = wire::icrc_matches(p->datagram());
    if (!right) s.SkipWithError("the ICRC is wrong");
  }
}

void parse(benchmark::State& s, bool v6) {
  const Buffer f = frame(64, v6);
  wire::Drop why{};
  for (auto _ : s) {
    const auto p = wire::parse_frame(f, why);
    if (!p) s.SkipWithError("refused");
    benchmark::DoNotOptimize(p->psn());
  }
}

void build_frame(benchmark::State& s, bool v6) {
  const wire::FrameTemplate t(path(v6));
  const Buffer payload = bytes(static_cast<std::size_t>(s.range(0)));
  Buffer to(wire::kMaxFrameOverhead + payload.size());
  std::uint32_t psn = 0;
  for (auto _ : s) benchmark::DoNotOptimize(build(t, to.data(), payload, psn++));
}

BENCHMARK(limit_memcpy)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096);
BENCHMARK(limit_isal_crc)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096);
BENCHMARK_CAPTURE(check_icrc, v4, false)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096);
BENCHMARK_CAPTURE(check_icrc, v6, true)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096);
BENCHMARK_CAPTURE(parse, v4, false);
BENCHMARK_CAPTURE(parse, v6, true);
BENCHMARK_CAPTURE(build_frame, v4, false)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096);
BENCHMARK_CAPTURE(build_frame, v6, true)->Arg(64)->Arg(4096);

// The kernels that this CPU can run.
[[maybe_unused]] const bool kernels_registered = [] {
  for (const wire::CrcKernel k : wire::kCrcKernels) {
    if (!wire::available(k)) continue;
    const std::string name = "copy_crc/" + std::string(wire::name(k));
    benchmark::RegisterBenchmark(name.c_str(), copy_crc, k)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096);
  }
  return true;
}();

}  // namespace
}  // namespace uroce::bench
