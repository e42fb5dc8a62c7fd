// SPDX-License-Identifier: BSD-3-Clause
// Troubles that other stacks met in public (the O list, groups A and B), where a queue pair decides them and a script
// is not the way: very many frames.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>

#include "driver.h"

namespace uroce::script {
namespace {

// O-08: 100 000 SEND ONLY with TVer 1 and good ICRC: dropped in silence, one counter, the connection as before.
TEST(OCases, O_08a) {
  World w{Options{}};
  RecvWr receive{.wr_id = 1, .sges = {}};
  ASSERT_EQ(w.post(receive), transport::PostError::none);
  Stamp stamp(w, "RC_SEND_ONLY psn=0 ack tver=1");
  for (int i = 0; i < 100'000; ++i) {
    stamp.arrive(w, 0);
    if (i % 1000 == 0) w.run();
  }
  w.run();
  EXPECT_EQ(w.worker().ingress().drops(wire::Drop::bth_version), 100'000u);
  EXPECT_TRUE(take_sent(w).empty());
  EXPECT_TRUE(w.events.empty());
  EXPECT_EQ(w.qp().state(), QpState::rts);
  arrive(w, "RC_SEND_ONLY psn=0 ack");
  w.run();
  const auto sent = take_sent(w);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].psn, 0u);
  EXPECT_EQ(sent[0].syndrome, 31);
  const auto done = w.poll_recv();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, WcStatus::success);
}

// O-25, the responder: 2^24 + 1 messages. The MSN goes from 0xFFFFFF to 0 and on.
TEST(OCases, O_25b) {
  UROCE_MANY_PACKETS();
  World w{Options{}};
  std::uint64_t sent = 0;
  std::uint32_t last_psn = 0, last_msn = 0;
  bool all_positive = true;
  w.port.on_sent = [&](std::span<const std::uint8_t> frame) {
    const Seen s = see(frame);
    ++sent;
    last_psn = s.psn;
    last_msn = s.msn;
    all_positive &= s.name == "RC_ACK" && s.syndrome == 31;
  };
  Stamp quiet(w, "RC_WRITE_ONLY psn=0"), asking(w, "RC_WRITE_ONLY psn=0 ack");
  constexpr std::uint32_t kMessages = (1u << 24) + 1;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const bool ask = i % 4096 == 4095 || i + 3 >= kMessages;
    (ask ? asking : quiet).arrive(w, i & 0xffffff);
    if (i % 32 == 31 || i + 4 >= kMessages) {
      w.run();
      ASSERT_EQ(last_msn, ask ? (i + 1) & 0xffffff : last_msn) << "after message " << i;
      ASSERT_EQ(last_psn, ask ? i & 0xffffff : last_psn) << "after message " << i;
    }
  }
  EXPECT_EQ(sent, kMessages / 4096 + 3 - 1);  // the last of the multiples of 4096 is also the third but last message
  EXPECT_EQ(last_msn, 1u);
  EXPECT_TRUE(all_positive);
}

// 2^31 bytes and one page of address space over 2 MiB of memory, mapped again and again.
class BigBuffer {
 public:
  static constexpr std::size_t kChunk = 1u << 21, kBytes = (std::size_t{1} << 31) + kChunk;
  BigBuffer() : file_(memfd_create("script", 0)) {
    if (file_ < 0 || ftruncate(file_, kChunk) != 0) throw std::runtime_error("no memory file");
    void* room = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) throw std::runtime_error("no address space");
    bytes_ = static_cast<std::uint8_t*>(room);
    for (std::size_t at = 0; at < kBytes; at += kChunk) {
      if (mmap(bytes_ + at, kChunk, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, 0) == MAP_FAILED) {
        throw std::runtime_error("can't map");
      }
    }
  }
  ~BigBuffer() {
    munmap(bytes_, kBytes);
    close(file_);
  }
  BigBuffer(const BigBuffer&) = delete;
  BigBuffer& operator=(const BigBuffer&) = delete;
  [[nodiscard]] std::uint8_t* bytes() const noexcept { return bytes_; }
  std::uint32_t key_in(World& w) {
    using A = Access;
    return w.memory
        .register_region(
            {bytes_, kBytes, World::kTarget, {A::local_write, A::remote_write, A::remote_read}, World::kPd})
        .value();
  }

 private:
  int file_;
  std::uint8_t* bytes_ = nullptr;
};

constexpr std::uint64_t kLongest = 0x80000000;

// 2^31 bytes in three SGEs, or one byte more.
std::vector<Sge> pieces_of(std::uint64_t length, std::uint32_t key) {
  const auto at = World::kTarget;
  return {{at, 0x7fffffff, key},
          {at + 0x7fffffff, 0, 1},
          {at + 0x7fffffff, static_cast<std::uint32_t>(length - 0x7fffffff), key}};
}

