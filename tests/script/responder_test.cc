// SPDX-License-Identifier: BSD-3-Clause
// Rules of the responder that hold over whatever it sends.
#include <gtest/gtest.h>

#include "driver.h"
#include "runner.h"

namespace uroce::script {
namespace {

// `depth` READs are answered; then one burst asks all of them again, with a duplicate SEND (whose ACK is owed) between
// each, followed by `depth` new READs, each with a SEND behind it. Repetitions may be answered or not, but every new
// READ is answered, in order, and no ACK passes an unfinished READ response (IBTA 9.7.5.1): to the peer that would mean
// that the response is lost.
void new_reads_behind_duplicates(std::uint32_t depth) {
  Options setup;
  setup.max_dest_rd_atomic = static_cast<std::uint8_t>(depth);
  World w(setup);
  const auto at = [](std::uint32_t psn) { return " va=target+" + std::to_string(8 * psn) + " dmalen=8"; };
  arrive(w, "RC_WRITE_ONLY psn=0 ack");
  w.run();
  for (std::uint32_t i = 1; i <= depth; ++i) {
    arrive(w, "RC_READ_REQ psn=" + std::to_string(i) + at(i));
    w.run();
  }
  ASSERT_EQ(take_sent(w).size(), depth + 1);

  w.port.open = false;  // so that all is owed at once, also where it takes more than one receive burst
  for (std::uint32_t i = 1; i <= depth; ++i) {
    arrive(w, "RC_WRITE_ONLY psn=0 ack");
    arrive(w, "RC_READ_REQ psn=" + std::to_string(i) + at(i));
  }
  std::uint32_t psn = depth + 1;
  for (std::uint32_t i = 0; i < depth; ++i) {
    arrive(w, "RC_READ_REQ psn=" + std::to_string(psn) + at(psn));
    arrive(w, "RC_WRITE_ONLY ack psn=" + std::to_string(psn + 1));
    psn += 2;
  }
  w.run();
  w.port.open = true;
  w.run();
  const auto sent = take_sent(w);
  std::uint32_t next = depth + 1;  // the next new READ to be answered
  for (const Seen& s : sent) {
    if (s.name == "RC_ACK") {
      EXPECT_EQ(s.syndrome, 31);
      ASSERT_LT(s.psn, next) << "an ACK passes the response of " << next << ": " << describe(sent);
      continue;
    }
    ASSERT_EQ(s.name, "RC_RRESP_ONLY");
    if (s.psn <= depth) continue;
    ASSERT_EQ(s.psn, next) << describe(sent);
    next += 2;
  }
  EXPECT_EQ(next, psn) << "READs went unanswered: " << describe(sent);
  EXPECT_EQ(w.qp().state(), QpState::rts);
}

TEST(Responder, NewReadsBehindDuplicates1) {
  new_reads_behind_duplicates(1);
}
TEST(Responder, NewReadsBehindDuplicates2) {
  new_reads_behind_duplicates(2);
}
TEST(Responder, NewReadsBehindDuplicates6) {
  new_reads_behind_duplicates(6);
}
TEST(Responder, NewReadsBehindDuplicates14) {
  new_reads_behind_duplicates(14);
}
TEST(Responder, NewReadsBehindDuplicates16) {
  new_reads_behind_duplicates(16);
}
TEST(Responder, NewReadsBehindDuplicates30) {
  new_reads_behind_duplicates(30);
}
TEST(Responder, NewReadsBehindDuplicates128) {
  new_reads_behind_duplicates(128);
}

// MAX_DEST_RD_ATOMIC is lowered from 16 to 1 in SQD while much is owed: repetitions of old READs with an ACK between
// each, and at the end a new READ with a WRITE behind it. The ACK of the WRITE does not pass the READ's response, which
// leaves once.
TEST(Responder, ShrinksWithAnswersOwed) {
  World w{Options{}};
  const auto read = [](std::uint32_t psn) { return "RC_READ_REQ dmalen=8 psn=" + std::to_string(psn); };
  arrive(w, "RC_WRITE_ONLY psn=0 ack");
  for (std::uint32_t i = 1; i <= 15; ++i) arrive(w, read(i));
  w.run();
  take_sent(w);
  w.port.open = false;
  for (std::uint32_t i = 1; i <= 15; ++i) {
    arrive(w, "RC_WRITE_ONLY psn=0 ack");
    arrive(w, read(i));
  }
  arrive(w, read(16));
  arrive(w, "RC_WRITE_ONLY psn=17 ack");
  w.run();
  transport::QpAttributes a = w.attributes;
  a.state = QpState::sqd;
  a.max_dest_rd_atomic = 1;
  ASSERT_TRUE(w.modify(a, QpAttrBit::state).has_value());
  ASSERT_TRUE(w.modify(a, {QpAttrBit::state, QpAttrBit::max_dest_rd_atomic}).has_value());
  w.port.open = true;
  w.run();
  const auto sent = take_sent(w);
  unsigned answered = 0;
  for (const Seen& s : sent) {
    if (s.name == "RC_RRESP_ONLY" && s.psn == 16) ++answered;
    if (s.name == "RC_ACK" && s.psn >= 16) {
      ASSERT_EQ(answered, 1u) << describe(sent);
    }
  }
  EXPECT_EQ(answered, 1u) << describe(sent);
  ASSERT_FALSE(sent.empty());
  EXPECT_EQ(sent.back().psn, 17u) << describe(sent);
}

// A key that dies while a long READ is being answered: responses stop, and a NAK remote access has the PSN of the first
// that could not be made (IBTA 9.7.5.2.4). Nothing owed behind it leaves.
TEST(Responder, KeyDiesInTheMiddleOfAnAnswer) {
  World w{Options{}};
  w.port.open = false;
  arrive(w, "RC_READ_REQ psn=0 dmalen=204800");
  arrive(w, "RC_READ_REQ psn=200 dmalen=8");
  arrive(w, "RC_WRITE_ONLY psn=201 ack rkey=bad");  // of nothing: legal
  w.run();
  EXPECT_TRUE(w.memory.kill(w.key("good")).has_value());
  w.port.open = true;
  w.run();
  const auto sent = take_sent(w);
  ASSERT_GE(sent.size(), 1u);
  for (std::size_t i = 0; i + 1 < sent.size(); ++i) {
    EXPECT_EQ(sent[i].name, i == 0 ? "RC_RRESP_FIRST" : "RC_RRESP_MIDDLE");
    EXPECT_EQ(sent[i].psn, i);
  }
  EXPECT_LT(sent.size(), 200u);
  EXPECT_EQ(sent.back().name, "RC_ACK");
  EXPECT_EQ(sent.back().syndrome, 0x62);
  EXPECT_EQ(sent.back().psn, sent.size() - 1);
  EXPECT_EQ(w.qp().state(), QpState::err);
  ASSERT_EQ(w.events.size(), 1u);
  EXPECT_EQ(w.events.front().type, AsyncEventType::qp_access_err);
  arrive(w, "RC_READ_REQ psn=202 dmalen=8");
  w.run();
  EXPECT_TRUE(take_sent(w).empty());
}

// Once the PSNs have gone all the way round, what was kept of a READ with the same PSNs a round ago must not stand in
// the way of a repetition of the newest one.
TEST(Responder, ReplayAfterARoundOfPsns) {
  UROCE_MANY_PACKETS();
  Options setup;
  setup.mtu = 256;
  setup.max_dest_rd_atomic = 8;
  World w(setup);
  const auto read = [&](std::uint32_t psn, unsigned offset) {
    arrive(w, "RC_READ_REQ psn=" + std::to_string(psn) + " dmalen=8 va=target+" + std::to_string(offset));
    w.run();
    return take_sent(w);
  };
  for (std::uint32_t psn = 0; psn < 6; ++psn) ASSERT_EQ(read(psn, 0).size(), 1u);
  w.port.on_sent = [](std::span<const std::uint8_t>) {};
  Stamp nothing(w, "RC_WRITE_ONLY psn=0");
  for (std::uint32_t psn = 6; psn < 0x1000000; ++psn) {
    nothing.arrive(w, psn);
    if (psn % 32 == 31) w.worker().do_work(w.now());
  }
  w.run();
  w.port.on_sent = nullptr;
  ASSERT_EQ(w.qp().responder().expected().value(), 0u);
  ASSERT_EQ(read(0, 64).size(), 1u);
  const auto again = read(0, 64);
  ASSERT_EQ(again.size(), 1u) << "the repetition of the newest READ is not answered";
  EXPECT_EQ(again[0].name, "RC_RRESP_ONLY");
  EXPECT_EQ(again[0].psn, 0u);
}

}  // namespace
}  // namespace uroce::script
