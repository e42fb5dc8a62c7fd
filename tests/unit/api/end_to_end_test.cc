// SPDX-License-Identifier: BSD-3-Clause
// The public interface from end to end: two devices of one process over memif, and one that talks to itself.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

#include "pair.h"

namespace uroce::test {
namespace {

constexpr std::size_t kBytes = 1 << 18;

// Every operation between `one` and `two`, data compared.
void run_all(std::initializer_list<Device*> devices, Side& one, Side& two) {
  const auto done_at = [&](Side& s, WcOpcode opcode) {
    const auto all = collect(devices, s.cq, 1);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].status, WcStatus::success) << to_string(all[0].status);
    EXPECT_EQ(all[0].opcode, opcode);
    EXPECT_EQ(all[0].qpn, s.qp.qpn());
  };
  for (const std::uint32_t length : {1u, 4096u, 100'003u}) {
    const Sge mine = one.region.sge(0, length), theirs = two.region.sge(0, length);
    SendWr wr{.wr_id = length, .flags = SendFlag::signaled, .sges = {&mine, 1}};

    fill(one.memory, 1);
    ASSERT_EQ(two.qp.post_recv({.wr_id = 1, .sges = {&theirs, 1}}), PostError::none);
    ASSERT_EQ(one.qp.post_send(wr), PostError::none);
    done_at(two, WcOpcode::recv);
    done_at(one, WcOpcode::send);
    EXPECT_TRUE(std::equal(one.memory.begin(), one.memory.begin() + length, two.memory.begin()));

    fill(one.memory, 2);
    wr.opcode = WrOpcode::rdma_write;
    wr.remote_address = two.region.iova();
    wr.rkey = two.region.key();
    ASSERT_EQ(one.qp.post_send(wr), PostError::none);
    done_at(one, WcOpcode::rdma_write);
    EXPECT_TRUE(std::equal(one.memory.begin(), one.memory.begin() + length, two.memory.begin()));

    fill(two.memory, 3);
    wr.opcode = WrOpcode::rdma_read;
    ASSERT_EQ(one.qp.post_send(wr), PostError::none);
    done_at(one, WcOpcode::rdma_read);
    EXPECT_TRUE(std::equal(one.memory.begin(), one.memory.begin() + length, two.memory.begin()));
  }
  // ATOMICs on the region's first eight bytes.
  std::uint64_t value = 40, before = 0;
  std::memcpy(two.memory.data(), &value, 8);
  const Sge result = one.region.sge(8, 8);
  SendWr wr{.flags = SendFlag::signaled, .sges = {&result, 1}};
  wr.opcode = WrOpcode::fetch_add;
  wr.remote_address = two.region.iova();
  wr.rkey = two.region.key();
  wr.compare_add = 2;
  ASSERT_EQ(one.qp.post_send(wr), PostError::none);
  done_at(one, WcOpcode::fetch_add);
  wr.opcode = WrOpcode::cmp_swap;
  wr.compare_add = 42;
  wr.swap = 7;
  ASSERT_EQ(one.qp.post_send(wr), PostError::none);
  done_at(one, WcOpcode::cmp_swap);
  std::memcpy(&before, one.memory.data() + 8, 8);
  std::memcpy(&value, two.memory.data(), 8);
  EXPECT_EQ(before, 42u);
  EXPECT_EQ(value, 7u);
}

TEST(EndToEnd, TwoDevicesOverIpv4AndIpv6) {
  Pair& p = good_network();
  ASSERT_TRUE(p.a && p.b);
  for (const std::uint8_t gid : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{0}}) {
    Side one(*p.a, kBytes), two(*p.b, kBytes);
    QpAttr attr;
    attr.source_gid_index = gid;
    expect_connects(one, two.info(gid), attr);
    expect_connects(two, one.info(gid), attr);
    run_all({&*p.a, &*p.b}, one, two);
    run_all({&*p.a, &*p.b}, two, one);
  }
}

TEST(EndToEnd, OneDeviceWithItselfInEachThreading) {
  for (const Threading t : {Threading::single, Threading::shared, Threading::dedicated}) {
    auto device = Device::open(alone(t));
    ASSERT_TRUE(device) << device.error().message;
    Side one(*device, kBytes), two(*device, kBytes);
    expect_connects(one, two.info());
    expect_connects(two, one.info());
    run_all({&*device}, one, two);
  }
}

