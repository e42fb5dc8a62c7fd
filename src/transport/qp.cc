// SPDX-License-Identifier: BSD-3-Clause
#include "transport/qp.h"

#include "wire/ecn.h"
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

// A CNP's own mark says nothing about data, and an answer to it would go round for ever.
void Qp::on_marked(const wire::RocePacket& p, Context& c) {
  c.counters.add(Counter::np_ecn_marked_roce_packets);
  if (p.info().service == wire::Service::cnp || !flow.controlled()) return;
  if (flow.on_marked(c.now)) c.host.enlist_answers(*this);
}

void Qp::on_cnp(Context& c) {
  if (!flow.controlled()) return c.counters.add(Counter::rp_cnp_ignored);
  c.counters.add(Counter::rp_cnp_handled);
  flow.on_cnp(c.now);
}

// False: no room in the batch. As hardware sends it: PSN 0, MigReq clear, a class of its own, not ECN-capable.
bool Qp::send_cnp(Context& c, TxBatch& batch) {
  if (batch.full()) return false;
  std::uint8_t* frame = batch.room();
  wire::FrameWriter w(template_, frame, wire::opcode::kCnp, 0, bth_numbers(Psn{}));
  w.bth().se_m_pad_tver = 0;
  w.ext<wire::Ext::cnp>().reserved = {};
  w.set_congestion(wire::kBthBecn);
  batch.commit(w.finish());
  wire::set_traffic_class(frame + template_.ip_offset(), static_cast<std::uint8_t>(config_.congestion->cnp_dscp << 2));
  flow.cnp_sent();
  c.counters.add(Counter::np_cnp_sent);
  c.counters.add(Counter::tx_packets);
  return true;
}

void Qp::flush(Context& c) {
  requester_.flush(*this, c);
  responder_.flush(*this, c);
}

}  // namespace uroce::transport
