// SPDX-License-Identifier: BSD-3-Clause
// Packets of a script: those the peer sends, right or deliberately wrong, and those our side is expected to send.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "args.h"
#include "world.h"

namespace uroce::script {

// What a '<' line may say after the packet's name, and what a '>' line may.
const std::vector<std::string_view>& peer_fields();
const std::vector<std::string_view>& expected_fields();

// The opcode of a name as RC_SEND_ONLY or CNP; stops the script when there is none.
std::uint8_t opcode_of(const Line& line, std::string_view name);

// The frame of a '<' line.
ScriptedPort::Arrival build_packet(const World& w, std::string_view name, const Args& a);

// Whether a sent frame is that of a '>' line; empty, or what differs.
std::string compare_packet(const World& w, std::string_view name, const Args& a, const Buffer& frame);

// One line of text for a frame.
std::string describe_frame(const Buffer& frame);

// From here on with good lengths, IPv4 checksum and ICRC: an untagged IPv4 frame that ends where its ICRC begins.
struct Seal {
  std::uint32_t udp_length = 0;  // 0: what is right
  bool good_icrc = true;
  std::uint8_t tos = 0;
  std::uint8_t ttl = 64;
  std::uint16_t udp_checksum = 0;
  std::uint8_t padding = 0;    // what Ethernet padding to 60 bytes holds
  std::uint32_t trailing = 0;  // bytes after the IP datagram
};
void seal(Buffer& frame, const Seal& how);

}  // namespace uroce::script
