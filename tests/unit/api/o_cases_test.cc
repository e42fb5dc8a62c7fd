// SPDX-License-Identifier: BSD-3-Clause
// Troubles that other stacks met in public (the O list, group C: verbs semantics), as an application would run into
// them: two queue pairs of one device.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "pair.h"

namespace uroce::test {
namespace {

constexpr std::size_t kBytes = 1 << 16;

// A device of its own, and two connections' ends on it; completions of each end in its own queue.
struct Duo {
  explicit Duo(const QpAttr& attr = {}, const CqConfig& first_queue = {})
      : opened(Device::open(alone())), one(*opened, kBytes, first_queue), two(*opened, kBytes) {
    connect(attr);
  }
  void connect(const QpAttr& attr = {}) {
    expect_connects(one, two.info(), attr);
    expect_connects(two, one.info(), attr);
  }
  // After an error: a new pair, and nothing left in the queues.
  void reconnect() {
    one.qp = one.make_qp();
    two.qp = two.make_qp();
    connect();
  }
  std::vector<Completion> of(Side& s, std::size_t n) { return collect({&*opened}, s.cq, n); }
  // Turns in which whatever is under way ends.
  void settle() {
    for (int i = 0; i < 50; ++i) opened->progress();
  }
  std::size_t waiting(Side& s) {
    settle();
    std::array<Completion, 64> some;
    return s.cq.poll(some);
  }
  Result<Device> opened;
  Side one, two;
};

SendWr write_to(const Side& to, std::span<const Sge> from, std::uint64_t id = 0) {
  return {.wr_id = id,
          .opcode = WrOpcode::rdma_write,
          .flags = SendFlag::signaled,
          .sges = from,
          .remote_address = to.region.iova(),
          .rkey = to.region.key()};
}

bool move_to(QueuePair& qp, QpState s) {
  QpAttr a;
  a.state = s;
  const auto r = qp.modify(a, QpAttrBit::state);
  EXPECT_TRUE(r) << r.error().message;
  return r.has_value();
}

// Posting after the queue pair broke: everything completes, flushed, in the order of the posts.
TEST(OCases, O_38a) {
  Duo d;
  const Sge out = d.one.region.sge(0, 64);
  SendWr bad = write_to(d.two, {&out, 1}, 100);
  bad.rkey ^= 0x5500;
  ASSERT_EQ(d.one.qp.post_send(bad), PostError::none);
  auto done = d.of(d.one, 1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 100u);
  EXPECT_EQ(done[0].status, WcStatus::rem_access_err);
  for (std::uint64_t i = 0; i < 10; ++i) {
    const SendFlags flags = i % 2 == 0 ? SendFlags{SendFlag::signaled} : SendFlags{};
    ASSERT_EQ(d.one.qp.post_send({.wr_id = i, .flags = flags}), PostError::none);
  }
  done = d.of(d.one, 10);
  ASSERT_EQ(done.size(), 10u);
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(done[i].wr_id, i);
    EXPECT_EQ(done[i].status, WcStatus::wr_flush_err);
  }
  EXPECT_EQ(d.waiting(d.one), 0u);
}

// Sixteen receives, and the queue pair ends: by modify, by refusing a request, by retry exhaustion of its own.
TEST(OCases, O_39a) {
  enum class By { modify, refusal, exhaustion };
  for (const By by : {By::modify, By::refusal, By::exhaustion}) {
    QpAttr attr;
    attr.timeout = 8;
    attr.retry_cnt = 1;
    Duo d(attr);
    for (std::uint64_t i = 0; i < 16; ++i) ASSERT_EQ(d.two.qp.post_recv({.wr_id = i}), PostError::none);
    std::size_t sends = 0;
    if (by == By::modify) {
      ASSERT_TRUE(move_to(d.two.qp, QpState::err));
    } else if (by == By::refusal) {
      const Sge out = d.one.region.sge(0, 64);
      SendWr bad = write_to(d.two, {&out, 1});
      bad.rkey ^= 0x5500;
      ASSERT_EQ(d.one.qp.post_send(bad), PostError::none);
    } else {
      ASSERT_TRUE(move_to(d.one.qp, QpState::reset));
      ASSERT_EQ(d.two.qp.post_send({.wr_id = 99}), PostError::none);
      sends = 1;
    }
    const auto done = d.of(d.two, 16 + sends);
    ASSERT_EQ(done.size(), 16 + sends);
    if (sends != 0) {
      EXPECT_EQ(done[0].status, WcStatus::retry_exc_err);
    }
    for (std::uint64_t i = 0; i < 16; ++i) {
      EXPECT_EQ(done[sends + i].wr_id, i);
      EXPECT_EQ(done[sends + i].status, WcStatus::wr_flush_err);
    }
    EXPECT_EQ(d.waiting(d.two), 0u);
  }
}

// A queue of 4 and 8 signaled SENDs: CQ_ERR once, its queue pair to ERR with QP_FATAL, what is stored can be polled,
// and others go on.
TEST(OCases, O_40a) {
  Duo d({}, {.capacity = 4});
  Side three(*d.opened, 64), four(*d.opened, 64);
  expect_connects(three, four.info());
  expect_connects(four, three.info());
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_EQ(d.two.qp.post_recv({.wr_id = i}), PostError::none);
    ASSERT_EQ(d.one.qp.post_send({.wr_id = i, .flags = SendFlag::signaled}), PostError::none);
  }
  ASSERT_TRUE(until({&*d.opened}, [&] { return d.one.qp.state() == QpState::err; }));
  const auto kept = d.of(d.one, 4);
  ASSERT_EQ(kept.size(), 4u);
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(kept[i].wr_id, i);
    EXPECT_EQ(kept[i].status, WcStatus::success);
  }
  EXPECT_EQ(d.waiting(d.one), 0u);
  int cq_errors = 0, fatal = 0;
  while (const auto e = d.opened->poll_event()) {
    cq_errors += e->type == AsyncEventType::cq_err && e->number == d.one.cq.number() ? 1 : 0;
    fatal += e->type == AsyncEventType::qp_fatal && e->number == d.one.qp.qpn() ? 1 : 0;
  }
  EXPECT_EQ(cq_errors, 1);
  EXPECT_EQ(fatal, 1);
  ASSERT_EQ(four.qp.post_recv(RecvWr{}), PostError::none);
  ASSERT_EQ(three.qp.post_send({.flags = SendFlag::signaled}), PostError::none);
  EXPECT_EQ(d.of(three, 1).at(0).status, WcStatus::success);
}

