// SPDX-License-Identifier: BSD-3-Clause
// A queue pair with everything it needs around it, and a note of what it asks for.
#pragma once
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "transport/qp.h"

namespace uroce::transport::test {

struct Events final : EventSink {
  void on_event(const AsyncEvent& e) override { seen.push_back(e); }
  [[nodiscard]] int count(AsyncEventType type, std::uint32_t number) const {
    int n = 0;
    for (const AsyncEvent& e : seen) n += e.type == type && e.number == number ? 1 : 0;
    return n;
  }
  std::vector<AsyncEvent> seen;
};

struct Host final : QpHost {
  void enlist_answers(Qp&) override { ++answers; }
  void enlist_requests(Qp&) override { ++requests; }
  void set_timer(Qp&, base::Instant) override { ++timers; }
  void pace(Qp&, base::Instant) override {}
  void on_cq_overflow(CompletionLane& lane) override { overflowed.push_back(&lane); }
  void on_published(CompletionLane& lane, bool solicited) override { published.emplace_back(&lane, solicited); }
  int answers = 0, requests = 0, timers = 0;
  std::vector<std::pair<CompletionLane*, bool>> published;
  std::vector<CompletionLane*> overflowed;
};

// A lane with its storage.
template <std::uint32_t Slots>
struct Lane {
  explicit Lane(std::uint32_t cq, std::uint32_t limit = Slots, CqState* shared = nullptr) {
    lane.init(slots.data(), Slots, limit, cq, shared);
  }
  std::vector<Completion> drain() {
    std::vector<Completion> out;
    for (LaneEntry e; lane.pop(e);) out.push_back(e.completion);
    return out;
  }
  std::array<LaneEntry, Slots> slots;
  CompletionLane lane;
};

struct Surroundings {
  memory::MemoryTable memory{64, 1};
  Events events;
  Host host;
  Counters counters;
  Context context{base::Instant{1'000'000}, memory, events, host, counters};
};

inline constexpr std::uint32_t kQpn = 0x1234;

struct Rig : Surroundings {
  explicit Rig(std::uint32_t qpn = kQpn) : qp(config(qpn)) {}

  QpConfig config(std::uint32_t qpn) {
    QpConfig c;
    c.qpn = qpn;
    c.pd = 3;
    c.send_lane = &sent.lane;
    c.recv_lane = &received.lane;
    c.send_depth = c.recv_depth = 16;
    return c;
  }

  static wire::Path path() {
    wire::Path p;
    p.source_mac = {{2, 0, 0, 0, 0, 1}};
    p.destination_mac = {{2, 0, 0, 0, 0, 2}};
    p.source = wire::IpAddress::v4(10, 0, 0, 1);
    p.destination = wire::IpAddress::v4(10, 0, 0, 2);
    return p;
  }

  // Attributes that differ from every default.
  static QpAttributes attributes(QpState to) {
    QpAttributes a;
    a.state = to;
    a.access = {Access::local_write, Access::remote_write, Access::remote_read, Access::remote_atomic};
    a.path = path();
    a.path_mtu = PathMtu::mtu2048;
    a.dest_qpn = 0xabcdef;
    a.rq_psn = 0x111111;
    a.sq_psn = 0x222222;
    a.timeout = 11;
    a.retry_cnt = 3;
    a.rnr_retry = 2;
    a.min_rnr_timer = 9;
    a.max_rd_atomic = 5;
    a.max_dest_rd_atomic = 6;
    return a;
  }
  using B = QpAttrBit;
  static constexpr QpAttrMask kToInit{B::state, B::pkey_index, B::port, B::access_flags};
  static constexpr QpAttrMask kToRtr{B::state,        B::av, B::path_mtu, B::dest_qpn, B::rq_psn, B::max_dest_rd_atomic,
                                     B::min_rnr_timer};
  static constexpr QpAttrMask kToRts{B::state, B::timeout, B::retry_cnt, B::rnr_retry, B::sq_psn, B::max_rd_atomic};
  static constexpr QpAttrMask kStateOnly{B::state};

