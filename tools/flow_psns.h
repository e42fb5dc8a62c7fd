// SPDX-License-Identifier: BSD-3-Clause
// The PSNs of one flow: which were seen before, and where it jumped forward.
#pragma once
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "wire/opcode.h"

namespace uroce::tools {

// What the path MTU can be. A packet that its opcode obliges to be full tells it.
struct MtuRange {
  std::uint32_t smallest = 256;
  std::uint32_t largest = 4096;
  void on_full_packet(std::uint32_t payload);

 private:
  bool seen_ = false;
};

struct Gaps {
  std::uint64_t count = 0;    // jumps forward over PSNs not seen before
  std::uint64_t missing = 0;  // the PSNs jumped over; a retransmission may have filled them later
};

class FlowPsns {
 public:
  // Returns whether this opcode was there with this PSN before. `read_length`: of a READ request.
  bool on_packet(std::uint8_t opcode, std::uint32_t psn, std::uint32_t read_length);
  // A request must follow its predecessor. A READ request takes as many PSNs as its response has packets.
  [[nodiscard]] Gaps request_gaps(const MtuRange& mtu) const;
  // Acknowledges may skip PSNs (they are cumulative), the packets of a READ response may not.
  [[nodiscard]] Gaps response_gaps() const;

 private:
  struct Step {
    std::int64_t psn;  // unwrapped: goes on counting past 2^24
    std::uint32_t read_length;
    std::uint8_t opcode;
  };
  [[nodiscard]] std::int64_t unwrap(std::uint32_t psn) const noexcept;

  std::vector<Step> steps_;
  std::int64_t highest_ = 0;
  std::unordered_set<std::int64_t> seen_;  // unwrapped PSN and opcode
};

}  // namespace uroce::tools
