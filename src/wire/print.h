// SPDX-License-Identifier: BSD-3-Clause
// One line of text for a packet, for tools, logs and failing tests.
#pragma once
#include "base/text.h"
#include "wire/frame.h"

namespace uroce::wire {

// "ACK(credit 31)", "RNR(timer 12)", "NAK_SEQ", ... as in packet listings of this project.
void print_syndrome(base::TextWriter& out, std::uint8_t syndrome) noexcept;
void print_address(base::TextWriter& out, const IpAddress& a) noexcept;
void print_mac(base::TextWriter& out, const MacAddress& m) noexcept;
// "10.77.0.2 > 10.77.0.1 RC_WRITE_ONLY qp=0x11 psn=7 ack_req va=0x1000 rkey=0x2a len=64 payload=64"
void print_packet(base::TextWriter& out, const RocePacket& p) noexcept;

}  // namespace uroce::wire
