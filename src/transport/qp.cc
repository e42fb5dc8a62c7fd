// SPDX-License-Identifier: BSD-3-Clause
#include "transport/qp.h"

#include "wire/syndrome.h"

namespace uroce::transport {

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
