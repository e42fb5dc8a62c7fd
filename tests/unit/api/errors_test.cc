// SPDX-License-Identifier: BSD-3-Clause
// What the public interface refuses: the message names the object, the value and what is allowed, and nothing is left
// behind.
#include "pair.h"

namespace uroce::test {
namespace {

using enum ErrorCode;

TEST(OpenErrors, ThePort) {
  DeviceConfig c = alone();
  c.port.clear();
  expect_error(Device::open(c), invalid_argument, {"device", "no port", "net_memif0,role=server"});
  c.port = "net_nosuch,x=1";
  expect_error(Device::open(c), system, {"net_nosuch,x=1"});
}

TEST(OpenErrors, TheFrame) {
  for (const std::uint32_t bytes : {1u, 100u, 9217u}) {
    DeviceConfig c = alone();
    c.max_frame = bytes;
    expect_error(Device::open(c), invalid_argument, {"device", "max_frame " + std::to_string(bytes), "..", "9216"});
  }
}

TEST(OpenErrors, TheAddresses) {
  const std::pair<std::vector<std::string>, std::vector<std::string>> cases[] = {
      {{}, {"device", "no address", "10.0.0.1/24"}},
      {{"10.0.0.1"}, {"'10.0.0.1'", "no prefix length", "10.0.0.1/24"}},
      {{"banana/24"}, {"'banana/24'", "no IPv4 or IPv6 address"}},
      {{"10.0.0.1/33"}, {"'10.0.0.1/33'", "prefix length"}},
      {{"10.0.0.1/24", "fd00::1/129"}, {"'fd00::1/129'", "prefix length"}},
      {{"10.0.0.1/2x"}, {"'10.0.0.1/2x'", "prefix length"}},
      {{"10.0.0.1/"}, {"'10.0.0.1/'", "prefix length"}},
      {{"224.0.0.1/24"}, {"224.0.0.1"}},
      {{"10.0.0.1/24", "10.0.0.1/24"}, {"10.0.0.1"}},
  };
  for (const auto& [addresses, parts] : cases) {
    DeviceConfig c = alone();
    c.addresses = addresses;
    expect_error(Device::open(c), invalid_argument, parts);
  }
  DeviceConfig c = alone();
  c.gateway = "10.0.0";
  expect_error(Device::open(c), invalid_argument, {"'10.0.0'", "neither IPv4 nor IPv6"});
  c = alone();
  c.faults = "drop=2";
  expect_error(Device::open(c), invalid_argument, {"'drop=2'", "0 .. 1"});
}

// A device that was refused is gone: its port can be opened afterwards.
TEST(OpenErrors, LeaveNothingBehind) {
  DeviceConfig c = alone();
  c.addresses = {"nonsense"};
  ASSERT_FALSE(Device::open(c));
  c.addresses = {"10.0.0.1/24"};
  for (int i = 0; i < 3; ++i) {
    const auto device = Device::open(c);
    ASSERT_TRUE(device) << device.error().message;
  }
}

// The same device twice: the second is refused, and the first is none the worse for it.
TEST(OpenErrors, ADeviceThatIsOpen) {
  DeviceConfig c = alone();
  auto first = Device::open(c);
  ASSERT_TRUE(first) << first.error().message;
  const std::string name = c.port.substr(0, c.port.find(','));
  expect_error(Device::open(c), busy, {"'" + c.port + "'", name, "exists"});
  c.port = name;
  expect_error(Device::open(c), system, {name});
  Side side(*first, 64);
  expect_connects(side, side.info());
  ASSERT_EQ(side.qp.post_send({.flags = SendFlag::signaled}), PostError::none);
  ASSERT_EQ(side.qp.post_recv(RecvWr{}), PostError::none);
  EXPECT_EQ(collect({&*first}, side.cq, 2).size(), 2u);
}

class Errors : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(device_) << device_.error().message; }
  Result<Device> device_ = Device::open(alone());
};

TEST_F(Errors, CompletionQueue) {
  for (const std::uint32_t n : {0u, (1u << 22) + 1}) {
    expect_error(device_->create_cq({.capacity = n}), invalid_argument,
                 {"completion queue", "capacity " + std::to_string(n), "1 .. 4194304"});
  }
  EXPECT_TRUE(device_->create_cq({.capacity = 1}));
}

