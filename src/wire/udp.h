// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "wire/big_endian.h"

namespace uroce::wire {

struct Udp {
  be16 source_port;  // entropy for ECMP; a receiver never looks at it
  be16 destination_port;
  be16 length;  // this header, BTH .. ICRC
  be16 checksum;
};
static_assert(Header<Udp> && sizeof(Udp) == 8);

inline constexpr std::uint16_t kRocePort = 4791;

}  // namespace uroce::wire
