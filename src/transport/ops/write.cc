// SPDX-License-Identifier: BSD-3-Clause
// RDMA WRITE, with immediate or without: the responder's part.
#include "memory/copy.h"
#include "transport/ops/ops.h"
#include "transport/qp.h"

namespace uroce::transport {

RcResponder::Outcome RcResponder::execute_write(Qp& qp, const wire::RocePacket& p, Context& c) {
  const bool with_imm = p.ext<wire::Ext::imm_dt>() != nullptr;
  const auto length = static_cast<std::uint32_t>(p.payload().size());
  std::uint64_t va = va_;
  std::uint32_t rkey = rkey_, announced = announced_, received = received_;
  if (p.info().starts()) {
    const auto& reth = *p.ext<wire::Ext::reth>();
    va = reth.va.get();
    rkey = reth.rkey.get();
    announced = reth.dma_length.get();
    received = 0;
    if (announced > kMaxMessageLength) return {Refusal{wire::Nak::invalid_request}};
    // The whole range at once, so that a message that can't end well never begins. C9-88: not for length 0.
    memory::KeyFault why;
    if (announced != 0 &&
        c.memory.translate(rkey, qp.config().pd, va, announced, Access::remote_write, why) == nullptr) {
      return {Refusal{wire::Nak::remote_access}};
    }
  }
  const std::uint32_t left = announced - received;
  if (p.info().ends() ? length != left : length >= left) return {Refusal{wire::Nak::invalid_request}};
  if (with_imm && qp.rq().front() == nullptr) return Outcome::receiver_not_ready();
  if (length != 0) {
    memory::KeyFault why;
    std::uint8_t* to = c.memory.translate(rkey, qp.config().pd, va + received, length, Access::remote_write, why);
    if (to == nullptr) return {Refusal{wire::Nak::remote_access}};
    memory::copy_visible(to, p.payload().data(), length);
  }
  va_ = va;
  rkey_ = rkey;
  announced_ = announced;
  received_ = received + length;
  message_ = Message::write;
  if (p.info().ends()) {
    message_ = Message::none;
    if (with_imm) complete_receive(qp, p, WcOpcode::recv_rdma_with_imm, received_, c);
  }
  return {};
}

}  // namespace uroce::transport
