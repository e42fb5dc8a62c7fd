// SPDX-License-Identifier: BSD-3-Clause
#include "transport/qp.h"

#include <cstring>

#include "transport/qp_state.h"
#include "wire/syndrome.h"

namespace uroce::transport {

std::optional<wire::Drop> Qp::admit(const wire::RocePacket& p) const noexcept {
  using wire::Drop;
  const wire::OpcodeInfo& info = p.info();
  if (info.service != wire::Service::rc) return Drop::wrong_service;
  const QpState s = state();
  if (info.request ? !accepts_requests(s) : !accepts_responses(s)) return Drop::qp_state;
  // IBTA 10.9.3: the low 15 bits equal and not both limited members; ours is the default key, a full member.
  if ((p.bth().pkey.get() & 0x7fffu) != 0x7fffu) return Drop::pkey;
  // Constant lengths: compares of registers instead of a call.
  const std::uint8_t *expected = template_.received_addresses().data(), *seen = p.datagram().addresses().data();
  const bool v6 = template_.is_v6();
  if (p.datagram().is_v6() != v6 || std::memcmp(expected, seen, 8) != 0 ||
      (v6 && std::memcmp(expected + 8, seen + 8, 24) != 0)) {
    return Drop::wrong_address;
  }
  return std::nullopt;
}

void Qp::enter_error(Context& c, bool answers_stay) {
  if (state() == QpState::err || state() == QpState::reset) return;
  set_state(QpState::err);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // before flush() reads the tails: see QueuePair::post_recv()
  if (!answers_stay) responder_.drop_answers();
  flush(c);
}

base::Duration Qp::begin_linger(Context& c) {
  const bool connected = accepts_requests(state()) || responder_.owes();
  config_.send_lane = config_.recv_lane = nullptr;
  lingering_ = true;
  flush(c);
  if (!connected) return {};
  // IBTA leaves the time open: four of our own ack timeouts, as the peer's are likely to be alike, and a second at most.
  constexpr base::Duration kMost = base::Duration::seconds(1);
  const base::Duration t = wire::ack_timeout(attributes_.timeout);
  return t.ns > kMost.ns / 4 ? kMost : t * 4;
}

void Qp::flush(Context& c) {
  requester_.flush(*this, c);
  responder_.flush(*this, c);
}

}  // namespace uroce::transport
