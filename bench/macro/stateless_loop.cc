// SPDX-License-Identifier: BSD-3-Clause
#include "stateless_loop.h"

#include <array>

#include "wire/crc.h"
#include "samples.h"
#include "wire/frame.h"
#include "wire/icrc.h"

namespace uroce::bench {

StatelessLoop::StatelessLoop(engine::Port& out, engine::Port& in, const wire::Path& path)
    : out_(out), in_(in), path_(path), template_(path) {}

double StatelessLoop::run(Headers headers, std::uint64_t frames, std::uint32_t size, const std::uint8_t* source,
                          std::uint32_t slots, std::uint32_t stride, bool& ok) {
  std::array<engine::TxFrame, kBurst> tx;
  std::array<engine::RxFrame, kBurst> rx;
  std::uint32_t psn = 0, slot = 0;
  std::uint64_t good = 0;
  const auto start = SteadyClock::now();
  for (std::uint64_t done = 0; done < frames; done += kBurst) {
    if (out_.tx_alloc(tx) != kBurst) return ok = false, 0;
    for (engine::TxFrame& f : tx) {
      if (headers == Headers::made_each_time) template_ = wire::FrameTemplate(path_);
      wire::FrameWriter w(template_, f.data, wire::opcode::kSendOnly, size, {0x11, psn++ & 0xffffffu, true});
      const std::uint32_t crc = wire::copy_crc(w.payload(), source + std::size_t{slot} * stride, size, w.header_crc());
      f.length = static_cast<std::uint32_t>(w.finish(crc));
      slot = slot + 1 == slots ? 0 : slot + 1;
    }
    if (out_.tx_burst(tx) != kBurst || in_.rx_burst(rx) != kBurst) return ok = false, 0;
    for (unsigned i = 0; i < kBurst; ++i) {
      if (i + 2 < kBurst) __builtin_prefetch(rx[i + 2].bytes.data());
      wire::Drop why{};
      const auto p = wire::parse_frame(rx[i].bytes, why);
      if (p && wire::icrc_matches(p->datagram()) && p->payload().size() == size) ++good;
    }
    in_.rx_release(rx);
  }
  const double ns = ns_since(start);
  ok = good >= frames;
  return ns / static_cast<double>(good);
}

}  // namespace uroce::bench
