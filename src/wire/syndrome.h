// SPDX-License-Identifier: BSD-3-Clause
// AETH syndromes, RNR timer codes, credit codes and the local ack timeout (IBTA 9.7.5.2, tables 44 to 46).
#pragma once
#include <array>
#include <cstdint>

#include "base/time.h"

namespace uroce::wire {

enum class AckKind : std::uint8_t { ack, rnr_nak, reserved, nak };  // syndrome bits 6:5

constexpr AckKind ack_kind(std::uint8_t syndrome) noexcept { return static_cast<AckKind>((syndrome >> 5) & 3u); }
constexpr std::uint8_t ack_value(std::uint8_t syndrome) noexcept { return syndrome & 31u; }

inline constexpr std::uint8_t kNoCredits = 31;  // the ACK carries no end-to-end credits

enum class Nak : std::uint8_t {  // the whole syndrome
  psn_sequence = 0x60,
  invalid_request = 0x61,
  remote_access = 0x62,
  remote_operational = 0x63,
  invalid_rd_request = 0x64,
};

constexpr std::uint8_t rnr_syndrome(std::uint8_t timer_code) noexcept {
  return static_cast<std::uint8_t>(0x20u | (timer_code & 31u));
}

// RNR NAK timer, in units of 10 us. Code 0 is the longest, 655.36 ms.
inline constexpr std::array<std::uint32_t, 32> kRnrTimer10us{
    65536, 1,   2,   3,   4,   6,    8,    12,   16,   24,   32,   48,   64,    96,    128,   192,
    256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

constexpr base::Duration rnr_delay(std::uint8_t code) noexcept {
  return base::Duration::micros(std::int64_t{10} * kRnrTimer10us[code & 31u]);
}

// The shortest code that waits at least `d`; anything over 491.52 ms is code 0.
constexpr std::uint8_t rnr_code(base::Duration d) noexcept {
  for (std::uint8_t code = 1; code < 32; ++code) {
    if (rnr_delay(code) >= d) return code;
  }
  return 0;
}

// Receive credits; code 31 means "not used".
inline constexpr std::array<std::uint16_t, 31> kCredits{0,   1,   2,   3,    4,    6,    8,    12,   16,   24,    32,
                                                        48,  64,  96,  128,  192,  256,  384,  512,  768,  1024,  1536,
                                                        2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

// Rounds down: a responder never promises more than it has.
constexpr std::uint8_t credit_code(std::uint32_t credits) noexcept {
  std::uint8_t code = 30;
  while (kCredits[code] > credits) --code;
  return code;
}

// Local ack timeout: 4.096 us * 2^code, code 0..31; 0 means no timer at all.
constexpr base::Duration ack_timeout(std::uint8_t code) noexcept {
  return code == 0 ? base::Duration{INT64_MAX} : base::Duration::nanos(std::int64_t{4096} << (code & 31u));
}

}  // namespace uroce::wire
