// SPDX-License-Identifier: BSD-3-Clause
#include "flow_psns.h"

#include <algorithm>

namespace uroce::tools {
namespace {

constexpr std::int64_t kPsnCount = 1 << 24;

std::int64_t packets(std::uint32_t length, std::uint32_t mtu) {
  return std::max<std::int64_t>(1, (std::int64_t{length} + mtu - 1) / mtu);
}

}  // namespace

void MtuRange::on_full_packet(std::uint32_t payload) {
  if (payload < 256 || payload > 4096 || (payload & (payload - 1)) != 0) return;  // not a path MTU: a broken sender
  smallest = seen_ ? std::min(smallest, payload) : payload;
  largest = seen_ ? std::max(largest, payload) : payload;
  seen_ = true;
}

// The value nearest to the highest one seen (IBTA 9.7.2: half of the PSNs lie ahead, half behind).
std::int64_t FlowPsns::unwrap(std::uint32_t psn) const noexcept {
  if (steps_.empty()) return kPsnCount + psn;  // room below for packets that were overtaken
  const std::int64_t ahead = (std::int64_t{psn} - highest_) & (kPsnCount - 1);
  return highest_ + (ahead < kPsnCount / 2 ? ahead : ahead - kPsnCount);
}

bool FlowPsns::on_packet(std::uint8_t opcode, std::uint32_t psn, std::uint32_t read_length) {
  const std::int64_t unwrapped = unwrap(psn);
  highest_ = std::max(highest_, unwrapped);
  steps_.push_back({unwrapped, read_length, opcode});
  return !seen_.insert(unwrapped << 8 | opcode).second;
}

Gaps FlowPsns::request_gaps(const MtuRange& mtu) const {
  Gaps gaps;
  // The next PSN lies in [low, high]: one value, except after a READ whose path MTU is not known for sure.
  std::int64_t low = 0, high = 0;
  for (const Step& s : steps_) {
    if (&s != &steps_.front()) {
      if (s.psn < low) continue;  // sent again, or overtaken
      if (s.psn > high) {
        ++gaps.count;
        gaps.missing += static_cast<std::uint64_t>(s.psn - high);
      }
    }
    low = s.psn + packets(s.read_length, mtu.largest);
    high = s.psn + packets(s.read_length, mtu.smallest);
  }
  return gaps;
}

Gaps FlowPsns::response_gaps() const {
  Gaps gaps;
  std::int64_t next = 0;
  bool open = false;  // within the packets of a READ response
  for (const Step& s : steps_) {
    const wire::OpcodeInfo& info = wire::kOpcodes[s.opcode];
    const bool read = info.op == wire::Op::read_response;
    if (&s != &steps_.front()) {
      if (s.psn < next - 1) continue;
      if (s.psn > next && (open || (read && !info.starts()))) {
        ++gaps.count;
        gaps.missing += static_cast<std::uint64_t>(s.psn - next);
      }
    }
    next = s.psn + 1;
    open = read && !info.ends();
  }
  return gaps;
}

}  // namespace uroce::tools
