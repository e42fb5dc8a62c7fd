// SPDX-License-Identifier: BSD-3-Clause
// What a captured frame is, the ICRC judged before any transport header is believed.
#pragma once
#include <optional>

#include "capture_file.h"
#include "wire/frame.h"

namespace uroce::tools {

enum class Judgement {
  good,       // a RoCEv2 packet with the right ICRC
  malformed,  // the right ICRC, but `reason` in the transport headers: its sender wrote it so
  bad,        // to UDP port 4791, with a wrong ICRC or too broken to have one
  dropped,    // not a RoCEv2 packet
  cut,        // the snap length took what would be needed to judge
};

struct Verdict {
  Judgement judgement;
  wire::Drop reason;                       // Drop::count when good
  std::optional<wire::RocePacket> packet;  // also of a bad frame, if its headers hold together
};

Verdict judge(const CapturedFrame& frame);

}  // namespace uroce::tools