// Posts in every state: refused, or taken and completed.
TEST(OCases, O_43a) {
  using B = QpAttrBit;
  auto device = Device::open(alone());
  ASSERT_TRUE(device) << device.error().message;
  Side s(*device, 64);
  EXPECT_EQ(s.qp.post_recv(RecvWr{}), PostError::bad_state);
  EXPECT_EQ(s.qp.post_send(SendWr{}), PostError::bad_state);
  QpAttr a;
  a.state = QpState::init;
  ASSERT_TRUE(s.qp.modify(a, {B::state, B::pkey_index, B::port, B::access_flags}));
  EXPECT_EQ(s.qp.post_send(SendWr{}), PostError::bad_state);
  EXPECT_EQ(s.qp.post_recv({.wr_id = 1}), PostError::none);
  a.state = QpState::rtr;
  a.destination = device->gids()[1];
  ASSERT_TRUE(
      s.qp.modify(a, {B::state, B::av, B::path_mtu, B::dest_qpn, B::rq_psn, B::max_dest_rd_atomic, B::min_rnr_timer}));
  EXPECT_EQ(s.qp.post_send(SendWr{}), PostError::bad_state);
  EXPECT_EQ(s.qp.post_recv({.wr_id = 2}), PostError::none);
  ASSERT_TRUE(move_to(s.qp, QpState::err));
  EXPECT_EQ(s.qp.post_recv({.wr_id = 3}), PostError::none);
  EXPECT_EQ(s.qp.post_send({.wr_id = 4}), PostError::none);
  const auto done = collect({&*device}, s.cq, 4);
  ASSERT_EQ(done.size(), 4u);
  std::vector<std::uint64_t> ids;
  for (const Completion& c : done) {
    EXPECT_EQ(c.status, WcStatus::wr_flush_err);
    ids.push_back(c.wr_id);
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

// A list whose third request is bad: the first two run, and nothing of the rest was taken.
TEST(OCases, O_44a) {
  Duo d;
  const std::vector<Sge> five(5, d.one.region.sge(0, 1));
  SendWr list[5];
  for (std::uint64_t i = 0; i < 5; ++i) list[i] = {.wr_id = i, .flags = SendFlag::signaled};
  const auto third_is = [&](SendWr bad, PostError why) {
    list[2] = bad;
    for (int i = 0; i < 2; ++i) ASSERT_EQ(d.two.qp.post_recv(RecvWr{}), PostError::none);
    std::size_t posted = 9;
    EXPECT_EQ(d.one.qp.post_send(list, &posted), why);
    EXPECT_EQ(posted, 2u);
    const auto done = d.of(d.one, 2);
    ASSERT_EQ(done.size(), 2u);
    EXPECT_EQ(done[0].wr_id, 0u);
    EXPECT_EQ(done[1].wr_id, 1u);
    EXPECT_EQ(done[1].status, WcStatus::success);
    EXPECT_EQ(d.waiting(d.one), 0u);
  };
  third_is({.sges = five}, PostError::too_many_sges);
  third_is({.opcode = static_cast<WrOpcode>(99)}, PostError::bad_opcode);
  third_is({.opcode = WrOpcode::rdma_read, .flags = SendFlag::inline_data}, PostError::bad_opcode);
}

// Inline data: sums do not wrap, the limit is exact, keys are not looked at, and the bytes are those of the post.
TEST(OCases, O_45a) {
  Duo d;
  auto& bytes = d.one.memory;
  const auto at = [&](std::size_t offset, std::uint32_t length) {
    return Sge{reinterpret_cast<std::uintptr_t>(bytes.data()) + offset, length, 0xdeadbeef};
  };
  const Sge wraps[] = {at(0, 0x80000000), at(0, 0x80000010)};
  const auto post = [&](std::span<const Sge> sges) {
    SendWr wr = write_to(d.two, sges);
    wr.flags |= SendFlag::inline_data;
    return d.one.qp.post_send(wr);
  };
  EXPECT_NE(post(wraps), PostError::none);
  const Sge exact = at(0, 64), more = at(0, 65);
  EXPECT_EQ(post({&more, 1}), PostError::inline_too_long);
  const Sge pieces[] = {at(100, 1), at(200, 62), at(300, 1)};
  for (const bool whole : {true, false}) {
    fill(bytes, 9);
    std::vector<std::uint8_t> wanted(bytes.begin(), bytes.begin() + 64);
    if (!whole) {
      wanted.assign(1, bytes[100]);
      wanted.insert(wanted.end(), bytes.begin() + 200, bytes.begin() + 262);
      wanted.push_back(bytes[300]);
    }
    ASSERT_EQ(whole ? post({&exact, 1}) : post(pieces), PostError::none);
    std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
    ASSERT_EQ(d.of(d.one, 1).at(0).status, WcStatus::success);
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), d.two.memory.begin()));
    EXPECT_EQ(d.two.memory[64], 0);
  }
}

