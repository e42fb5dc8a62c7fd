// SPDX-License-Identifier: BSD-3-Clause
#include "engine/fault_port.h"

#include <cstring>

namespace uroce::engine {

FaultPort::~FaultPort() {
  for (const Held& h : held_) inner_.tx_free(std::span(&h.frame, 1));
}

// Everything is taken: what the inner port has no room for counts as lost, as on a bad network.
void FaultPort::send(TxFrame f) {
  if (inner_.tx_burst(std::span(&f, 1)) == 1) return;
  ++dropped_;
  inner_.tx_free(std::span(&f, 1));
}

void FaultPort::release_held() {
  std::erase_if(held_, [this](const Held& h) {
    if (h.due > offered_) return false;
    send(h.frame);
    return true;
  });
}

std::size_t FaultPort::tx_burst(std::span<TxFrame> frames) {
  for (TxFrame& f : frames) {
    ++offered_;
    const FaultVerdict v = faults_.judge(f.length);
    if (v.drop) {
      ++dropped_;
      inner_.tx_free(std::span(&f, 1));
      release_held();
      continue;
    }
    TxFrame twin;
    if (v.duplicate && inner_.tx_alloc(std::span(&twin, 1)) == 1) {
      std::memcpy(twin.data, f.data, f.length);
      twin.length = f.length;
      send(twin);
    }
    if (v.corrupt) f.data[v.corrupt_bit / 8] ^= static_cast<std::uint8_t>(1u << v.corrupt_bit % 8);
    if (v.truncate) f.length = v.truncate_to < 14 ? 14 : v.truncate_to;  // ports want an Ethernet header at least
    if (v.hold_frames != 0) {
      held_.push_back({f, offered_ + v.hold_frames});
    } else {
      send(f);
    }
    release_held();
  }
  return frames.size();
}

}  // namespace uroce::engine
