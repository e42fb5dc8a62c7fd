// SPDX-License-Identifier: BSD-3-Clause
// Connections whose next hop's MAC is not known yet: nothing leaves until it is, then everything does; a path that
// never comes ends in RETRY_EXC_ERR; what waits is bounded by the send queue. In virtual time.
#include "engine/neighbourhood.h"

#include <map>

#include "net/interface.h"
#include "node_rig.h"

namespace uroce::engine::test {
namespace {

using base::Duration;

net::InterfaceConfig interface_config(const IpAddress& us) {
  net::InterfaceConfig c;
  c.mac = mac_of(us);
  c.addresses = {{us, 24}};
  return c;
}

wire::MacAddress destination_of(CableEnd::Frame f) {
  wire::MacAddress m;
  std::copy_n(f.begin(), 6, m.bytes.begin());
  return m;
}

class Neighbours : public testing::Test {
 protected:
  Neighbours() {
    port_.on_sent = [this](CableEnd::Frame f) {
      if (opcode_name(f).empty()) {
        ++others_;
      } else {
        ++packets_[destination_of(f)];
      }
    };
  }
  // Both ends, from the start; the peer does nothing before it is driven.
  void connect(transport::QpAttributes with = attributes(kHere, kThere)) {
    // What the engine has to find out.
    with.path.destination_mac = {};
    ours_ = make_qp(node_, cq_, cq_);
    theirs_ = make_qp(peer_, their_cq_, their_cq_);
    with.dest_qpn = theirs_->qpn();
    ASSERT_TRUE(raise(node_, *ours_, with));
    std::swap(with.path.source, with.path.destination);
    with.path.source_mac = mac_of(kThere);
    with.dest_qpn = ours_->qpn();
    ASSERT_TRUE(raise(peer_, *theirs_, with));
  }
  void post(std::uint64_t n, std::uint64_t first = 0) {
    for (std::uint64_t i = 0; i < n; ++i) {
      ASSERT_EQ(send(node_, *ours_, {.wr_id = first + i, .flags = SendFlag::signaled}), PostError::none);
    }
  }
  void expect_receives(std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(receive(*theirs_, i), PostError::none);
  }
  void pass(Duration d, bool with_peer = true) {
    for (const Duration step = Duration::millis(1); d.ns > 0; d = d - step) {
      clock_.pass(step);
      for (int i = 0; i < 3; ++i) {
        node_.progress();
        if (with_peer) peer_.progress();
      }
    }
  }
  [[nodiscard]] std::uint64_t packets() const {
    std::uint64_t n = 0;
    for (const auto& [mac, count] : packets_) n += count;
    return n;
  }
  void expect_all_sent(std::uint64_t n) {
    const auto done = take(cq_);
    ASSERT_EQ(done.size(), n);
    for (std::uint64_t i = 0; i < n; ++i) {
      EXPECT_EQ(done[i].status, WcStatus::success) << to_string(done[i].status);
      EXPECT_EQ(done[i].wr_id, i);
    }
    EXPECT_EQ(take(their_cq_).size(), n);
  }

  ManualClock clock_;
  CableEnd port_, peer_port_{&port_};
  net::Interface interface_{interface_config(kHere), 1, clock_.now()};
  net::Interface peer_interface_{interface_config(kThere), 2, clock_.now()};
  CompletionQueue cq_{{}}, their_cq_{{}};
  Node node_{port_, clock_, {.seed = 1}, &interface_};
  Node peer_{peer_port_, clock_, {.seed = 2}, &peer_interface_};
  Qp *ours_ = nullptr, *theirs_ = nullptr;
  std::map<wire::MacAddress, std::uint64_t> packets_;  // RoCE, by destination
  std::uint64_t others_ = 0;
};

TEST_F(Neighbours, WhatWaitsLeavesWhenThePathIsKnown) {
  auto with = attributes(kHere, kThere);
  with.timeout = 20;  // 4.3 s: the wait itself costs no retry
  connect(with);
  expect_receives(20);
  post(20);
  pass(Duration::millis(50), false);
  EXPECT_EQ(packets(), 0u) << "to whom?";
  EXPECT_GT(others_, 0u) << "asked nobody";
  pass(Duration::millis(50));
  expect_all_sent(20);
  EXPECT_EQ(packets_.size(), 1u);
  EXPECT_EQ(packets_[mac_of(kThere)], 20u) << "each once";
}

// Set-up never blocks, and what is known beforehand costs no wait.
TEST_F(Neighbours, AKnownNeighbourIsUsedAtOnce) {
  connect();
  expect_receives(2);
  post(1);
  pass(Duration::millis(5));
  ASSERT_EQ(take(cq_).size(), 1u);
  const auto asked = others_;
  Qp* again = make_qp(node_, cq_, cq_);
  auto with = attributes(kHere, kThere);
  with.path.destination_mac = {};
  ASSERT_TRUE(raise(node_, *again, with));
  ASSERT_EQ(send(node_, *again, {.wr_id = 1}), PostError::none);
  const auto before = packets();
  node_.progress();
  EXPECT_EQ(packets(), before + 1);
  EXPECT_EQ(others_, asked);
}

TEST_F(Neighbours, APathThatNeverComesEndsInRetryExceeded) {
  for (const std::uint8_t retries : {std::uint8_t{0}, std::uint8_t{7}}) {
    auto with = attributes(kHere, kThere);  // 4.2 ms
    with.retry_cnt = retries;
    with.sq_psn = 77;
    connect(with);
    post(5);
    const std::int64_t tries = 1 + retries;
    pass(Duration::nanos(4'194'304 * tries) - Duration::millis(1), false);
    EXPECT_TRUE(take(cq_).empty()) << "too early";
    pass(Duration::nanos(4'194'304 * tries) + Duration::millis(10), false);
    const auto done = take(cq_);
    ASSERT_EQ(done.size(), 5u);
    EXPECT_EQ(done[0].status, WcStatus::retry_exc_err);
    EXPECT_EQ(done[0].retries_used, retries);
    EXPECT_EQ(done[0].psn, 77u);
    for (std::uint64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(done[i].wr_id, i);
      if (i > 0) {
        EXPECT_EQ(done[i].status, WcStatus::wr_flush_err);
      }
    }
    EXPECT_EQ(ours_->state(), QpState::err);
    node_.destroy_qp(*ours_);
  }
  EXPECT_EQ(packets(), 0u);
}

TEST_F(Neighbours, ADestinationWithoutARouteEndsTheSameWay) {
  connect(attributes(kHere, IpAddress::v4(10, 9, 9, 9)));
  post(2);
  pass(Duration::millis(100));
  const auto done = take(cq_);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].status, WcStatus::retry_exc_err);
  EXPECT_EQ(packets(), 0u);
}