// What is on the wire of a request in flight: nothing skipped, never more outstanding than allowed.
struct Flight {
  std::uint32_t next = 0, acknowledged = 0;  // PSNs
  std::uint32_t most_outstanding = 0;
  void sent(std::uint32_t psn, std::uint32_t count) {
    EXPECT_EQ(psn, next);
    next = (psn + count) & 0xffffff;
    most_outstanding = std::max(most_outstanding, (next - acknowledged) & 0xffffff);
  }
};

void write_longest(std::uint32_t mtu, std::uint32_t packets) {
  Options options;
  options.mtu = mtu;
  options.window = 1024;
  options.sq_psn = 0xfffff0;
  World w(options);
  BigBuffer big;
  const auto key = big.key_in(w);
  Flight flight{options.sq_psn, options.sq_psn};
  std::uint64_t bytes = 0;
  std::uint32_t count = 0, first = 0, last = 0;
  std::optional<std::uint32_t> asked;
  w.port.on_sent = [&](std::span<const std::uint8_t> frame) {
    wire::Drop why{};
    const auto p = wire::parse_frame(frame, why);
    ASSERT_TRUE(p.has_value());
    ++count;
    bytes += p->payload().size();
    flight.sent(p->psn(), 1);
    if (p->info().name == "RC_WRITE_FIRST") {
      ++first;
      EXPECT_EQ(p->psn(), options.sq_psn);
      EXPECT_EQ(p->ext<wire::Ext::reth>()->dma_length.get(), kLongest);
    }
    if (p->info().name == "RC_WRITE_LAST") ++last;
    if (p->bth().ack_req()) asked = p->psn();
  };
  const auto sges = pieces_of(kLongest, key);
  SendWr wr{.wr_id = 1, .opcode = WrOpcode::rdma_write, .flags = SendFlag::signaled, .sges = sges};
  ASSERT_EQ(w.post(wr), transport::PostError::none);
  Stamp ack(w, "RC_ACK psn=0");
  w.run();
  while (asked) {
    ack.arrive(w, *asked);
    flight.acknowledged = (*asked + 1) & 0xffffff;
    asked.reset();
    w.run();
  }
  EXPECT_EQ(count, packets);
  EXPECT_EQ(bytes, kLongest);
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(last, 1u);
  EXPECT_EQ(flight.next, (options.sq_psn + packets) & 0xffffff);
  EXPECT_LE(flight.most_outstanding, options.window);
  const auto done = w.poll_send();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, WcStatus::success);
  EXPECT_EQ(done->byte_length, kLongest);
}

// Answers each READ request in full before the next; the response numbered `lost` of all does not arrive the first
// time, so it is asked for again, and the rest of that request with it.
void read_longest(std::uint32_t mtu, std::uint32_t packets, std::uint32_t lost) {
  Options options;
  options.mtu = mtu;
  options.sq_psn = 0xfffff0;
  World w(options);
  BigBuffer big;
  const auto key = big.key_in(w);
  const std::string length = " len=" + std::to_string(mtu);
  Stamp first(w, "RC_RRESP_FIRST psn=0"), middle(w, "RC_RRESP_MIDDLE psn=0"), last(w, "RC_RRESP_LAST psn=0" + length);
  struct Request {
    std::uint32_t psn, count;
  };
  std::deque<Request> requests;
  Flight flight{options.sq_psn, options.sq_psn};
  std::uint64_t asked = 0;
  const std::uint32_t lost_psn = (options.sq_psn + lost) & 0xffffff;
  unsigned restarts = 0;
  w.port.on_sent = [&](std::span<const std::uint8_t> frame) {
    wire::Drop why{};
    const auto p = wire::parse_frame(frame, why);
    ASSERT_TRUE(p.has_value());
    ASSERT_EQ(p->info().name, "RC_READ_REQ");
    const auto& reth = *p->ext<wire::Ext::reth>();
    if (p->psn() == lost_psn && asked > std::uint64_t{lost} * mtu) {
      ++restarts;
      asked = std::uint64_t{lost} * mtu;
      flight.next = lost_psn;
    }
    EXPECT_EQ(reth.va.get(), 0x4000u + asked);
    asked += reth.dma_length.get();
    requests.push_back({p->psn(), (reth.dma_length.get() - 1) / mtu + 1});
    flight.sent(p->psn(), requests.back().count);
  };
  const auto sges = pieces_of(kLongest, key);
  SendWr wr{
      .wr_id = 1, .opcode = WrOpcode::rdma_read, .flags = SendFlag::signaled, .sges = sges, .remote_address = 0x4000};
  ASSERT_EQ(w.post(wr), transport::PostError::none);
  w.run();
  while (!requests.empty()) {
    const Request r = requests.front();
    requests.pop_front();
    for (std::uint32_t i = 0; i < r.count; ++i) {
      const std::uint32_t psn = (r.psn + i) & 0xffffff;
      if (psn == lost_psn && restarts == 0) continue;
      if (restarts == 1 && !requests.empty()) break;  // the rest would be ignored
      (i == 0 ? first : i + 1 == r.count ? last : middle).arrive(w, psn);
      flight.acknowledged = (psn + 1) & 0xffffff;
      if (i % 32 == 31 || i + 1 == r.count) w.run();
    }
  }
  EXPECT_EQ(asked, kLongest);
  EXPECT_EQ(restarts, 1u);
  EXPECT_EQ(flight.next, (options.sq_psn + packets) & 0xffffff);
  EXPECT_LT(flight.most_outstanding, 1u << 23);
  const auto done = w.poll_send();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, WcStatus::success);
  EXPECT_EQ(done->byte_length, kLongest);
}

