// SPDX-License-Identifier: BSD-3-Clause
// Connections between queue pairs of one node, and of one with itself: every operation, data compared. The port sees
// nothing of them.
#include <numeric>

#include "node_rig.h"

namespace uroce::engine::test {
namespace {

constexpr std::size_t kBytes = 300'000;

// Whether a queue pair talks to another or to itself; the path MTU.
using Shape = std::tuple<bool, PathMtu>;

class Loopback : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    a_ = make_qp(node_, sent_, received_);
    b_ = std::get<0>(GetParam()) ? a_ : make_qp(node_, sent_, received_);
    auto with = attributes(kHere, kHere);
    with.path_mtu = std::get<1>(GetParam());
    ASSERT_TRUE(join(node_, *a_, *b_, with));
    source_.fill(1);
    target_.fill(2);
  }
  // Posts one request at `a_` and waits for it.
  Completion run(SendWr wr) {
    wr.flags |= SendFlag::signaled;
    EXPECT_EQ(send(node_, *a_, wr), PostError::none);
    const auto done = collect({&node_}, sent_, 1);
    EXPECT_EQ(done.size(), 1u);
    if (done.empty()) return {};
    EXPECT_EQ(done[0].status, WcStatus::success) << to_string(done[0].status);
    EXPECT_EQ(done[0].wr_id, wr.wr_id);
    EXPECT_EQ(done[0].qpn, a_->qpn());
    return done[0];
  }
  // [0, length) of the target is [from, from + length) of the source, and what follows is untouched.
  void expect_copied(std::size_t from, std::size_t length) {
    Bytes wanted = untouched_;
    std::copy_n(source_.bytes.begin() + static_cast<std::ptrdiff_t>(from), length, wanted.begin());
    EXPECT_TRUE(target_.bytes == wanted) << "of " << length << " bytes, the first wrong one is "
                                         << std::mismatch(wanted.begin(), wanted.end(), target_.bytes.begin()).first -
                                                wanted.begin();
    target_.bytes = untouched_;
  }
  [[nodiscard]] std::vector<std::size_t> lengths() const {
    const std::size_t mtu = mtu_bytes(std::get<1>(GetParam()));
    return {0, 1, 3, 255, mtu - 1, mtu, mtu + 1, 3 * mtu, 70'001, kBytes};
  }

  using Bytes = std::vector<std::uint8_t>;
  SilentPort port_;
  ManualClock clock_;
  Node node_{port_, clock_, {.seed = 3}};
  CompletionQueue sent_{{.capacity = 256}}, received_{{.capacity = 256}};
  Buffer source_{node_, kBytes}, target_{node_, kBytes};
  const Bytes untouched_ = [] {
    Bytes b(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) b[i] = static_cast<std::uint8_t>((i * 2654435761u + 2 * 40503u) >> 11);
    return b;
  }();
  // A queue pair that refuses its own request is in error, and flushed, before its NAK has come round.
  const WcStatus refused_ = std::get<0>(GetParam()) ? WcStatus::wr_flush_err : WcStatus::rem_access_err;
  Qp *a_ = nullptr, *b_ = nullptr;
};

TEST_P(Loopback, Send) {
  for (const std::size_t length : lengths()) {
    const Sge in = target_.sge(0, kBytes);
    const Sge out[] = {source_.sge(0, length / 3), source_.sge(length / 3, length - length / 3)};
    ASSERT_EQ(receive(*b_, 70 + length, {&in, 1}), PostError::none);
    run({.wr_id = length, .sges = out});
    const auto got = collect({&node_}, received_, 1);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].wr_id, 70 + length);
    EXPECT_EQ(got[0].status, WcStatus::success);
    EXPECT_EQ(got[0].opcode, WcOpcode::recv);
    EXPECT_EQ(got[0].byte_length, length);
    EXPECT_EQ(got[0].qpn, b_->qpn());
    EXPECT_FALSE(got[0].flags.has(WcFlag::with_imm));
    expect_copied(0, length);
  }
}

