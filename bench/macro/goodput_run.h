// SPDX-License-Identifier: BSD-3-Clause
// One long RC stream over a simulated link that loses request frames, and how much of it arrives.
//
// The bound. Go-back-N with a window of W packets, which is also what is in flight over one round trip at line rate: a
// frame is lost with probability p, and each loss costs the slot of the lost frame and the W slots until the sender,
// told by the NAK that the next frame provokes, sends it again. Per packet delivered that is 1 + (W + 1) p / (1 - p)
// slots, so the share of slots that deliver is (1 - p) / (1 + p W).
//
// The link that makes W both. With S the slot (a full frame's time on the line), A an ACK's, d the delay one way and an
// ACK asked for every k packets, the ACK that opens a closed window comes k S + 2 d + A after its first packet began. A
// window of W just sustains the line when that is W S, so
//     d = ((W - k) S - A) / 2       round trip R = S + 2 d + A = (W - k + 1) S
// and R is exactly W slots for k = 1. All of it in the simulator's whole nanoseconds: a slot of 353.92 ns is 353.
// Shares of line rate count slots, so that the rounding cancels.
//
// What the bound leaves out. A receiver says NAK once a gap, so when the packet it waits for is lost again, only the
// sender's timer T can tell: that loss costs T instead of W + 1 slots. expected() has it.
#pragma once
#include <cstdint>
#include <string>

#include "base/time.h"

namespace uroce::bench {

inline constexpr std::uint32_t kMtu = 1024;                  // bytes of payload a packet
inline constexpr std::uint32_t kMessageBytes = 1u << 20;     // an RDMA WRITE
inline constexpr std::uint64_t kRateBps = 25'000'000'000;
inline constexpr std::uint8_t kDefaultTimeoutCode = 14;      // 67 ms

struct Rig {
  std::uint32_t window = 64;    // packets
  std::uint32_t ack_every = 1;  // packets
  base::Duration slot, ack_time, delay, round_trip;
  std::uint8_t timeout_code = 0;  // the least that is longer than a round trip
  base::Duration timeout;

  // window > ack_every >= 1.
  static Rig make(std::uint32_t window, std::uint32_t ack_every);
};

// Share of line rate that is payload when no slot is idle or wasted, 0 .. 1.
double full_line_share();
// Shares of full_line_share(), 0 .. 1.
double bound(double p, std::uint32_t window);
double expected(double p, const Rig& s, base::Duration timeout);

struct Measurement {
  std::string failure;  // empty: all went well
  std::uint64_t sent = 0, lost = 0, retransmitted = 0;  // request packets
  std::uint64_t delivered = 0;                          // packets acknowledged in order
  std::uint64_t naks = 0, timeouts = 0;                 // of the sender
  std::int64_t elapsed_ns = 0;

  void add(const Measurement& o);
  // Payload over what the line could carry meanwhile, 0 .. 1.
  [[nodiscard]] double line_share(const Rig& s) const;
};

// Sends `packets` request packets, retransmissions counted, after a start that is not measured.
Measurement measure(const Rig& s, std::uint32_t drop_ppm, std::uint8_t timeout_code, std::uint64_t packets,
                    std::uint64_t seed);

// The same from several seeds, and how far they scatter.
struct Estimate {
  Measurement total;
  double line_share = 0;      // of all runs together
  double standard_error = 0;  // of line_share and relative to it, from the scatter between seeds
};
// `packets` in all. seeds >= 2.
Estimate estimate(const Rig& s, std::uint32_t drop_ppm, std::uint8_t timeout_code, std::uint64_t packets,
                  std::uint64_t seed, unsigned seeds);

}  // namespace uroce::bench