TEST(EndToEnd, AcrossABadNetwork) {
  Pair& p = bad_network();
  ASSERT_TRUE(p.a && p.b);
  Side one(*p.a, kBytes), two(*p.b, kBytes);
  QpAttr attr;
  attr.timeout = 10;
  expect_connects(one, two.info(), attr);
  expect_connects(two, one.info(), attr);
  for (int i = 0; i < 5; ++i) run_all({&*p.a, &*p.b}, one, two);
  const auto count = [&](Device& d, const std::string& name) {
    for (const NamedCount& c : d.counters()) {
      if (c.name == name) return c.value;
    }
    ADD_FAILURE() << "no counter is called " << name;
    return std::uint64_t{0};
  };
  EXPECT_GT(count(*p.a, "fault_dropped"), 0u);
  EXPECT_GT(count(*p.b, "drop_bad_icrc"), 0u);
  EXPECT_GT(count(*p.a, "tx_retransmitted"), 0u);
}

TEST(EndToEnd, NobodyAtTheOtherEnd) {
  auto device = Device::open(alone());
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_FALSE(device->wait_for_link(1));
  Side one(*device, 64);
  QpAttr attr;
  attr.timeout = 8;
  attr.retry_cnt = 2;
  expect_connects(one, {Gid::parse("10.0.0.77").value(), 99, 5}, attr);
  ASSERT_EQ(one.qp.post_send({.wr_id = 1, .flags = SendFlag::signaled}), PostError::none);
  const auto done = collect({&*device}, one.cq, 1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, WcStatus::retry_exc_err);
  EXPECT_EQ(done[0].retries_used, 2);
  EXPECT_EQ(one.qp.state(), QpState::err);
}

// A program that spins on the last byte of a WRITE, as many do, sees the whole message.
void spin_on_last_byte(std::initializer_list<Device*> devices, Side& from, Side& to) {
  std::atomic<std::uint32_t> round{0};  // its low byte is the message's every byte
  std::atomic<std::uint32_t> length{0}, seen{0}, torn{0};
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    for (std::uint32_t r = 1; !stop.load(std::memory_order_acquire); ++r) {
      while (round.load(std::memory_order_acquire) < r) {
        if (stop.load(std::memory_order_acquire)) return;
      }
      const std::uint32_t n = length.load(std::memory_order_acquire);
      std::atomic_ref<std::uint8_t> last(to.memory[n - 1]);
      while (last.load(std::memory_order_acquire) != static_cast<std::uint8_t>(r)) {
        if (stop.load(std::memory_order_acquire)) return;
      }
      const auto end = to.memory.begin() + n;
      if (std::find_if(to.memory.begin(), end, [&](auto b) { return b != static_cast<std::uint8_t>(r); }) != end)
        ++torn;
      seen.store(r, std::memory_order_release);
    }
  });
  std::uint32_t r = 0;
  bool well = true;
  for (const auto end = Wall::now() + std::chrono::milliseconds(1000); well && Wall::now() < end;) {
    ++r;
    const std::uint32_t n = 1 + (r * 7919) % 20'000;
    std::fill_n(from.memory.begin(), n, static_cast<std::uint8_t>(r));
    length.store(n, std::memory_order_release);
    round.store(r, std::memory_order_release);
    const Sge out = from.region.sge(0, n);
    EXPECT_EQ(from.qp.post_send({.opcode = WrOpcode::rdma_write,
                                 .flags = SendFlag::signaled,
                                 .sges = {&out, 1},
                                 .remote_address = to.region.iova(),
                                 .rkey = to.region.key()}),
              PostError::none);
    well = until(devices, [&] { return seen.load(std::memory_order_acquire) == r; });
    well = well && collect(devices, from.cq, 1).size() == 1;
  }
  stop.store(true, std::memory_order_release);
  reader.join();
  EXPECT_TRUE(well) << "stuck at message " << r;
  EXPECT_EQ(torn.load(), 0u);
  EXPECT_GT(r, 0u);
}