// Length 0 means nothing, and its key is not looked at.
TEST(OCases, O_47a) {
  Duo d;
  fill(d.one.memory, 1);
  const Sge empty = d.one.region.sge(0, 0), garbage{0x1234, 0, 0xdeadbeef};
  const Sge eight_zero_eight[] = {d.one.region.sge(0, 8), garbage, d.one.region.sge(8, 8)};
  const std::pair<std::span<const Sge>, std::uint32_t> cases[] = {
      {{}, 0}, {{&empty, 1}, 0}, {{&garbage, 1}, 0}, {eight_zero_eight, 16}};
  for (const auto& [sges, length] : cases) {
    const Sge in[] = {garbage, d.two.region.sge(0, length)};
    ASSERT_EQ(d.two.qp.post_recv({.sges = std::span(in).first(length == 0 ? 0 : 2)}), PostError::none);
    ASSERT_EQ(d.one.qp.post_send({.flags = SendFlag::signaled, .sges = sges}), PostError::none);
    EXPECT_EQ(d.of(d.one, 1).at(0).status, WcStatus::success);
    const auto got = d.of(d.two, 1);
    EXPECT_EQ(got.at(0).status, WcStatus::success);
    EXPECT_EQ(got.at(0).byte_length, length);
    EXPECT_TRUE(std::equal(d.one.memory.begin(), d.one.memory.begin() + length, d.two.memory.begin()));
  }
}

