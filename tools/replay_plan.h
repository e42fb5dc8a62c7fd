// SPDX-License-Identifier: BSD-3-Clause
// What a capture tells of its reliable connections, so that one end can be played by our own transport. RC packets
// carry only the destination QPN: the two directions of a connection are paired by address pair and PSN overlap.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "uroce/result.h"
#include "wire/frame.h"

namespace uroce::tools {

struct ReplayFrame {
  std::uint64_t number;  // in the capture, from 1
  std::vector<std::uint8_t> bytes;
  [[nodiscard]] wire::RocePacket packet() const;  // the frame parses: it was judged before
};

// The memory a peer's key leads to: what its accepted accesses span.
struct KeyHull {
  std::uint64_t begin = UINT64_MAX, end = 0;
  bool invalidated = false;  // by a SEND with invalidate
};

// Requests of one queue pair to another, and the answers to them.
struct Flow {
  wire::IpAddress requester, responder;
  std::uint32_t responder_qpn = 0;
  std::uint32_t requester_qpn = 0;  // 0: the capture has no answers
  std::vector<ReplayFrame> requests, answers;
  std::uint32_t path_mtu = 1024;    // inferred from packets that must be full
  std::uint32_t longest_message = 0;
  std::map<std::uint32_t, KeyHull> keys;               // those never refused
  std::map<std::uint64_t, std::uint64_t> atomic_seed;  // address to its first known content
  std::map<std::uint32_t, std::uint64_t> atomic_seeded_by;  // PSN whose answer gave it
  std::map<std::uint32_t, std::uint32_t> rnr_naks;     // how often a PSN was refused for want of a receive
  std::uint8_t rnr_timer = 0;
};

// All RC connections of a capture, in order of first appearance.
Result<std::vector<Flow>> read_flows(const std::string& path);

}  // namespace uroce::tools
