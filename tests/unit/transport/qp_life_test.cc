// SPDX-License-Identifier: BSD-3-Clause
// The error and reset states, second lives, and what the drained state may change about answers.
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <vector>

#include "rig.h"
#include "wire/build.h"
#include "wire/syndrome.h"

namespace uroce::transport::test {
namespace {

void expect_flushed(const std::vector<Completion>& got, const std::vector<std::uint64_t>& ids) {
  ASSERT_EQ(got.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(got[i].wr_id, ids[i]);
    EXPECT_EQ(got[i].status, WcStatus::wr_flush_err);
    EXPECT_EQ(got[i].qpn, kQpn);
  }
}

TEST(QpLife, ErrorFlushesEverythingInOrder) {
  Rig r;
  r.bring_to(QpState::rts);
  for (std::uint64_t i = 0; i < 4; ++i) {
    r.post_recv(10 + i);
    r.post_send(20 + i, i % 2 == 0 ? SendFlags{} : SendFlag::signaled);  // unsignaled ones fail visibly too
  }
  ASSERT_TRUE(r.move(QpState::err));
  EXPECT_EQ(r.qp.state(), QpState::err);
  r.context.publish_completions();
  expect_flushed(r.sent.drain(), {20, 21, 22, 23});
  expect_flushed(r.received.drain(), {10, 11, 12, 13});
  ASSERT_TRUE(r.move(QpState::err));  // again: nothing new
  r.context.publish_completions();
  EXPECT_EQ(r.sent.drain().size() + r.received.drain().size(), 0u);
  // Posts in the error state complete flushed.
  r.post_send(30);
  r.post_recv(31);
  r.qp.flush(r.context);
  r.context.publish_completions();
  expect_flushed(r.sent.drain(), {30});
  expect_flushed(r.received.drain(), {31});
}

TEST(QpLife, ErrorIsReachedFromEveryLiveState) {
  for (QpState from : {QpState::init, QpState::rtr, QpState::rts, QpState::sqd}) {
    Rig r;
    r.bring_to(from);
    r.post_recv(1);
    ASSERT_TRUE(r.move(QpState::err)) << to_string(from);
    r.context.publish_completions();
    expect_flushed(r.received.drain(), {1});
  }
}

TEST(QpLife, ResetForgetsWithoutCompletions) {
  for (QpState from : {QpState::init, QpState::rtr, QpState::rts, QpState::sqd}) {
    SCOPED_TRACE(to_string(from));
    Rig r;
    r.bring_to(from);
    for (std::uint64_t i = 0; i < 16; ++i) r.post_recv(i);
    if (from == QpState::rts || from == QpState::sqd) {
      for (std::uint64_t i = 0; i < 16; ++i) r.post_send(i);
    }
    ASSERT_TRUE(r.move(QpState::reset));
    EXPECT_EQ(r.qp.state(), QpState::reset);
    r.context.publish_completions();
    EXPECT_EQ(r.sent.drain().size() + r.received.drain().size(), 0u);
    EXPECT_TRUE(r.events.seen.empty());
    EXPECT_EQ(r.qp.sq().ring().size(), 0u);
    EXPECT_EQ(r.qp.rq().size(), 0u);
    EXPECT_TRUE(r.qp.requester().idle());
    EXPECT_EQ(r.qp.requester().deadline(), base::kNever);
    EXPECT_FALSE(r.qp.responder().owes());
    const QpAttributes fresh;
    EXPECT_EQ(r.qp.attributes().access, fresh.access);
    EXPECT_EQ(r.qp.attributes().dest_qpn, fresh.dest_qpn);
    EXPECT_EQ(r.qp.attributes().timeout, fresh.timeout);
    EXPECT_EQ(r.qp.attributes().max_dest_rd_atomic, fresh.max_dest_rd_atomic);
  }
}

// A batch of real buffers.
struct Buffers {
  Buffers() {
    for (std::size_t i = 0; i < frames.size(); ++i) frames[i].data = bytes[i].data();
  }
  std::array<std::array<std::uint8_t, 2048 + wire::kMaxFrameOverhead>, 32> bytes;
  std::array<TxFrame, 32> frames;
  [[nodiscard]] wire::RocePacket packet(std::size_t i) const {
    wire::Drop why{};
    const auto p = wire::parse_frame({frames[i].data, frames[i].length}, why);
    EXPECT_TRUE(p) << wire::drop_name(why);
    return *p;
  }
};

// After RESET a queue pair connects again, and nothing of its first life is sent or completed.
TEST(QpLife, ASecondLifeStartsClean) {
  Rig r;
  r.bring_to(QpState::rts);
  for (std::uint64_t i = 0; i < 5; ++i) r.post_send(i, SendFlag::signaled);
  {
    Buffers b;
    TxBatch batch{b.frames};
    r.qp.transmit_requests(r.context, batch, 3);
    ASSERT_EQ(batch.used(), 3u);
    EXPECT_EQ(b.packet(2).psn(), 0x222224u);
  }
  ASSERT_TRUE(r.move(QpState::reset));
  r.bring_to(QpState::rts);
  EXPECT_EQ(r.qp.requester().next(), Psn(0x222222));
  Buffers b;
  TxBatch batch{b.frames};
  EXPECT_FALSE(r.qp.transmit_requests(r.context, batch, 16));
  EXPECT_EQ(batch.used(), 0u);
  for (std::uint64_t i = 0; i < 16; ++i) r.post_send(100 + i, SendFlag::signaled);
  r.qp.transmit_requests(r.context, batch, 16);
  ASSERT_EQ(batch.used(), 16u);
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(b.packet(i).psn(), 0x222222u + i);
  ASSERT_TRUE(r.move(QpState::err));
  r.context.publish_completions();
  const std::vector<Completion> flushed = r.sent.drain();
  ASSERT_EQ(flushed.size(), 16u);
  EXPECT_EQ(flushed.front().wr_id, 100u);
  EXPECT_EQ(flushed.back().wr_id, 115u);
}

// SQD holds back what has not begun; RTS sends it.
TEST(QpLife, DrainingHoldsBackNewRequests) {
  Rig r;
  r.bring_to(QpState::sqd);
  r.post_send(1);
  Buffers b;
  TxBatch batch{b.frames};
  r.qp.transmit_requests(r.context, batch, 16);
  EXPECT_EQ(batch.used(), 0u);
  const int before = r.host.requests;
  ASSERT_TRUE(r.move(QpState::rts));
  EXPECT_GT(r.host.requests, before);
  r.qp.transmit_requests(r.context, batch, 16);
  ASSERT_EQ(batch.used(), 1u);
  EXPECT_EQ(b.packet(0).psn(), 0x222222u);
}

// Moves within the connection do not touch where it stands.
TEST(QpLife, WhatIsUnderWayStaysSo) {
  Rig r;
  r.bring_to(QpState::rts);
  for (std::uint64_t i = 0; i < 5; ++i) r.post_send(i);
  Buffers b;
  TxBatch batch{b.frames};
  r.qp.transmit_requests(r.context, batch, 2);
  ASSERT_EQ(batch.used(), 2u);
  for (QpState to : {QpState::rts, QpState::sqd, QpState::sqd, QpState::rts}) {
    ASSERT_TRUE(r.move(to));
    EXPECT_EQ(r.qp.requester().una(), Psn(0x222222)) << to_string(to);
    EXPECT_EQ(r.qp.requester().next(), Psn(0x222224)) << to_string(to);
    EXPECT_EQ(r.qp.responder().expected(), Psn(0x111111)) << to_string(to);
    EXPECT_EQ(r.qp.sq().ring().size(), 5u);
  }
  r.qp.transmit_requests(r.context, batch, 16);
  ASSERT_EQ(batch.used(), 5u);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(b.packet(i).psn(), 0x222222u + i);
}

// A READ or SEND of nothing, as the peer sends it.
void receive(Rig& r, std::uint8_t opcode, std::uint32_t psn) {
  wire::Path back = Rig::path();
  std::swap(back.source, back.destination);
  std::array<std::uint8_t, wire::kMaxFrameOverhead> frame;
  const wire::FrameTemplate t(back);
  wire::FrameWriter w(t, frame.data(), opcode, 0);
  w.bth().dest_qp.set(kQpn);
  w.bth().psn.set(psn);
  w.bth().a_reserved = wire::kBthAckReq;
  if (opcode == wire::opcode::kReadRequest) {
    auto& reth = w.ext<wire::Ext::reth>();
    reth.va.set(0);
    reth.rkey.set(0);
    reth.dma_length.set(0);
  }
  const std::size_t length = w.finish();
  wire::Drop why{};
  const auto p = wire::parse_frame({frame.data(), length}, why);
  ASSERT_TRUE(p) << wire::drop_name(why);
  ASSERT_FALSE(r.qp.admit(*p));
  r.qp.on_packet(*p, r.context);
}

// How many of `n` READs that come at once are answered, and none refused.
std::size_t answered_at_once(Rig& r, std::uint32_t n) {
  for (std::uint32_t i = 0; i < n; ++i) receive(r, wire::opcode::kReadRequest, 0x111111 + i);
  Buffers b;
  TxBatch batch{b.frames};
  r.qp.transmit_answers(r.context, batch, 32);
  std::size_t answers = 0;
  for (std::size_t i = 0; i < batch.used(); ++i) answers += b.packet(i).info().op == wire::Op::read_response ? 1 : 0;
  return answers;
}

TEST(QpLife, AsManyReadsAtOnceAsWereAgreed) {
  Rig r;
  r.bring_to(QpState::rts);
  EXPECT_EQ(answered_at_once(r, 6), 6u);
  EXPECT_EQ(r.counters[Counter::tx_error_naks], 0u);
  Rig over;
  over.bring_to(QpState::rts);
  EXPECT_EQ(answered_at_once(over, 7), 6u);
  EXPECT_EQ(over.counters[Counter::tx_error_naks], 1u);
}

TEST(QpLife, ThatNumberCanBeRaisedInTheDrainedState) {
  Rig r;
  r.bring_to(QpState::sqd);
  QpAttributes a = Rig::attributes(QpState::sqd);
  a.max_dest_rd_atomic = 12;
  ASSERT_TRUE(r.modify(a, {QpAttrBit::state, QpAttrBit::max_dest_rd_atomic}));
  EXPECT_EQ(r.qp.attributes().max_dest_rd_atomic, 12);
  EXPECT_EQ(answered_at_once(r, 12), 12u);
  EXPECT_EQ(r.counters[Counter::tx_error_naks], 0u);
}

// Lowered while answers are owed: what is still answered leaves in request order and with its own PSN.
TEST(QpLife, ThatNumberCanBeLoweredWhileAnswersAreOwed) {
  for (std::uint8_t most : std::initializer_list<std::uint8_t>{0, 1, 2, 5}) {
    SCOPED_TRACE(static_cast<int>(most));
    Rig r;
    r.bring_to(QpState::sqd);
    for (std::uint32_t i = 0; i < 6; ++i) {
      r.post_recv(i);
      receive(r, wire::opcode::kReadRequest, 0x111111 + 2 * i);
      receive(r, wire::opcode::kSendOnly, 0x111112 + 2 * i);
    }
    QpAttributes a = Rig::attributes(QpState::sqd);
    a.max_dest_rd_atomic = most;
    ASSERT_TRUE(r.modify(a, {QpAttrBit::state, QpAttrBit::max_dest_rd_atomic}));
    Buffers b;
    TxBatch batch{b.frames};
    r.qp.transmit_answers(r.context, batch, 32);
    ASSERT_GE(batch.used(), std::size_t{most} + 1);
    std::size_t reads = 0;
    Psn last(0x111110);
    for (std::size_t i = 0; i < batch.used(); ++i) {
      const wire::RocePacket p = b.packet(i);
      EXPECT_GT(distance(last, Psn(p.psn())), 0) << "answer " << i;
      last = Psn(p.psn());
      const bool read = p.info().op == wire::Op::read_response;
      EXPECT_EQ(read, (p.psn() - 0x111111) % 2 == 0) << "answer " << i;
      reads += read ? 1 : 0;
    }
    EXPECT_EQ(reads, most);
    EXPECT_EQ(last, Psn(0x111112 + 10));
    EXPECT_FALSE(r.qp.responder().owes());
  }
}

// The same while READs are answered for the second time between acknowledgements of something newer.
TEST(QpLife, ThatNumberCanBeLoweredWhileReadsAreAnsweredAgain) {
  for (std::uint8_t most : std::initializer_list<std::uint8_t>{0, 1, 2, 5}) {
    SCOPED_TRACE(static_cast<int>(most));
    Rig r;
    r.bring_to(QpState::sqd);
    ASSERT_EQ(answered_at_once(r, 6), 6u);
    for (std::uint32_t i = 0; i < 6; ++i) {
      r.post_recv(i);
      receive(r, wire::opcode::kReadRequest, 0x111111 + i);
      receive(r, wire::opcode::kSendOnly, 0x111117 + i);
    }
    QpAttributes a = Rig::attributes(QpState::sqd);
    a.max_dest_rd_atomic = most;
    ASSERT_TRUE(r.modify(a, {QpAttrBit::state, QpAttrBit::max_dest_rd_atomic}));
    Buffers b;
    TxBatch batch{b.frames};
    r.qp.transmit_answers(r.context, batch, 32);
    std::vector<std::uint32_t> reads, kept;
    Psn last(0x111116);
    for (std::size_t i = 0; i < batch.used(); ++i) {
      const wire::RocePacket p = b.packet(i);
      if (p.info().op == wire::Op::read_response) {
        reads.push_back(p.psn());
      } else {
        EXPECT_GT(distance(last, Psn(p.psn())), 0) << "answer " << i;
        last = Psn(p.psn());
      }
    }
    for (std::uint32_t i = 6u - most; i < 6; ++i) kept.push_back(0x111111 + i);
    EXPECT_EQ(reads, kept);
    EXPECT_EQ(last, Psn(0x111117 + 5));
    EXPECT_FALSE(r.qp.responder().owes());
  }
}

}  // namespace
}  // namespace uroce::transport::test