TEST_F(Errors, Memory) {
  Pd pd = device_->alloc_pd();
  std::vector<std::uint8_t> bytes(64);
  expect_error(pd.register_memory(bytes.data(), 64, Access::remote_write), invalid_argument,
               {"memory region", "remote_write", "local_write"});
  expect_error(pd.register_memory(bytes.data(), SIZE_MAX, {}), invalid_argument,
               {"memory region", std::to_string(SIZE_MAX), "wraps"});
  expect_error(pd.register_memory(bytes.data(), 64, {}, UINT64_MAX - 10), invalid_argument,
               {"memory region", "iova " + std::to_string(UINT64_MAX - 10), "64", "wraps"});
  EXPECT_TRUE(pd.register_memory(bytes.data(), 64, {}, UINT64_MAX - 63));
  EXPECT_TRUE(pd.register_memory(bytes.data(), 0, {}));
}

TEST_F(Errors, QueuePairSizes) {
  Pd pd = device_->alloc_pd();
  Cq cq = device_->create_cq({}).value();
  const QpConfig good{.send_cq = &cq, .recv_cq = &cq};
  expect_error(pd.create_qp({.send_cq = &cq}), invalid_argument, {"queue pair", "send_cq and recv_cq"});
  struct Case {
    std::uint32_t QpConfig::*field;
    std::uint32_t value;
    const char* what;
    const char* allowed;
  };
  const Case cases[] = {{&QpConfig::send_depth, 0, "send depth 0", "1 .. 65536"},
                        {&QpConfig::send_depth, 65'537, "send depth 65537", "1 .. 65536"},
                        {&QpConfig::recv_depth, 0, "receive depth 0", "1 .. 65536"},
                        {&QpConfig::recv_depth, UINT32_MAX, "receive depth 4294967295", "1 .. 65536"},
                        {&QpConfig::max_sges, 0, "entries 0", "1 .. 16"},
                        {&QpConfig::max_sges, 17, "entries 17", "1 .. 16"},
                        {&QpConfig::max_inline, 1025, "inline bytes 1025", "0 .. 1024"},
                        {&QpConfig::window_packets, 1, "window 1", "2 .. 4194304"},
                        {&QpConfig::window_packets, (1u << 22) + 1, "window 4194305", "2 .. 4194304"}};
  for (const Case& c : cases) {
    QpConfig config = good;
    config.*c.field = c.value;
    expect_error(pd.create_qp(config), invalid_argument, {"queue pair", c.what, c.allowed});
  }
  EXPECT_TRUE(pd.create_qp(good));
}

TEST_F(Errors, ModifyNamesTheQueuePair) {
  using B = QpAttrBit;
  Side side(*device_, 64);
  QueuePair& qp = side.qp;
  const std::string name = "qp " + std::to_string(qp.qpn());
  QpAttr a;
  a.state = QpState::rts;
  expect_error(qp.modify(a, B::state), wrong_state, {name, "RESET to RTS"});
  a.state = QpState::init;
  expect_error(qp.modify(a, B::state), invalid_argument, {name, "missing", "pkey_index", "access_flags"});
  expect_error(qp.modify(a, {B::state, B::pkey_index, B::port, B::access_flags, B::sq_psn}), invalid_argument,
               {name, "not allowed here", "sq_psn"});
  EXPECT_EQ(qp.state(), QpState::reset) << "nothing has changed";
  ASSERT_TRUE(qp.modify(a, {B::state, B::pkey_index, B::port, B::access_flags}));

  const QpAttrMask to_rtr{B::state,        B::av, B::path_mtu, B::dest_qpn, B::rq_psn, B::max_dest_rd_atomic,
                          B::min_rnr_timer};
  const QpAttr good = [&] {
    QpAttr g;
    g.state = QpState::rtr;
    g.destination = Gid::parse("10.0.0.9").value();
    return g;
  }();
  a = good;
  a.source_gid_index = 3;
  expect_error(qp.modify(a, to_rtr), not_found, {name, "GID index 3", "0 .. 2"});
  a = good;
  a.destination = Gid::parse("fd00::9").value();
  expect_error(qp.modify(a, to_rtr), invalid_argument, {name, "IP versions"});
  a = good;
  a.dest_qpn = 1u << 24;
  expect_error(qp.modify(a, to_rtr), invalid_argument, {name, "dest_qpn 16777216", "16777215"});
  a = good;
  a.min_rnr_timer = 32;
  expect_error(qp.modify(a, to_rtr), invalid_argument, {name, "min_rnr_timer", "32", "0 .. 31"});
  a = good;
  a.max_dest_rd_atomic = 129;
  expect_error(qp.modify(a, to_rtr), invalid_argument, {name, "129", "0 .. 128"});
  EXPECT_EQ(qp.state(), QpState::init);
  EXPECT_TRUE(qp.modify(good, to_rtr));
  a = good;
  a.state = QpState::rts;
  a.timeout = 32;
  expect_error(qp.modify(a, {B::state, B::timeout, B::retry_cnt, B::rnr_retry, B::sq_psn, B::max_rd_atomic}),
               invalid_argument, {name, "timeout code 32", "0 .. 31"});
}

TEST(DeviceErrors, APathMtuThatDoesNotFit) {
  DeviceConfig c = alone();
  c.max_frame = 1500;
  auto device = Device::open(c);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->max_path_mtu(), PathMtu::mtu1024);
  Side side(*device, 64);
  QpAttr a;
  a.path_mtu = PathMtu::mtu2048;
  expect_error(side.qp.connect(side.info(), a), invalid_argument,
               {"qp " + std::to_string(side.qp.qpn()), "path MTU 2048", "1500"});
}

