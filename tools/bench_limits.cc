// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "bench_run.h"
#include "wire/crc.h"

namespace uroce::tools {
namespace {

// The compiler must not see that nobody looks at what was written.
void keep(const void* memory, std::uint32_t value) { asm volatile("" : : "r"(memory), "r"(value) : "memory"); }

}  // namespace

Limits::Limits(std::size_t bytes)
    : bytes_(bytes),
      stride_((bytes + 128 + 63) & ~std::size_t{63}),
      from_(kBenchBatch * stride_, 0x5a),
      to_(kBenchBatch * stride_),
      memcpy_(std::vector<Meter::Stage>{{"memcpy", "a copy of as many bytes"}}),
      crc_(std::vector<Meter::Stage>{{"crc", "their CRC-32"}}),
      both_(std::vector<Meter::Stage>{{"copy_and_crc", "both in one pass"}}) {}

template <class Work>
std::uint64_t Limits::step(Meter& m, Work work) {
  m.start();
  for (std::size_t i = 0; i < kBenchBatch; ++i) work(to_.data() + i * stride_, from_.data() + i * stride_);
  m.lap(0);
  return kBenchBatch;
}

void Limits::measure(std::vector<Measured>& all) {
  all.push_back({memcpy_, [this](Meter& m) {
                   return step(m, [n = bytes_](std::uint8_t* to, const std::uint8_t* from) {
                     std::memcpy(to, from, n);
                     keep(to, 0);
                   });
                 }});
  all.push_back({crc_, [this](Meter& m) {
                   return step(m, [n = bytes_](std::uint8_t*, const std::uint8_t* from) {
                     keep(from, wire::crc32(0, from, n));
                   });
                 }});
  all.push_back({both_, [this](Meter& m) {
                   return step(m, [n = bytes_](std::uint8_t* to, const std::uint8_t* from) {
                     keep(to, wire::copy_crc(to, from, n, 0));
                   });
                 }});
}

std::vector<StageCost> Limits::costs() const {
  return {memcpy_.stages().front(), crc_.stages().front(), both_.stages().front()};
}

}  // namespace uroce::tools
