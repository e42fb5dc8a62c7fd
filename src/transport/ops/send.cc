// SPDX-License-Identifier: BSD-3-Clause
// SEND, with immediate or invalidate: the responder's part. The requester's is common to all data: rc_requester_send.cc.
#include "memory/pieces.h"
#include "transport/ops/ops.h"
#include "transport/qp.h"

namespace uroce::transport {

RcResponder::Outcome RcResponder::execute_send(Qp& qp, const wire::RocePacket& p, Context& c) {
  const RecvEntry* receive = qp.rq().front();
  const bool starts = p.info().starts();
  if (starts) {
    if (receive == nullptr) return Outcome::receiver_not_ready();
    received_ = 0;
  }
  const auto length = static_cast<std::uint32_t>(p.payload().size());
  if (std::uint64_t{received_} + length > receive->length) {
    in_receive_ = true;
    return {Refusal{wire::Nak::invalid_request, WcStatus::loc_len_err}};
  }
  memory::Pieces pieces;
  if (!pieces.resolve(c.memory, qp.config().pd, receive->sges(), received_, length, Access::local_write)) {
    in_receive_ = true;
    return {Refusal{wire::Nak::remote_operational, WcStatus::loc_prot_err}};
  }
  if (const auto* ieth = p.ext<wire::Ext::ieth>()) {
    if (!c.memory.invalidate(ieth->rkey.get(), qp.config().pd)) {
      in_receive_ = true;
      return {Refusal{wire::Nak::remote_access, WcStatus::rem_inv_req_err}};
    }
  }
  pieces.scatter(p.payload().data());
  received_ += length;
  in_receive_ = true;
  message_ = Message::send;
  if (p.info().ends()) {
    message_ = Message::none;
    complete_receive(qp, p, WcOpcode::recv, received_, c);
  }
  return {};
}

}  // namespace uroce::transport
