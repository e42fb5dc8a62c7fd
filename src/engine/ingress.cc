// SPDX-License-Identifier: BSD-3-Clause
#include "engine/ingress.h"

#include <algorithm>

#include "wire/icrc.h"

namespace uroce::engine {
namespace {

constexpr std::size_t kAhead = 2;

// Headers and the first payload: from another core's cache each line takes as long as a header's parsing, so they are
// asked for together. Reading on is left to the hardware.
void prefetch(const RxFrame& f) {
  __builtin_prefetch(f.bytes.data());
  __builtin_prefetch(f.bytes.data() + 64);
  __builtin_prefetch(f.bytes.data() + 128);
}

}  // namespace

int Ingress::poll(transport::Context& c) {
  const std::size_t n = port_.rx_burst(burst_);
  if (n == 0) return 0;
  received_ += n;
  for (std::size_t i = 0; i < std::min(n, kAhead); ++i) prefetch(burst_[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) prefetch(burst_[i + kAhead]);
    frame(burst_[i], c);
  }
  port_.rx_release(std::span(burst_).first(n));
  return static_cast<int>(n);
}

void Ingress::frame(const RxFrame& f, transport::Context& c) {
  wire::Drop why{};
  const auto p = wire::parse_frame(f.bytes, why);
  if (!p) {
    const bool maybe_theirs = why == wire::Drop::not_ip || why == wire::Drop::not_udp;
    return maybe_theirs && neighbourhood_ != nullptr ? neighbourhood_->on_frame(f.bytes, c.now) : drop(why);
  }
  if (f.l4 == L4Checksum::bad && p->datagram().udp().checksum.get() != 0) return drop(wire::Drop::udp_checksum);
  if (!wire::icrc_matches(p->datagram())) return drop(wire::Drop::bad_icrc);
  transport::Qp* qp = qps_.find(p->dest_qp());
  if (qp == nullptr) return drop(wire::Drop::unknown_qp);
  if (const auto refused = qp->admit(*p)) return drop(*refused);
  qp->on_packet(*p, c);
}

}  // namespace uroce::engine
