// SPDX-License-Identifier: BSD-3-Clause
#include "transport/qp_state.h"

#include <gtest/gtest.h>

#include "verbs_table.h"

namespace uroce::transport::test {
namespace {

// But SQE, which belongs to UC and UD: below.
TEST(QpStateTable, AgreesWithTheVerbsForEveryPair) {
  for (QpState from : kStates) {
    for (QpState to : kStates) {
      if (from == QpState::sqe) continue;
      SCOPED_TRACE(testing::Message() << to_string(from) << " to " << to_string(to));
      const VerbsRow* verbs = verbs_row(from, to);
      const QpTransition* ours = find_transition(kRcTransitions, from, to);
      ASSERT_EQ(ours != nullptr, verbs != nullptr);
      if (verbs == nullptr) continue;
      EXPECT_EQ(ours->required.bits(), mask_of(verbs->required).bits());
      EXPECT_EQ(ours->optional.bits(), mask_of(verbs->optional).bits());
    }
  }
}

// "Any state to RESET or ERR" has no exception.
TEST(QpStateTable, SqeLeadsToResetAndErrorOnly) {
  for (QpState to : kStates) {
    const bool legal = to == QpState::reset || to == QpState::err;
    EXPECT_EQ(find_transition(kRcTransitions, QpState::sqe, to) != nullptr, legal) << to_string(to);
  }
}

TEST(QpStateTable, NoMoveIsListedTwice) {
  for (const QpTransition& a : kRcTransitions) {
    int times = 0;
    for (const QpTransition& b : kRcTransitions) times += a.from == b.from && a.to == b.to ? 1 : 0;
    EXPECT_EQ(times, 1) << to_string(a.from) << " to " << to_string(a.to);
    EXPECT_TRUE((a.required & a.optional).empty());
  }
}

TEST(QpStateTable, TheTestsOwnTableCoversWhatItSays) {
  EXPECT_EQ(mask_of("PKEY_INDEX PORT ACCESS_FLAGS").bits(), 0x38u);
  EXPECT_EQ(mask_of("AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER").bits(), 0x129180u);
  EXPECT_EQ(mask_of("TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC").bits(), 0x12e00u);
  EXPECT_EQ(std::size(kVerbsTable), 21u);
}

// What each state takes, from the verbs' manual pages and IBTA 10.3.1.
TEST(QpStateTable, WhatAStateAllows) {
  struct Row {
    QpState state;
    bool post_recv, post_send, requests, responses;
  };
  const Row rows[] = {{QpState::reset, false, false, false, false}, {QpState::init, true, false, false, false},
                      {QpState::rtr, true, false, true, false},     {QpState::rts, true, true, true, true},
                      {QpState::sqd, true, true, true, true},       {QpState::sqe, true, true, true, false},
                      {QpState::err, true, true, false, false}};
  for (const Row& r : rows) {
    EXPECT_EQ(may_post_recv(r.state), r.post_recv) << to_string(r.state);
    EXPECT_EQ(may_post_send(r.state), r.post_send) << to_string(r.state);
    EXPECT_EQ(accepts_requests(r.state), r.requests) << to_string(r.state);
    EXPECT_EQ(accepts_responses(r.state), r.responses) << to_string(r.state);
  }
}

}  // namespace
}  // namespace uroce::transport::test