TEST_P(Loopback, SendWithImmediate) {
  const Sge in = target_.sge(0, 64), out = source_.sge(5, 20);
  ASSERT_EQ(receive(*b_, 1, {&in, 1}), PostError::none);
  run({.wr_id = 2, .opcode = WrOpcode::send_with_imm, .sges = {&out, 1}, .immediate = {1, 2, 3, 4}});
  const auto got = collect({&node_}, received_, 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_TRUE(got[0].flags.has(WcFlag::with_imm));
  EXPECT_EQ(got[0].immediate, (Immediate{1, 2, 3, 4}));
  expect_copied(5, 20);
}

TEST_P(Loopback, SendWithInvalidate) {
  using A = Access;
  Bytes window(64);
  const auto key =
      node_.register_region({window.data(), 64, 0x1000, {A::local_write, A::remote_write, A::remote_invalidate}, 0});
  ASSERT_TRUE(key);
  ASSERT_EQ(receive(*b_, 1), PostError::none);
  run({.wr_id = 2, .opcode = WrOpcode::send_with_inv, .invalidate_rkey = *key});
  const auto got = collect({&node_}, received_, 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_TRUE(got[0].flags.has(WcFlag::with_inv));
  EXPECT_EQ(got[0].invalidated_rkey, *key);
  const Sge out = source_.sge(0, 8);
  ASSERT_EQ(
      send(node_, *a_,
           {.wr_id = 3, .opcode = WrOpcode::rdma_write, .sges = {&out, 1}, .remote_address = 0x1000, .rkey = *key}),
      PostError::none);
  const auto done = collect({&node_}, sent_, 1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, refused_) << "the key is dead";
  EXPECT_TRUE(node_.deregister(*key));
}

TEST_P(Loopback, Write) {
  for (const std::size_t length : lengths()) {
    const Sge out = source_.sge(0, length);
    const Completion w = run({.wr_id = length,
                              .opcode = WrOpcode::rdma_write,
                              .sges = {&out, 1},
                              .remote_address = target_.iova(),
                              .rkey = target_.key});
    EXPECT_EQ(w.opcode, WcOpcode::rdma_write);
    expect_copied(0, length);
  }
  EXPECT_TRUE(take(received_).empty());
}

TEST_P(Loopback, WriteWithImmediate) {
  const Sge out = source_.sge(9, 70'001);
  ASSERT_EQ(receive(*b_, 5), PostError::none);
  run({.wr_id = 2,
       .opcode = WrOpcode::rdma_write_with_imm,
       .sges = {&out, 1},
       .remote_address = target_.iova(),
       .rkey = target_.key,
       .immediate = {9, 8, 7, 6}});
  const auto got = collect({&node_}, received_, 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].opcode, WcOpcode::recv_rdma_with_imm);
  EXPECT_EQ(got[0].byte_length, 70'001u);
  EXPECT_EQ(got[0].immediate, (Immediate{9, 8, 7, 6}));
  expect_copied(9, 70'001);
}

TEST_P(Loopback, Read) {
  for (const std::size_t length : lengths()) {
    const Sge in[] = {target_.sge(0, length / 2), target_.sge(length / 2, length - length / 2)};
    const Completion w = run({.wr_id = length,
                              .opcode = WrOpcode::rdma_read,
                              .sges = in,
                              .remote_address = source_.iova(),
                              .rkey = source_.key});
    EXPECT_EQ(w.opcode, WcOpcode::rdma_read);
    EXPECT_EQ(w.byte_length, length);
    expect_copied(0, length);
  }
}

TEST_P(Loopback, Atomics) {
  alignas(8) std::uint64_t counter = 1000, results[3] = {};
  using A = Access;
  const AccessFlags all{A::local_write, A::remote_write, A::remote_read, A::remote_atomic};
  const auto remote = node_.register_region({reinterpret_cast<std::uint8_t*>(&counter), 8, 0x4000, all, 0});
  const auto local = node_.register_region({reinterpret_cast<std::uint8_t*>(results), sizeof(results), 0, all, 0});
  ASSERT_TRUE(remote && local);
  const auto atomic = [&](WrOpcode op, unsigned slot, std::uint64_t compare_add, std::uint64_t swap) {
    const Sge in{8 * slot, 8, *local};
    run({.wr_id = slot,
         .opcode = op,
         .sges = {&in, 1},
         .remote_address = 0x4000,
         .rkey = *remote,
         .compare_add = compare_add,
         .swap = swap});
    return results[slot];
  };
  EXPECT_EQ(atomic(WrOpcode::fetch_add, 0, 5, 0), 1000u);
  EXPECT_EQ(counter, 1005u);
  EXPECT_EQ(atomic(WrOpcode::cmp_swap, 1, 1005, 77), 1005u);
  EXPECT_EQ(counter, 77u);
  EXPECT_EQ(atomic(WrOpcode::cmp_swap, 2, 1005, 99), 77u) << "differs: not stored";
  EXPECT_EQ(counter, 77u);
  EXPECT_TRUE(node_.deregister(*remote));
  EXPECT_TRUE(node_.deregister(*local));
}

// More under way than the internal queue has buffers, in both directions at once, of every kind.
TEST_P(Loopback, ManyAtOnce) {
  constexpr std::size_t kPiece = 9'001, kPieces = 32;
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < kPieces; ++i) {
    const Sge in = target_.sge(i * kPiece, kPiece), out = source_.sge(i * kPiece, kPiece);
    const SendFlags on = SendFlag::signaled;
    switch (i % 4) {
      case 0:
        ASSERT_EQ(send(node_, *a_, {id++, WrOpcode::rdma_write, on, {&out, 1}, in.address, target_.key}),
                  PostError::none);
        break;
      case 1:
        ASSERT_EQ(send(node_, *a_, {id++, WrOpcode::rdma_read, on, {&in, 1}, out.address, source_.key}),
                  PostError::none);
        break;
      case 2:
        ASSERT_EQ(receive(*b_, i, {&in, 1}), PostError::none);
        ASSERT_EQ(send(node_, *a_, {id++, WrOpcode::send, on, {&out, 1}}), PostError::none);
        break;
      default:
        ASSERT_EQ(send(node_, *b_, {id++, WrOpcode::rdma_write, on, {&out, 1}, in.address, target_.key}),
                  PostError::none);
    }
  }
  const auto done = collect({&node_}, sent_, kPieces);
  ASSERT_EQ(done.size(), kPieces);
  for (const Completion& c : done) EXPECT_EQ(c.status, WcStatus::success) << c.wr_id;
  EXPECT_EQ(take(received_).size(), kPieces / 4);
  expect_copied(0, kPiece * kPieces);
}

// A refused request ends both ends, as between hosts.
TEST_P(Loopback, ABadKeyEndsTheConnection) {
  const Sge out = source_.sge(0, 10'000);
  ASSERT_EQ(send(node_, *a_, {1, WrOpcode::rdma_write, SendFlag::signaled, {&out, 1}, target_.iova(), 0x12345678}),
            PostError::none);
  const auto done = collect({&node_}, sent_, 1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, refused_);
  EXPECT_EQ(a_->state(), QpState::err);
  EXPECT_EQ(b_->state(), QpState::err);
  expect_copied(0, 0);
}

std::string shape_name(const testing::TestParamInfo<Shape>& info) {
  return std::string(std::get<0>(info.param) ? "Itself" : "Two") + "Mtu" +
         std::to_string(mtu_bytes(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Loopback,
                         testing::Combine(testing::Bool(),
                                          testing::Values(PathMtu::mtu256, PathMtu::mtu1024, PathMtu::mtu4096)),
                         shape_name);

}  // namespace
}  // namespace uroce::engine::test
