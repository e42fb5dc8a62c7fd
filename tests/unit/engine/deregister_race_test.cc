// SPDX-License-Identifier: BSD-3-Clause
// Memory that is deregistered while a worker copies: the key dies at once, and when the call returns nothing touches
// the bytes any more. The test takes them into use at once and looks for damage, and for its own bytes elsewhere.
#include <algorithm>

#include "threads_rig.h"

namespace uroce::engine::test {
namespace {

// What the region is to the traffic.
enum class Role : std::uint8_t { written, read, sent_from, received_into };
using Shape = std::tuple<Threading, Role>;

class Deregister : public testing::TestWithParam<Shape> {
 protected:
  static constexpr std::size_t kPiece = 32'768, kPieces = 8, kBytes = kPiece * kPieces;
  static constexpr std::uint8_t kOurs = 0xee;  // nothing else has this value

  struct Region {
    explicit Region(Node& node, std::uint8_t value) : bytes(kBytes, value) {
      using A = Access;
      key = node.register_region({bytes.data(), kBytes, iova(), {A::local_write, A::remote_write, A::remote_read}, 0})
                .value_or(0);
    }
    [[nodiscard]] std::uint64_t iova() const { return reinterpret_cast<std::uintptr_t>(bytes.data()); }
    [[nodiscard]] Sge piece(std::size_t i) const { return {iova() + i * kPiece, kPiece, key}; }
    std::vector<std::uint8_t> bytes;
    std::uint32_t key = 0;
  };

  void post_all(Qp& a, Qp& b, const Region& victim, const Region& other) {
    const Role role = std::get<1>(GetParam());
    const SendFlags on = SendFlag::signaled;
    for (std::size_t i = 0; i < kPieces; ++i) {
      const Sge v = victim.piece(i), o = other.piece(i);
      SendWr wr{.wr_id = i, .flags = on};
      switch (role) {
        case Role::written:
          wr = {i, WrOpcode::rdma_write, on, {&o, 1}, v.address, victim.key};
          break;
        case Role::read:
          wr = {i, WrOpcode::rdma_read, on, {&o, 1}, v.address, victim.key};
          break;
        case Role::sent_from:
          wr = {i, WrOpcode::rdma_write, on, {&v, 1}, o.address, other.key};
          break;
        case Role::received_into:
          ASSERT_EQ(receive(b, i, {&v, 1}), PostError::none);
          wr = {i, WrOpcode::send, on, {&o, 1}};
          break;
      }
      ASSERT_EQ(send(node_, a, wr), PostError::none);
    }
  }

  // Successes, then at most one error, then what it flushed.
  static bool well_ordered(const std::vector<Completion>& done, WcStatus error) {
    std::size_t i = 0;
    while (i < done.size() && done[i].status == WcStatus::success) ++i;
    if (i < done.size() && done[i++].status != error) return false;
    return std::all_of(done.begin() + static_cast<std::ptrdiff_t>(i), done.end(),
                       [](const Completion& c) { return c.status == WcStatus::wr_flush_err; });
  }

  SilentPort port_;
  WallClock clock_;
  Node node_{port_, clock_, {.seed = 5, .max_regions = 8, .threading = std::get<0>(GetParam())}};
  CompletionQueue sent_{{.capacity = 256}}, received_{{.capacity = 256}};
};

TEST_P(Deregister, DuringCopies) {
  const Role role = std::get<1>(GetParam());
  const WcStatus error = role == Role::sent_from       ? WcStatus::loc_prot_err
                         : role == Role::received_into ? WcStatus::rem_op_err
                                                       : WcStatus::rem_access_err;
  std::optional<Pump> pump;
  if (std::get<0>(GetParam()) == Threading::shared) pump.emplace(node_);
  const OnCore core(0);
  base::Rng rng(1);
  int rounds = 0, midway = 0;
  for (const auto end = Wall::now() + kRaceTime; Wall::now() < end; ++rounds) {
    Qp* a = make_qp(node_, sent_, received_);
    Qp* b = make_qp(node_, sent_, received_);
    ASSERT_TRUE(join(node_, *a, *b));
    Region victim(node_, 1), other(node_, 2);
    ASSERT_NE(victim.key, 0u);
    post_all(*a, *b, victim, other);
    pause_a_little(rng, kSanitized ? 30'000 : 3000);
    ASSERT_TRUE(node_.deregister(victim.key));
    std::fill(victim.bytes.begin(), victim.bytes.end(), kOurs);

    const auto done = collect({&node_}, sent_, kPieces);
    ASSERT_TRUE(well_ordered(done, error)) << "round " << rounds;
    const auto failed = std::count_if(done.begin(), done.end(), [](auto& c) { return c.status != WcStatus::success; });
    if (failed > 0 && failed < static_cast<std::ptrdiff_t>(kPieces)) ++midway;
    node_.destroy_qp(*a);
    node_.destroy_qp(*b);
    ASSERT_EQ(std::count(victim.bytes.begin(), victim.bytes.end(), kOurs), static_cast<std::ptrdiff_t>(kBytes))
        << "written to after it was deregistered, in round " << rounds;
    ASSERT_EQ(std::count(other.bytes.begin(), other.bytes.end(), kOurs), 0)
        << "read after it was deregistered, in round " << rounds;
    ASSERT_TRUE(node_.deregister(other.key));
    take(received_);
  }
  // Not the code's fault but the scheduler's; the thread sanitizer does not need the moment itself.
  if (!kSanitized && midway == 0) GTEST_SKIP() << "of " << rounds << " rounds none hit a transfer in the middle";
}

std::string shape_name(const testing::TestParamInfo<Shape>& info) {
  static constexpr const char* kRoles[] = {"Written", "Read", "SentFrom", "ReceivedInto"};
  return std::string(name_of(std::get<0>(info.param))) + kRoles[static_cast<unsigned>(std::get<1>(info.param))];
}

INSTANTIATE_TEST_SUITE_P(Shapes, Deregister,
                         testing::Combine(testing::Values(Threading::dedicated, Threading::shared),
                                          testing::Values(Role::written, Role::read, Role::sent_from,
                                                          Role::received_into)),
                         shape_name);

// The key is dead when the call is made: what is posted afterwards fails, whatever still was under way.
TEST(DeregisterOnce, TheKeyIsDeadAtOnce) {
  SilentPort port;
  WallClock clock;
  Node node{port, clock, {.seed = 5, .max_regions = 8, .threading = Threading::dedicated}};
  CompletionQueue cq{{}};
  for (const bool local : {false, true}) {
    Qp* qp = make_qp(node, cq, cq);
    ASSERT_TRUE(join(node, *qp, *qp));
    Buffer live(node, 4096), dead(node, 4096);
    const Sge of_dead = dead.sge(0, 4096), of_live = live.sge(0, 4096);
    const std::uint32_t key = dead.key;
    dead.deregister();
    SendWr wr{1, WrOpcode::rdma_write, SendFlag::signaled, {&of_live, 1}, dead.iova(), key};
    if (local) wr = {1, WrOpcode::rdma_write, SendFlag::signaled, {&of_dead, 1}, live.iova(), live.key};
    ASSERT_EQ(send(node, *qp, wr), PostError::none);
    const auto done = collect({&node}, cq, 1);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_NE(done[0].status, WcStatus::success);
    const auto again = node.deregister(key);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::not_found);
    EXPECT_NE(again.error().message.find(std::to_string(key)), std::string::npos) << again.error().message;
    node.destroy_qp(*qp);
    take(cq);
  }
}

}  // namespace
}  // namespace uroce::engine::test
