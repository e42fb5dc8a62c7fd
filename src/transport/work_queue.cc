// SPDX-License-Identifier: BSD-3-Clause
#include "transport/work_queue.h"

#include <cstring>

namespace uroce::transport {
namespace {

// In 64 bits: sixteen lengths of 2^32 - 1 do not wrap.
std::uint64_t total(std::span<const Sge> sges) noexcept {
  std::uint64_t sum = 0;
  for (const Sge& s : sges) sum += s.length;
  return sum;
}

void copy_sges(std::uint8_t* to, std::span<const Sge> sges) noexcept {
  for (const Sge& s : sges) {
    std::memcpy(to, &s, sizeof(s));
    to += sizeof(s);
  }
}

}  // namespace

PostError SendQueue::post(const SendWr& wr) noexcept {
  if (!ring_.has_room()) return PostError::queue_full;
  if (wr.sges.size() > max_sges_) return PostError::too_many_sges;
  if (wr.opcode > WrOpcode::send_with_inv) return PostError::bad_opcode;
  const std::uint64_t length = total(wr.sges);
  if (length > kMaxMessageLength) return PostError::message_too_long;

  auto& e = *reinterpret_cast<SendEntry*>(ring_.next_slot());
  e.wr_id = wr.wr_id;
  e.remote_address = wr.remote_address;
  e.rkey = wr.rkey;
  e.length = static_cast<std::uint32_t>(length);
  e.opcode = wr.opcode;
  e.flags = static_cast<std::uint8_t>(wr.flags.bits());
  e.sge_count = static_cast<std::uint8_t>(wr.sges.size());
  if (wr.opcode == WrOpcode::send_with_inv) {
    e.immediate_or_key = wr.invalidate_rkey;
  } else {
    std::memcpy(&e.immediate_or_key, wr.immediate.data(), 4);
  }

  auto* data = reinterpret_cast<std::uint8_t*>(&e + 1);
  if (e.is_atomic()) {
    if (length != 8 || wr.sges.size() != 1) return PostError::message_too_long;
    e.flags = static_cast<std::uint8_t>((wr.flags - SendFlag::inline_data).bits());
    std::memcpy(data, wr.sges.data(), sizeof(Sge));
    std::memcpy(data + sizeof(Sge), &wr.compare_add, 8);
    std::memcpy(data + sizeof(Sge) + 8, &wr.swap, 8);
  } else if (e.has(SendFlag::inline_data)) {
    // The data is captured now: the caller may overwrite it at once, and its keys are not looked at.
    if (e.is_read()) return PostError::bad_opcode;
    if (length > max_inline_) return PostError::inline_too_long;
    for (const Sge& s : wr.sges) {
      if (s.length != 0) std::memcpy(data, reinterpret_cast<const void*>(s.address), s.length);
      data += s.length;
    }
  } else {
    copy_sges(data, wr.sges);
  }
  ring_.publish();
  return PostError::none;
}

PostError RecvQueue::post(const RecvWr& wr) noexcept {
  if (!ring_.has_room()) return PostError::queue_full;
  if (wr.sges.size() > max_sges_) return PostError::too_many_sges;
  auto& e = *reinterpret_cast<RecvEntry*>(ring_.next_slot());
  e.wr_id = wr.wr_id;
  e.length = total(wr.sges);
  e.sge_count = static_cast<std::uint32_t>(wr.sges.size());
  copy_sges(reinterpret_cast<std::uint8_t*>(&e + 1), wr.sges);
  ring_.publish();
  return PostError::none;
}

}  // namespace uroce::transport
