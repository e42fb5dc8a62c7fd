// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs ready to send, for tests of what serves them.
#pragma once
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "engine/egress.h"
#include "transport/qp.h"

namespace uroce::engine::test {

using transport::CompletionLane;
using transport::LaneEntry;
using transport::Qp;

template <std::uint32_t Slots>
struct Lane {
  explicit Lane(std::uint32_t cq, transport::CqState* shared = nullptr) {
    lane.init(slots.data(), Slots, Slots, cq, shared);
  }
  std::vector<Completion> drain() {
    std::vector<Completion> out;
    for (LaneEntry e; lane.pop(e);) out.push_back(e.completion);
    return out;
  }
  std::array<LaneEntry, Slots> slots;
  CompletionLane lane;
};

struct Events final : transport::EventSink {
  void on_event(const AsyncEvent& e) override { seen.push_back(e); }
  std::vector<AsyncEvent> seen;
};

inline transport::QpConfig config_of(std::uint32_t qpn, CompletionLane& send, CompletionLane& recv,
                                     std::uint32_t depth = 512) {
  transport::QpConfig c;
  c.qpn = qpn;
  c.send_lane = &send;
  c.recv_lane = &recv;
  c.send_depth = c.recv_depth = depth;
  c.window_packets = 4096;
  return c;
}

inline wire::Path some_path() {
  wire::Path p;
  p.source_mac = {{2, 0, 0, 0, 0, 1}};
  p.destination_mac = {{2, 0, 0, 0, 0, 2}};
  p.source = wire::IpAddress::v4(10, 0, 0, 1);
  p.destination = wire::IpAddress::v4(10, 0, 0, 2);
  return p;
}

// From RESET to RTS by `modify`, called as modify(attributes, mask). The peer's QPN is ours plus 1000.
template <class Modify>
void connect(Qp& qp, std::uint32_t first_psn, Modify&& modify) {
  using B = QpAttrBit;
  transport::QpAttributes a;
  a.path = some_path();
  a.path_mtu = PathMtu::mtu256;
  a.dest_qpn = qp.qpn() + 1000;
  a.sq_psn = first_psn;
  a.rq_psn = 500;
  a.state = QpState::init;
  ASSERT_TRUE(modify(a, QpAttrMask{B::state, B::pkey_index, B::port, B::access_flags}));
  a.state = QpState::rtr;
  ASSERT_TRUE(modify(
      a, QpAttrMask{B::state, B::av, B::path_mtu, B::dest_qpn, B::rq_psn, B::max_dest_rd_atomic, B::min_rnr_timer}));
  a.state = QpState::rts;
  ASSERT_TRUE(modify(a, QpAttrMask{B::state, B::timeout, B::retry_cnt, B::rnr_retry, B::sq_psn, B::max_rd_atomic}));
}

inline void post_sends(Qp& qp, int n) {
  for (int i = 0; i < n; ++i) ASSERT_EQ(qp.sq().post({}), PostError::none);
}

}  // namespace uroce::engine::test