// Immediate data is never swapped.
TEST(OCases, O_48a) {
  Duo d;
  for (const WrOpcode op : {WrOpcode::send_with_imm, WrOpcode::rdma_write_with_imm}) {
    ASSERT_EQ(d.two.qp.post_recv(RecvWr{}), PostError::none);
    ASSERT_EQ(d.one.qp.post_send({.opcode = op, .immediate = {1, 2, 3, 4}}), PostError::none);
    const auto got = d.of(d.two, 1);
    EXPECT_TRUE(got.at(0).flags.has(WcFlag::with_imm));
    EXPECT_EQ(got.at(0).immediate, (Immediate{1, 2, 3, 4}));
  }
}

// SQD: what was begun ends, what is posted waits; SQ_DRAINED once; then the rest, in order.
TEST(OCases, O_55a) {
  using B = QpAttrBit;
  Duo d;
  const Sge out = d.one.region.sge(0, 4096);
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(d.one.qp.post_send(write_to(d.two, {&out, 1}, i)), PostError::none);
  d.opened->progress();  // some are under way
  QpAttr a;
  a.state = QpState::sqd;
  a.sqd_notify = true;
  ASSERT_TRUE(d.one.qp.modify(a, {B::state, B::en_sqd_async_notify}));
  for (std::uint64_t i = 100; i < 110; ++i) ASSERT_EQ(d.one.qp.post_send(write_to(d.two, {&out, 1}, i)), PostError::none);
  std::array<Completion, 128> some;
  d.settle();
  const std::size_t before = d.one.cq.poll(some);
  EXPECT_GT(before, 0u);
  EXPECT_LT(before, 100u);
  int drained = 0;
  while (const auto e = d.opened->poll_event()) {
    drained += e->type == AsyncEventType::sq_drained && e->number == d.one.qp.qpn() ? 1 : 0;
  }
  EXPECT_EQ(drained, 1);
  ASSERT_TRUE(move_to(d.one.qp, QpState::rts));
  const auto rest = d.of(d.one, 110 - before);
  ASSERT_EQ(rest.size(), 110 - before);
  for (std::size_t i = 0; i < 110; ++i) {
    const Completion& c = i < before ? some[i] : rest[i - before];
    EXPECT_EQ(c.wr_id, i);
    EXPECT_EQ(c.status, WcStatus::success);
  }
}

// A region whose remote addresses differ from its own, at a page's edge: exact to the byte.
TEST(OCases, O_56a) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::unique_ptr<std::uint8_t[], decltype(&std::free)> pages(
      static_cast<std::uint8_t*>(std::aligned_alloc(page, 4 * page)), &std::free);
  std::uint8_t* const start = pages.get() + 1;
  const std::size_t length = 3 * page - 2;
  const auto va = reinterpret_cast<std::uint64_t>(start);
  Duo d;
  const Sge out = d.one.region.sge(0, 1);
  d.one.memory[0] = 0xaa;
  for (const std::uint64_t iova : {std::uint64_t{0}, std::uint64_t{0x1001}, va + (std::uint64_t{1} << 40), va}) {
    for (const bool zero_based : {false, true}) {
      const AccessFlags access = zero_based ? kAllAccess | Access::zero_based : kAllAccess;
      auto region = d.two.pd.register_memory(start, length, access, iova);
      ASSERT_TRUE(region) << region.error().message;
      const std::uint64_t first = zero_based ? 0 : iova;
      ASSERT_EQ(region->iova(), first);
      const auto write_at = [&](std::uint64_t address) {
        std::memset(pages.get(), 0, 4 * page);
        SendWr wr = write_to(d.two, {&out, 1});
        wr.remote_address = address;
        wr.rkey = region->key();
        EXPECT_EQ(d.one.qp.post_send(wr), PostError::none);
        return d.of(d.one, 1).at(0).status;
      };
      EXPECT_EQ(write_at(first), WcStatus::success);
      EXPECT_EQ(start[0], 0xaa);
      EXPECT_EQ(write_at(first + length - 1), WcStatus::success);
      EXPECT_EQ(start[length - 1], 0xaa);
      for (const std::uint64_t beyond : {first - 1, first + length}) {
        EXPECT_EQ(write_at(beyond), WcStatus::rem_access_err);
        EXPECT_EQ(std::count(pages.get(), pages.get() + 4 * page, 0xaa), 0);
        d.reconnect();
      }
    }
  }
}

}  // namespace
}  // namespace uroce::test
