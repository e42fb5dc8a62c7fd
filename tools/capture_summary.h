// SPDX-License-Identifier: BSD-3-Clause
// What a capture holds, counted frame by frame. Every frame is counted once:
//   packets = icrc_ok + bad.size() + sum(dropped) + cut,   icrc_ok = sum(opcodes) + sum(malformed)
// and everything about opcodes, acknowledges and PSNs covers frames with a good ICRC only.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flow_psns.h"
#include "frame_verdict.h"

namespace uroce::tools {

using DropCounts = std::array<std::uint64_t, wire::kDropCount>;

struct BadFrame {
  std::uint64_t number;
  wire::Drop reason;
};

struct FlowGaps {
  wire::IpAddress source;
  std::uint32_t dest_qp;
  bool requests;  // else responses: they are numbered in the peer's PSNs
  Gaps gaps;
};

struct CaptureSummary {
  std::uint64_t packets = 0;
  std::array<std::uint64_t, 256> opcodes{};
  std::map<std::string, std::uint64_t> acks;  // RC_ACK frames by print_syndrome()'s words
  std::uint64_t icrc_ok = 0;
  std::vector<BadFrame> bad;
  std::optional<wire::IpAddress> client;  // the source of the first request
  // Requests whose (source, destination QPN, opcode, PSN) was there before.
  std::uint64_t retransmitted = 0;  // the client's
  std::uint64_t retransmitted_by_others = 0;
  std::uint64_t naks = 0;  // among the acks
  std::uint64_t rnr_naks = 0;
  std::vector<FlowGaps> gaps;  // flows that have some
  DropCounts malformed{};      // good ICRC, headers refused
  DropCounts dropped{};        // not RoCEv2
  std::uint64_t cut = 0;       // too short a snap length to judge
};

class CaptureCounter {
 public:
  void on_frame(const CapturedFrame& frame);
  // Once, after the last frame.
  CaptureSummary finish();

 private:
  // One numbering of PSNs. RC packets name no sender's QPN, so it is told apart by what they do carry.
  struct FlowKey {
    wire::IpAddress source;
    wire::IpAddress destination;
    std::uint32_t dest_qp;
    std::uint32_t source_qp;  // datagrams only
    wire::Service service;
    bool request;
    friend auto operator<=>(const FlowKey&, const FlowKey&) = default;
  };
  void on_packet(const wire::RocePacket& p);

  CaptureSummary summary_;
  std::map<FlowKey, FlowPsns> flows_;
  std::map<std::pair<wire::IpAddress, wire::IpAddress>, MtuRange> mtus_;  // by pair of hosts, the smaller address first
};

}  // namespace uroce::tools