// One byte more: refused at the post, or LOC_LEN_ERR; nothing leaves.
void expect_too_long(WrOpcode opcode) {
  World w{Options{}};
  BigBuffer big;
  const auto sges = pieces_of(kLongest + 1, big.key_in(w));
  SendWr wr{.wr_id = 1, .opcode = opcode, .flags = SendFlag::signaled, .sges = sges};
  const bool refused = w.post(wr) != transport::PostError::none;
  w.run();
  EXPECT_TRUE(take_sent(w).empty());
  const auto done = w.poll_send();
  if (refused) {
    EXPECT_FALSE(done.has_value());
  } else {
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->status, WcStatus::loc_len_err);
  }
}

// WRITE of 2^31 bytes: 2^21 PSNs at path MTU 1024; at 256 it is 2^23, so the window must hold it.
TEST(OCases, O_34a) {
  UROCE_MANY_PACKETS();
  write_longest(1024, 1u << 21);
  write_longest(256, 1u << 23);
}
// WRITE of 2^31 + 1
TEST(OCases, O_34b) {
  expect_too_long(WrOpcode::rdma_write);
}
// READ of 2^31
TEST(OCases, O_34c) {
  UROCE_MANY_PACKETS();
  read_longest(1024, 1u << 21, 5);
  read_longest(256, 1u << 23, (1u << 22) + 7);
}
// READ of 2^31 + 1
TEST(OCases, O_34d) {
  expect_too_long(WrOpcode::rdma_read);
}

// The peer's WRITE of 2^31 bytes is taken to its last byte; of one more it is refused at its first packet.
TEST(OCases, O_34e) {
  UROCE_MANY_PACKETS();
  Options options;
  World w(options);
  BigBuffer big;
  w.keys["big"] = big.key_in(w);
  constexpr std::uint32_t kPackets = 1u << 21;
  Stamp first(w, "RC_WRITE_FIRST psn=0 rkey=big dmalen=0x80000000"), middle(w, "RC_WRITE_MIDDLE psn=0"),
      last(w, "RC_WRITE_LAST psn=0 len=1024 pattern=q ack");
  for (std::uint32_t psn = 0; psn < kPackets; ++psn) {
    (psn == 0 ? first : psn + 1 == kPackets ? last : middle).arrive(w, psn);
    if (psn % 32 == 31) w.run();
  }
  auto sent = take_sent(w);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].psn, kPackets - 1);
  EXPECT_EQ(sent[0].syndrome, 31);
  EXPECT_EQ(sent[0].msn, 1u);
  const Pattern q{'q', 0};
  EXPECT_EQ(big.bytes()[kLongest - 1], q.at(1023));
  arrive(w, "RC_WRITE_FIRST rkey=big dmalen=0x80000001 psn=" + std::to_string(kPackets));
  w.run();
  sent = take_sent(w);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(sent[0].syndrome == 0x61 || sent[0].syndrome == 0x62);
  EXPECT_EQ(w.qp().state(), QpState::err);
}

// The peer's READ of 2^31 bytes is answered with 2^21 responses in order.
TEST(OCases, O_34f) {
  UROCE_MANY_PACKETS();
  World w{Options{}};
  BigBuffer big;
  w.keys["big"] = big.key_in(w);
  std::uint32_t next = 0;
  std::uint64_t bytes = 0;
  w.port.on_sent = [&](std::span<const std::uint8_t> frame) {
    const Seen s = see(frame);
    ASSERT_EQ(s.psn, next);
    ASSERT_EQ(s.name, next == 0 ? "RC_RRESP_FIRST" : next + 1 == 1u << 21 ? "RC_RRESP_LAST" : "RC_RRESP_MIDDLE");
    bytes += s.length;
    ++next;
  };
  arrive(w, "RC_READ_REQ psn=0 rkey=big dmalen=0x80000000");
  w.run();
  EXPECT_EQ(next, 1u << 21);
  EXPECT_EQ(bytes, kLongest);
  arrive(w, "RC_WRITE_ONLY ack psn=" + std::to_string(1u << 21));
  w.port.on_sent = nullptr;
  w.run();
  const auto sent = take_sent(w);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].psn, 1u << 21);
  EXPECT_EQ(sent[0].msn, 2u);
}

}  // namespace
}  // namespace uroce::script