TEST(EndToEnd, TheLastByteOfAWriteComesLast) {
  {
    Pair& p = good_network();
    ASSERT_TRUE(p.a && p.b);
    Side one(*p.a, kBytes), two(*p.b, kBytes);
    expect_connects(one, two.info());
    expect_connects(two, one.info());
    spin_on_last_byte({&*p.a, &*p.b}, one, two);
  }
  auto device = Device::open(alone(Threading::dedicated));
  ASSERT_TRUE(device) << device.error().message;
  Side one(*device, kBytes), two(*device, kBytes);
  expect_connects(one, two.info());
  expect_connects(two, one.info());
  spin_on_last_byte({&*device}, one, two);
}

TEST(EndToEnd, SleepsOnTheDescriptorUntilSomethingCompletes) {
  auto device = Device::open(alone(Threading::dedicated));
  ASSERT_TRUE(device) << device.error().message;
  Side one(*device, 64, {.events = true}), two(*device, 64);
  EXPECT_EQ(two.cq.event_fd(), -1);
  expect_connects(one, two.info());
  expect_connects(two, one.info());
  for (std::uint64_t i = 0; i < 20; ++i) {
    one.cq.arm();
    std::array<Completion, 1> c;
    ASSERT_EQ(one.cq.poll(c), 0u);
    ASSERT_EQ(two.qp.post_recv({.wr_id = i}), PostError::none);
    ASSERT_EQ(one.qp.post_send({.wr_id = i, .flags = SendFlag::signaled}), PostError::none);
    pollfd fd{one.cq.event_fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&fd, 1, 10'000), 1) << "asleep for ever";
    std::uint64_t events = 0;
    ASSERT_EQ(read(one.cq.event_fd(), &events, sizeof(events)), static_cast<ssize_t>(sizeof(events)));
    EXPECT_EQ(events, 1u);
    ASSERT_EQ(one.cq.poll(c), 1u);
    EXPECT_EQ(c[0].wr_id, i);
  }
}

TEST(EndToEnd, EventsNameTheirQueuePair) {
  auto device = Device::open(alone());
  ASSERT_TRUE(device) << device.error().message;
  Side one(*device, 64), two(*device, 64);
  expect_connects(one, two.info());
  expect_connects(two, one.info());
  const Sge out = one.region.sge(0, 64);
  ASSERT_EQ(one.qp.post_send({.opcode = WrOpcode::rdma_write, .sges = {&out, 1}, .rkey = 0xbad00}), PostError::none);
  std::optional<AsyncEvent> e;
  ASSERT_TRUE(until({&*device}, [&] { return (e = device->poll_event()).has_value(); }));
  EXPECT_EQ(e->type, AsyncEventType::qp_access_err);
  EXPECT_EQ(e->number, two.qp.qpn());
  EXPECT_STREQ(to_string(e->type), "QP_ACCESS_ERR");
}

// Handles move, and die in reverse order; the device outlives what was made from it.
TEST(EndToEnd, HandlesMove) {
  std::optional<Device> device;
  {
    auto opened = Device::open(alone(Threading::dedicated));
    ASSERT_TRUE(opened) << opened.error().message;
    device.emplace(std::move(*opened));
  }
  Side one(*device, 4096);  // its completion queue outlives the queue pairs
  std::vector<QueuePair> qps;
  std::vector<MemoryRegion> regions;
  for (int i = 0; i < 20; ++i) {
    qps.push_back(one.make_qp());
    regions.push_back(one.pd.register_memory(one.memory.data(), 100, kAllAccess).value());
  }
  std::rotate(qps.begin(), qps.begin() + 7, qps.end());
  std::rotate(regions.begin(), regions.begin() + 7, regions.end());
  qps.erase(qps.begin(), qps.begin() + 10);
  const std::uint32_t key = regions.back().key();
  EXPECT_NE(key, regions.front().key());
  EXPECT_EQ(regions.back().length(), 100u);
  one.qp = std::move(qps.back());
  qps.pop_back();
  EXPECT_EQ(one.qp.state(), QpState::reset);
}

}  // namespace
}  // namespace uroce::test