  Result<void> modify(const QpAttributes& a, QpAttrMask mask) { return qp.modify(a, mask, context); }
  Result<void> move(QpState to) {
    const QpState from = qp.state();
    QpAttrMask mask = kStateOnly;
    if (from == QpState::reset && to == QpState::init) mask = kToInit;
    if (from == QpState::init && to == QpState::rtr) mask = kToRtr;
    if (from == QpState::rtr && to == QpState::rts) mask = kToRts;
    return modify(attributes(to), mask);
  }
  // Along the only way there is.
  void bring_to(QpState to) {
    std::vector<QpState> way;
    if (to == QpState::err) {
      way = {QpState::init, QpState::err};
    } else {
      for (QpState s : {QpState::init, QpState::rtr, QpState::rts, QpState::sqd}) {
        if (static_cast<int>(s) <= static_cast<int>(to)) way.push_back(s);
      }
    }
    for (QpState s : way) {
      const auto r = move(s);
      ASSERT_TRUE(r) << r.error().message;
    }
    ASSERT_EQ(qp.state(), to);
  }
  void post_recv(std::uint64_t id) { ASSERT_EQ(qp.rq().post({id, {}}), PostError::none); }
  void post_send(std::uint64_t id, SendFlags flags = {}) {
    SendWr wr;
    wr.wr_id = id;
    wr.flags = flags;
    ASSERT_EQ(qp.sq().post(wr), PostError::none);
  }

  Lane<64> sent{100}, received{101};
  Qp qp;
};

// What modify() must not have touched when it refuses.
struct Snapshot {
  explicit Snapshot(Qp& qp)
      : state(qp.state()),
        a(qp.attributes()),
        mtu(qp.mtu()),
        una(qp.requester().una()),
        next(qp.requester().next()),
        expected(qp.responder().expected()),
        sends(qp.sq().ring().size()),
        receives(qp.rq().size()),
        addresses(reinterpret_cast<const char*>(qp.frame_template().received_addresses().data()),
                  qp.frame_template().received_addresses().size()) {}
  void expect_same(const Snapshot& o) const {
    EXPECT_EQ(state, o.state);
    EXPECT_EQ(a.access, o.a.access);
    EXPECT_EQ(a.path.source, o.a.path.source);
    EXPECT_EQ(a.path.destination, o.a.path.destination);
    EXPECT_EQ(a.path_mtu, o.a.path_mtu);
    EXPECT_EQ(a.dest_qpn, o.a.dest_qpn);
    EXPECT_EQ(a.rq_psn, o.a.rq_psn);
    EXPECT_EQ(a.sq_psn, o.a.sq_psn);
    EXPECT_EQ(a.timeout, o.a.timeout);
    EXPECT_EQ(a.retry_cnt, o.a.retry_cnt);
    EXPECT_EQ(a.rnr_retry, o.a.rnr_retry);
    EXPECT_EQ(a.min_rnr_timer, o.a.min_rnr_timer);
    EXPECT_EQ(a.max_rd_atomic, o.a.max_rd_atomic);
    EXPECT_EQ(a.max_dest_rd_atomic, o.a.max_dest_rd_atomic);
    EXPECT_EQ(a.sqd_notify, o.a.sqd_notify);
    EXPECT_EQ(mtu, o.mtu);
    EXPECT_EQ(una, o.una);
    EXPECT_EQ(next, o.next);
    EXPECT_EQ(expected, o.expected);
    EXPECT_EQ(sends, o.sends);
    EXPECT_EQ(receives, o.receives);
    EXPECT_EQ(addresses, o.addresses);
  }
  QpState state;
  QpAttributes a;
  std::uint32_t mtu;
  Psn una, next, expected;
  std::uint32_t sends, receives;
  std::string addresses;
};

inline void expect_says(const std::string& message, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
  }
}

}  // namespace uroce::transport::test
