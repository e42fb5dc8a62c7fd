// SPDX-License-Identifier: BSD-3-Clause
// What a legal modify() does.
#include <gtest/gtest.h>

#include <algorithm>

#include "rig.h"

namespace uroce::transport::test {
namespace {

TEST(QpModify, TheWayToReadyToSend) {
  Rig r;
  EXPECT_EQ(r.qp.state(), QpState::reset);
  ASSERT_TRUE(r.move(QpState::init));
  EXPECT_EQ(r.qp.state(), QpState::init);
  EXPECT_EQ(r.qp.attributes().access, Rig::attributes(QpState::init).access);
  EXPECT_EQ(r.qp.attributes().dest_qpn, 0u);  // given, but not in the mask

  ASSERT_TRUE(r.move(QpState::rtr));
  EXPECT_EQ(r.qp.state(), QpState::rtr);
  const QpAttributes& a = r.qp.attributes();
  EXPECT_EQ(a.dest_qpn, 0xabcdefu);
  EXPECT_EQ(a.path_mtu, PathMtu::mtu2048);
  EXPECT_EQ(r.qp.mtu(), 2048u);
  EXPECT_EQ(a.rq_psn, 0x111111u);
  EXPECT_EQ(r.qp.responder().expected(), Psn(0x111111));
  EXPECT_EQ(r.qp.responder().msn(), 0u);
  EXPECT_EQ(a.min_rnr_timer, 9);
  EXPECT_EQ(a.max_dest_rd_atomic, 6);
  const std::uint8_t from_peer[] = {10, 0, 0, 2, 10, 0, 0, 1};
  EXPECT_TRUE(std::ranges::equal(r.qp.frame_template().received_addresses(), from_peer));
  EXPECT_EQ(r.host.requests, 0);

  ASSERT_TRUE(r.move(QpState::rts));
  EXPECT_EQ(r.qp.state(), QpState::rts);
  EXPECT_EQ(a.timeout, 11);
  EXPECT_EQ(a.retry_cnt, 3);
  EXPECT_EQ(a.rnr_retry, 2);
  EXPECT_EQ(a.sq_psn, 0x222222u);
  EXPECT_EQ(a.max_rd_atomic, 5);
  EXPECT_EQ(r.qp.requester().una(), Psn(0x222222));
  EXPECT_EQ(r.qp.requester().next(), Psn(0x222222));
  EXPECT_EQ(r.qp.responder().expected(), Psn(0x111111));
  EXPECT_GE(r.host.requests, 1);
  EXPECT_TRUE(r.events.seen.empty());
}

TEST(QpModify, PsnsAreCutTo24Bits) {
  Rig r;
  r.bring_to(QpState::init);
  QpAttributes a = Rig::attributes(QpState::rtr);
  a.rq_psn = 0xff000007;
  ASSERT_TRUE(r.modify(a, Rig::kToRtr));
  EXPECT_EQ(r.qp.attributes().rq_psn, 7u);
  EXPECT_EQ(r.qp.responder().expected(), Psn(7));
  a = Rig::attributes(QpState::rts);
  a.sq_psn = 0x1ffffff;
  ASSERT_TRUE(r.modify(a, Rig::kToRts));
  EXPECT_EQ(r.qp.attributes().sq_psn, 0xffffffu);
  EXPECT_EQ(r.qp.requester().next(), Psn(0xffffff));
}

TEST(QpModify, OnlyWhatTheMaskNamesChanges) {
  Rig r;
  r.bring_to(QpState::rts);
  QpAttributes a;  // all defaults, none of them meant
  a.state = QpState::rts;
  a.access = {};
  a.min_rnr_timer = 31;
  ASSERT_TRUE(r.modify(a, {QpAttrBit::state, QpAttrBit::min_rnr_timer}));
  const QpAttributes& now = r.qp.attributes();
  const QpAttributes was = Rig::attributes(QpState::rts);
  EXPECT_EQ(now.min_rnr_timer, 31);
  EXPECT_EQ(now.access, was.access);
  EXPECT_EQ(now.timeout, was.timeout);
  EXPECT_EQ(now.dest_qpn, was.dest_qpn);
  EXPECT_EQ(now.path_mtu, was.path_mtu);
  EXPECT_EQ(now.sq_psn, was.sq_psn);
  ASSERT_TRUE(r.modify(a, {QpAttrBit::state, QpAttrBit::access_flags}));
  EXPECT_TRUE(r.qp.attributes().access.empty());
}

TEST(QpModify, WithoutStateTheStateStays) {
  Rig r;
  r.bring_to(QpState::rts);
  QpAttributes a = Rig::attributes(QpState::reset);  // not named in the mask
  a.min_rnr_timer = 1;
  ASSERT_TRUE(r.modify(a, QpAttrBit::min_rnr_timer));
  EXPECT_EQ(r.qp.state(), QpState::rts);
  EXPECT_EQ(r.qp.attributes().min_rnr_timer, 1);
}

TEST(QpModify, SqdTakesANewPathAndNewCounters) {
  Rig r;
  r.bring_to(QpState::sqd);
  QpAttributes a = Rig::attributes(QpState::sqd);
  a.path.destination = wire::IpAddress::v4(10, 0, 0, 77);
  a.timeout = 1;
  a.retry_cnt = 7;
  a.rnr_retry = 0;
  a.max_rd_atomic = 128;
  using B = QpAttrBit;
  ASSERT_TRUE(r.modify(a, {B::state, B::av, B::timeout, B::retry_cnt, B::rnr_retry, B::max_rd_atomic, B::port}));
  EXPECT_EQ(r.qp.state(), QpState::sqd);
  const std::uint8_t from_peer[] = {10, 0, 0, 77, 10, 0, 0, 1};
  EXPECT_TRUE(std::ranges::equal(r.qp.frame_template().received_addresses(), from_peer));
  EXPECT_EQ(r.qp.attributes().timeout, 1);
  EXPECT_EQ(r.qp.attributes().retry_cnt, 7);
  EXPECT_EQ(r.qp.attributes().rnr_retry, 0);
  EXPECT_EQ(r.qp.attributes().max_rd_atomic, 128);
  EXPECT_EQ(r.qp.requester().una(), Psn(0x222222));
  ASSERT_TRUE(r.move(QpState::rts));
  EXPECT_EQ(r.qp.requester().una(), Psn(0x222222));  // it goes on where it was
}

TEST(QpModify, SqDrainedIsRaisedOnceAndOnlyWhenAskedFor) {
  for (bool ask : {true, false}) {
    Rig r;
    r.bring_to(QpState::rts);
    QpAttributes a = Rig::attributes(QpState::sqd);
    a.sqd_notify = ask;
    ASSERT_TRUE(r.modify(a, {QpAttrBit::state, QpAttrBit::en_sqd_async_notify}));
    EXPECT_EQ(r.events.count(AsyncEventType::sq_drained, kQpn), ask ? 1 : 0);
    ASSERT_TRUE(r.move(QpState::rts));
    ASSERT_TRUE(r.move(QpState::sqd));  // this time without asking
    EXPECT_EQ(r.events.seen.size(), ask ? 1u : 0u);
  }
}

TEST(QpModify, EdgesOfEveryRangeAreAllowed) {
  for (bool high : {false, true}) {
    Rig r;
    r.bring_to(QpState::init);
    QpAttributes a = Rig::attributes(QpState::rtr);
    a.path_mtu = high ? PathMtu::mtu4096 : PathMtu::mtu256;
    a.dest_qpn = high ? 0xffffff : 0;
    a.min_rnr_timer = high ? 31 : 0;
    a.max_dest_rd_atomic = high ? 128 : 0;
    ASSERT_TRUE(r.modify(a, Rig::kToRtr));
    EXPECT_EQ(r.qp.mtu(), high ? 4096u : 256u);
    a.state = QpState::rts;
    a.timeout = high ? 31 : 0;
    a.retry_cnt = high ? 7 : 0;
    a.rnr_retry = high ? 7 : 0;
    a.max_rd_atomic = high ? 128 : 0;
    ASSERT_TRUE(r.modify(a, Rig::kToRts));
    EXPECT_EQ(r.qp.attributes().timeout, high ? 31 : 0);
    EXPECT_EQ(r.qp.attributes().max_rd_atomic, high ? 128 : 0);
  }
}

}  // namespace
}  // namespace uroce::transport::test
