// SPDX-License-Identifier: BSD-3-Clause
// What the files of this folder, one a verb, share with the two halves of a connection.
#pragma once
#include <cstdint>
#include <cstring>

#include "transport/work_queue.h"
#include "wire/build.h"
#include "wire/opcode.h"

namespace uroce::transport::ops {

// READ requests of more PSNs than this are sent in parts, each after the one before is answered, so that no more than
// half the PSN space is ever outstanding.
inline constexpr std::uint32_t kReadPartPsns = 1u << 22;

// The RC opcode of a SEND or WRITE packet.
constexpr std::uint8_t request_opcode(WrOpcode op, wire::Place place) noexcept {
  using namespace wire::opcode;
  using wire::Place;
  const bool write = op == WrOpcode::rdma_write || op == WrOpcode::rdma_write_with_imm;
  switch (place) {
    case Place::first: return write ? kWriteFirst : kSendFirst;
    case Place::middle: return write ? kWriteMiddle : kSendMiddle;
    case Place::last:
      switch (op) {
        case WrOpcode::rdma_write: return kWriteLast;
        case WrOpcode::rdma_write_with_imm: return kWriteLastImm;
        case WrOpcode::send_with_imm: return kSendLastImm;
        case WrOpcode::send_with_inv: return kSendLastInvalidate;
        default: return kSendLast;
      }
    case Place::only: break;
  }
  switch (op) {
    case WrOpcode::rdma_write: return kWriteOnly;
    case WrOpcode::rdma_write_with_imm: return kWriteOnlyImm;
    case WrOpcode::send_with_imm: return kSendOnlyImm;
    case WrOpcode::send_with_inv: return kSendOnlyInvalidate;
    default: return kSendOnly;
  }
}

// RETH, ImmDt and IETH of a SEND or WRITE packet, where its opcode has them.
inline void write_request_headers(wire::FrameWriter& w, const SendEntry& e, bool first, bool last) noexcept {
  const bool write = e.opcode == WrOpcode::rdma_write || e.opcode == WrOpcode::rdma_write_with_imm;
  if (first && write) {
    auto& reth = w.ext<wire::Ext::reth>();
    reth.va.set(e.remote_address);
    reth.rkey.set(e.rkey);
    reth.dma_length.set(e.length);
  }
  if (!last) return;
  if (e.opcode == WrOpcode::send_with_imm || e.opcode == WrOpcode::rdma_write_with_imm) {
    std::memcpy(w.ext<wire::Ext::imm_dt>().data.data(), &e.immediate_or_key, 4);
  } else if (e.opcode == WrOpcode::send_with_inv) {
    w.ext<wire::Ext::ieth>().rkey.set(e.immediate_or_key);
  }
}

}  // namespace uroce::transport::ops