// The send queue is what waits, so it is what bounds it; and nobody is asked more often than three times a while.
TEST_F(Neighbours, WhatWaitsIsBounded) {
  auto with = attributes(kHere, kThere);
  with.timeout = 0;  // waits for ever
  connect(with);
  post(64);
  EXPECT_EQ(send(node_, *ours_, {.wr_id = 64}), PostError::queue_full);
  pass(Duration::seconds(10), false);
  EXPECT_EQ(packets(), 0u);
  EXPECT_LE(others_, 12u);
  EXPECT_TRUE(take(cq_).empty());
  EXPECT_EQ(send(node_, *ours_, {.wr_id = 64}), PostError::queue_full);
  expect_receives(64);
  pass(Duration::seconds(6));  // a neighbour that failed is asked again after 5 s
  expect_all_sent(64);
}

TEST_F(Neighbours, DestroyedWhileItWaits) {
  connect();
  post(3);
  pass(Duration::millis(2), false);
  node_.destroy_qp(*ours_);
  pass(Duration::millis(200));
  EXPECT_TRUE(take(cq_).empty());
  EXPECT_EQ(packets(), 0u);
}

// An announcement from another station: frames follow it.
TEST_F(Neighbours, ANeighbourThatMovesIsFollowed) {
  connect();
  expect_receives(4);
  post(1);
  pass(Duration::millis(5));
  ASSERT_EQ(take(cq_).size(), 1u);
  const wire::MacAddress elsewhere{{2, 0, 0, 0, 0, 0x99}};
  std::array<TxFrame, 1> f;
  ASSERT_EQ(peer_port_.tx_alloc(f), 1u);
  // Gratuitous ARP: broadcast, request, sender and target 10.0.0.2.
  const std::uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  0, 0, 0, 0, 0x99, 8, 6, 0, 1, 8,  0, 6, 4, 0, 1,
                                2,    0,    0,    0,    0,    0x99, 10, 0, 0, 2, 0, 0,    0, 0, 0, 0, 10, 0, 0, 2};
  std::memset(f[0].data, 0, 60);
  std::copy(std::begin(bytes), std::end(bytes), f[0].data);
  f[0].length = 60;
  peer_port_.tx_burst(f);
  pass(Duration::millis(2), false);
  post(1, 1);
  pass(Duration::millis(2), false);
  EXPECT_EQ(packets_[elsewhere], 1u);
}

// The passive side knows nobody either, as what we tell it is lost: its acknowledgements wait for the path, then leave.
TEST_F(Neighbours, AnswersWaitToo) {
  auto with = attributes(kHere, kThere);
  with.timeout = 20;
  connect(with);
  expect_receives(1);
  bool lossy = true;
  std::uint64_t answers = 0;
  port_.loses = [&](CableEnd::Frame f) { return lossy && opcode_name(f).empty(); };
  peer_port_.on_sent = [&](CableEnd::Frame f) { answers += opcode_name(f).empty() ? 0 : 1; };
  post(1);
  pass(Duration::millis(20));  // its announcement told us where it is
  EXPECT_EQ(packets(), 1u);
  EXPECT_EQ(answers, 0u);
  lossy = false;
  pass(Duration::seconds(3));
  EXPECT_EQ(answers, 1u);
  EXPECT_EQ(packets(), 1u);
  expect_all_sent(1);
}

// Control frames and queue pairs share the port's buffers: many destinations at once.
TEST_F(Neighbours, ManyDestinationsResolveEach) {
  std::vector<Qp*> all;
  for (std::uint8_t i = 10; i < 60; ++i) {
    Qp* qp = make_qp(node_, cq_, cq_);
    auto with = attributes(kHere, IpAddress::v4(10, 0, 0, i));
    with.path.destination_mac = {};
    with.timeout = 16;
    ASSERT_TRUE(raise(node_, *qp, with));
    ASSERT_EQ(send(node_, *qp, {.wr_id = i, .flags = SendFlag::signaled}), PostError::none);
    all.push_back(qp);
  }
  pass(Duration::millis(20), false);
  EXPECT_GE(others_, 50u) << "each is asked for";
  pass(Duration::seconds(8), false);
  EXPECT_EQ(take(cq_).size(), 50u);
  EXPECT_EQ(packets(), 0u);
  for (Qp* qp : all) node_.destroy_qp(*qp);
}

}  // namespace
}  // namespace uroce::engine::test