TEST_F(Errors, PostsSayWhyAndTakeWhatCameBefore) {
  Side side(*device_, 4096);
  EXPECT_EQ(side.qp.post_send(SendWr{}), PostError::bad_state);
  EXPECT_EQ(side.qp.post_recv(RecvWr{}), PostError::bad_state);
  expect_connects(side, side.info());
  const std::vector<Sge> five(5, side.region.sge(0, 1));
  const Sge long_one = side.region.sge(0, 65);
  std::size_t posted = 9;
  const SendWr wrs[] = {{.wr_id = 1, .flags = SendFlag::signaled},
                        {.wr_id = 2, .flags = SendFlag::signaled},
                        {.wr_id = 3, .sges = five},
                        {.wr_id = 4}};
  EXPECT_EQ(side.qp.post_send(wrs, &posted), PostError::too_many_sges);
  EXPECT_EQ(posted, 2u);
  EXPECT_EQ(side.qp.post_send({.flags = SendFlag::inline_data, .sges = {&long_one, 1}}), PostError::inline_too_long);
  EXPECT_EQ(side.qp.post_recv({.sges = five}), PostError::too_many_sges);
  const std::vector<RecvWr> many(200);
  EXPECT_EQ(side.qp.post_recv(many, &posted), PostError::queue_full);
  EXPECT_EQ(posted, 128u);
  const auto done = collect({&*device_}, side.cq, 4);
  EXPECT_EQ(done.size(), 4u) << "two sent, two received";
  EXPECT_STREQ(to_string(PostError::queue_full), "the queue is full");
}

TEST(Gids, ParseAndPrint) {
  for (const char* text : {"10.0.0.1", "255.255.255.255", "fd00::1", "fe80::11:22ff:fe33:4455"}) {
    const auto g = Gid::parse(text);
    ASSERT_TRUE(g) << text;
    EXPECT_EQ(g->text(), text);
  }
  for (const char* text : {"", "10.0.0", "10.0.0.256", "fd00:::1", "hello"}) {
    expect_error(Gid::parse(text), invalid_argument, {std::string("'") + text + "'"});
  }
}

TEST_F(Errors, WhatADeviceSaysOfItself) {
  const auto gids = device_->gids();
  ASSERT_EQ(gids.size(), 3u);
  EXPECT_EQ(gids[0].text().rfind("fe80::", 0), 0u);
  EXPECT_EQ(gids[1].text(), "10.0.0.1");
  EXPECT_EQ(gids[2].text(), "fd00::1");
  EXPECT_EQ(device_->max_path_mtu(), PathMtu::mtu4096);
  EXPECT_EQ(device_->mac().size(), 17u);
  for (const NamedCount& c : device_->counters()) {
    EXPECT_FALSE(c.name.empty());
    EXPECT_FALSE(c.doc.empty()) << c.name;
  }
}

}  // namespace
}  // namespace uroce::test
