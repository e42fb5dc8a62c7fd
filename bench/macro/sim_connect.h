// SPDX-License-Identifier: BSD-3-Clause
// Takes a simulated host's queue pair from RESET to RTS, for WRITEs of path MTU 1024.
#pragma once
#include <string>

#include "sim/host.h"
#include "transport/qp.h"

namespace uroce::bench {

struct SimAddress {
  wire::MacAddress mac;
  wire::IpAddress ip;
};

// `a`: the PSNs and the timeout. The failure, or nothing.
inline std::string connect(sim::Host& host, transport::Qp& qp, const SimAddress& own, const SimAddress& peer,
                           std::uint32_t peer_qpn, transport::QpAttributes a) {
  using B = QpAttrBit;
  a.access = {Access::remote_write};
  a.path.source_mac = own.mac;
  a.path.destination_mac = peer.mac;
  a.path.source = own.ip;
  a.path.destination = peer.ip;
  a.path_mtu = PathMtu::mtu1024;
  a.dest_qpn = peer_qpn;
  const auto go = [&](QpState state, QpAttrMask mask) -> std::string {
    a.state = state;
    const auto r = host.worker().modify(qp, a, mask | B::state, host.now());
    return r ? std::string() : "cannot connect: " + r.error().message;
  };
  std::string why = go(QpState::init, {B::pkey_index, B::port, B::access_flags});
  if (why.empty()) {
    why = go(QpState::rtr, {B::av, B::path_mtu, B::dest_qpn, B::rq_psn, B::max_dest_rd_atomic, B::min_rnr_timer});
  }
  if (why.empty()) why = go(QpState::rts, {B::timeout, B::retry_cnt, B::rnr_retry, B::sq_psn, B::max_rd_atomic});
  return why;
}

}  // namespace uroce::bench
