// SPDX-License-Identifier: BSD-3-Clause
#include "engine/neighbourhood.h"

#include "transport/qp.h"

namespace uroce::engine {

int Neighbourhood::look(transport::Context& c) {
  turns_ = 0;
  attention_ = false;
  if (interface_.next_deadline() <= c.now) interface_.on_timer(c.now);
  int work = 0;
  while (const auto change = interface_.poll_change()) {
    ++work;
    qps_.for_each([&](transport::Qp& qp) {
      if (!qp.held_destination || interface_.next_hop(*qp.held_destination) != change->neighbour) return;
      resolve(qp);
      if (!qp.path_ready) return;
      c.host.enlist_answers(qp);
      c.host.enlist_requests(qp);
    });
  }
  return work + (interface_.owes_frames() ? send(c.now) : 0);
}

int Neighbourhood::send(base::Instant now) {
  int sent = 0;
  constexpr int kMost = 8;  // a turn; the rest next time
  while (sent < kMost && interface_.owes_frames()) {
    TxFrame f;
    if (port_.tx_alloc(std::span(&f, 1)) == 0) break;
    f.length = static_cast<std::uint32_t>(interface_.poll_transmit({f.data, port_.max_frame_bytes()}, now));
    if (f.length == 0 || port_.tx_burst(std::span(&f, 1)) == 0) {
      port_.tx_free(std::span(&f, 1));
      break;
    }
    ++sent;
  }
  attention_ = interface_.owes_frames();
  return sent;
}

void Neighbourhood::connect(transport::Qp& qp) {
  forget(qp);
  if (qp.loops_back()) {
    qp.path_ready = true;
    return qp.set_destination_mac(interface_.mac());
  }
  const wire::IpAddress& destination = qp.attributes().path.destination;
  if (interface_.hold(destination)) qp.held_destination = destination;
  resolve(qp);
  attention_ = true;
}

void Neighbourhood::forget(transport::Qp& qp) {
  if (!qp.held_destination) return;
  interface_.release(*qp.held_destination);
  qp.held_destination.reset();
}

void Neighbourhood::resolve(transport::Qp& qp) {
  const auto mac = interface_.resolve(qp.attributes().path.destination);
  qp.path_ready = mac.has_value();
  if (mac) qp.set_destination_mac(*mac);
}

}  // namespace uroce::engine
