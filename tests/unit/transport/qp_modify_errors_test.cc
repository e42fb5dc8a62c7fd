// SPDX-License-Identifier: BSD-3-Clause
// What modify() refuses: it says which queue pair, what and why, and has changed nothing.
#include <gtest/gtest.h>

#include <string>

#include "rig.h"
#include "verbs_table.h"

namespace uroce::transport::test {
namespace {

constexpr QpState kReachable[] = {QpState::reset, QpState::init, QpState::rtr,
                                  QpState::rts,   QpState::sqd,  QpState::err};
const std::string kObject = "qp " + std::to_string(kQpn);

// Posts something and brings the queue pair to `state`.
void prepare(Rig& r, QpState state) {
  r.bring_to(state);
  if (state == QpState::reset || state == QpState::err) return;
  r.post_recv(1);
  if (state == QpState::rts || state == QpState::sqd) r.post_send(2);
}

void expect_refused(Rig& r, const QpAttributes& a, QpAttrMask mask, ErrorCode code,
                    std::initializer_list<std::string> says) {
  const Snapshot before(r.qp);
  const int requests = r.host.requests;
  const auto result = r.modify(a, mask);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << result.error().message;
  expect_says(result.error().message, {kObject});
  expect_says(result.error().message, says);
  Snapshot(r.qp).expect_same(before);
  EXPECT_EQ(r.host.requests, requests);
  EXPECT_TRUE(r.events.seen.empty());
  r.context.publish_completions();
  EXPECT_EQ(r.sent.drain().size() + r.received.drain().size(), 0u);
}

// The attributes that a message names.
QpAttrMask named_in(const std::string& message) {
  QpAttrMask mask;
  std::string word;
  for (char ch : message + ' ') {
    if ((ch >= 'a' && ch <= 'z') || ch == '_') {
      word += ch;
      continue;
    }
    for (const VerbsBit& b : kVerbsBits) {
      if (word == b.ours) mask |= static_cast<QpAttrBit>(b.bit);
    }
    word.clear();
  }
  return mask;
}

TEST(QpModifyErrors, WhatIsMissingOrTooMuchIsNamedAndNothingElse) {
  using B = QpAttrBit;
  Rig r;
  r.bring_to(QpState::init);
  const auto missing = r.modify(Rig::attributes(QpState::rtr), Rig::kToRtr - QpAttrMask{B::av, B::rq_psn});
  ASSERT_FALSE(missing);
  EXPECT_EQ(named_in(missing.error().message), (QpAttrMask{B::av, B::rq_psn})) << missing.error().message;
  const auto excess =
      r.modify(Rig::attributes(QpState::rtr), Rig::kToRtr | QpAttrMask{B::alt_path, B::qkey, B::sq_psn, B::cap});
  ASSERT_FALSE(excess);
  EXPECT_EQ(named_in(excess.error().message), (QpAttrMask{B::qkey, B::sq_psn, B::cap})) << excess.error().message;
}

TEST(QpModifyErrors, EveryMoveThatTheVerbsDoNotKnow) {
  int refused = 0;
  for (QpState from : kReachable) {
    for (QpState to : kStates) {
      if (verbs_row(from, to) != nullptr) continue;
      SCOPED_TRACE(testing::Message() << to_string(from) << " to " << to_string(to));
      Rig r;
      prepare(r, from);
      // Whatever attributes come with it.
      for (QpAttrMask mask : {Rig::kStateOnly, Rig::kToInit, Rig::kToRtr, Rig::kToRts}) {
        expect_refused(r, Rig::attributes(to), mask, ErrorCode::wrong_state, {to_string(from), to_string(to)});
      }
      ++refused;
    }
  }
  EXPECT_EQ(refused, 6 * 7 - 19);
}

TEST(QpModifyErrors, EachMissingAttributeIsNamed) {
  int missing = 0;
  for (const VerbsRow& row : kVerbsTable) {
    for (QpState from : kReachable) {
      for (QpState to : kReachable) {
        if (verbs_row(from, to) != &row) continue;
        const QpAttrMask required = mask_of(row.required);
        for (const VerbsBit& b : kVerbsBits) {
          const auto bit = static_cast<QpAttrBit>(b.bit);
          if (!required.has(bit)) continue;
          SCOPED_TRACE(testing::Message() << row.from << " to " << row.to << " without " << b.name);
          Rig r;
          prepare(r, from);
          expect_refused(r, Rig::attributes(to), (required | QpAttrBit::state) - bit, ErrorCode::invalid_argument,
                         {row.from, row.to, "missing", b.ours});
          ++missing;
        }
      }
    }
  }
  EXPECT_EQ(missing, 3 + 6 + 5);
}

TEST(QpModifyErrors, AllMissingAttributesAreNamed) {
  Rig r;
  r.bring_to(QpState::init);
  expect_refused(r, Rig::attributes(QpState::rtr), Rig::kStateOnly, ErrorCode::invalid_argument,
                 {"av", "path_mtu", "dest_qpn", "rq_psn", "max_dest_rd_atomic", "min_rnr_timer"});
}

void for_each_excess(bool cur_state, int& tried) {
  for (QpState from : kReachable) {
    for (QpState to : kReachable) {
      const VerbsRow* row = verbs_row(from, to);
      if (row == nullptr) continue;
      const QpAttrMask required = mask_of(row->required) | QpAttrBit::state;
      for (const VerbsBit& b : kVerbsBits) {
        const auto bit = static_cast<QpAttrBit>(b.bit);
        if ((required | mask_of(row->optional)).has(bit) || (bit == QpAttrBit::cur_state) != cur_state) continue;
        SCOPED_TRACE(testing::Message() << row->from << " to " << row->to << " with " << b.name);
        Rig r;
        prepare(r, from);
        expect_refused(r, Rig::attributes(to), required | bit, ErrorCode::invalid_argument,
                       {row->from, row->to, b.ours});
        ++tried;
      }
    }
  }
}

TEST(QpModifyErrors, EachAttributeThatDoesNotBelongIsNamed) {
  int tried = 0;
  for_each_excess(false, tried);
  EXPECT_GT(tried, 250);
}

// The verbs let CUR_STATE come with the three moves to RTS only.
TEST(QpModifyErrors, CurStateDoesNotBelongElsewhere) {
  int tried = 0;
  for_each_excess(true, tried);
  EXPECT_EQ(tried, 19 - 3);
}

TEST(QpModifyErrors, ABitThatNoAttributeHasIsRefusedByItsNumber) {
  Rig r;
  r.bring_to(QpState::rts);
  expect_refused(r, Rig::attributes(QpState::rts), QpAttrMask::from_bits(1u | 1u << 25), ErrorCode::invalid_argument,
                 {"not allowed", "25"});
}

TEST(QpModifyErrors, EachOptionalAttributeIsTaken) {
  for (QpState from : kReachable) {
    for (QpState to : kReachable) {
      const VerbsRow* row = verbs_row(from, to);
      if (row == nullptr) continue;
      const QpAttrMask optional = mask_of(row->optional);
      for (const VerbsBit& b : kVerbsBits) {
        if (!optional.has(static_cast<QpAttrBit>(b.bit))) continue;
        Rig r;
        prepare(r, from);
        const auto result =
            r.modify(Rig::attributes(to), mask_of(row->required) | QpAttrBit::state | static_cast<QpAttrBit>(b.bit));
        EXPECT_TRUE(result) << result.error().message;
        EXPECT_EQ(r.qp.state(), to);
      }
    }
  }
}

TEST(QpModifyErrors, RangesOfTheMoveToReadyToReceive) {
  Rig r;
  prepare(r, QpState::init);
  const QpAttributes good = Rig::attributes(QpState::rtr);
  const auto refused = [&](auto&& change, std::initializer_list<std::string> says) {
    QpAttributes a = good;
    change(a);
    expect_refused(r, a, Rig::kToRtr, ErrorCode::invalid_argument, says);
  };
  refused([](QpAttributes& a) { a.path_mtu = static_cast<PathMtu>(0); }, {"path_mtu", " 0 ", "1", "5"});
  refused([](QpAttributes& a) { a.path_mtu = static_cast<PathMtu>(6); }, {"path_mtu", " 6 ", "1", "5"});
  refused([](QpAttributes& a) { a.path_mtu = static_cast<PathMtu>(255); }, {"path_mtu", " 255 "});
  refused([](QpAttributes& a) { a.dest_qpn = 0x1000000; }, {"dest_qpn", "16777216", "16777215"});
  refused([](QpAttributes& a) { a.min_rnr_timer = 32; }, {"min_rnr_timer", " 32 ", "31"});
  refused([](QpAttributes& a) { a.max_dest_rd_atomic = 129; }, {"max_dest_rd_atomic", " 129 ", "128"});
  refused([](QpAttributes& a) { a.path.destination = wire::IpAddress{{0xfe, 0x80}}; }, {"IP version"});
  EXPECT_TRUE(r.modify(good, Rig::kToRtr));
}

TEST(QpModifyErrors, RangesOfTheMoveToReadyToSend) {
  Rig r;
  prepare(r, QpState::rtr);
  const QpAttributes good = Rig::attributes(QpState::rts);
  const auto refused = [&](auto&& change, std::initializer_list<std::string> says) {
    QpAttributes a = good;
    change(a);
    expect_refused(r, a, Rig::kToRts, ErrorCode::invalid_argument, says);
  };
  refused([](QpAttributes& a) { a.timeout = 32; }, {"timeout", " 32 ", "31"});
  refused([](QpAttributes& a) { a.retry_cnt = 8; }, {"retry_cnt", " 8 ", "7"});
  refused([](QpAttributes& a) { a.rnr_retry = 8; }, {"rnr_retry", " 8 ", "7"});
  refused([](QpAttributes& a) { a.max_rd_atomic = 129; }, {"max_rd_atomic", " 129 ", "128"});
  refused([](QpAttributes& a) { a.max_rd_atomic = 255; }, {"max_rd_atomic", " 255 ", "128"});
  EXPECT_TRUE(r.modify(good, Rig::kToRts));
}

TEST(QpModifyErrors, ValuesThatTheMaskDoesNotNameAreNotLookedAt) {
  Rig r;
  QpAttributes a = Rig::attributes(QpState::init);
  a.path_mtu = static_cast<PathMtu>(99);
  a.timeout = a.retry_cnt = a.rnr_retry = a.min_rnr_timer = a.max_rd_atomic = a.max_dest_rd_atomic = 200;
  a.dest_qpn = 0xffffffff;
  a.path.destination = wire::IpAddress{{0xfe, 0x80}};
  EXPECT_TRUE(r.modify(a, Rig::kToInit));
}

}  // namespace
}  // namespace uroce::transport::test
