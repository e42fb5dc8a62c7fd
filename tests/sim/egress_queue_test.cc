// SPDX-License-Identifier: BSD-3-Clause
#include "sim/egress_queue.h"

#include <gtest/gtest.h>

#include "wire/ip.h"

namespace uroce::sim {
namespace {

using base::Duration;
using base::Instant;

// ECN-capable IPv4, as far as a switch looks.
Frame frame(std::size_t bytes) {
  Frame f(bytes, 0);
  f[12] = 0x08;
  f[14] = 0x45;
  f[15] = 2;
  return f;
}

struct Rig {
  explicit Rig(QueueConfig c) : queue(events, c, 1, [this](Frame f) { arrived.emplace_back(events.now(), std::move(f)); }) {}
  void run() {
    while (events.step()) {
    }
  }
  [[nodiscard]] std::size_t marked() const {
    std::size_t n = 0;
    for (const auto& [when, f] : arrived) n += (f[15] & 3u) == 3 ? 1 : 0;
    return n;
  }
  EventQueue events;
  std::vector<std::pair<Instant, Frame>> arrived;
  EgressQueue queue;
};

TEST(EgressQueue, StoresAndForwardsAtItsRate) {
  Rig r({.rate_bps = 8'000'000'000, .delay = Duration::micros(3)});  // a byte a nanosecond
  for (int i = 0; i < 3; ++i) r.queue.push(frame(976));              // 1 000 with framing
  r.run();
  ASSERT_EQ(r.arrived.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(r.arrived[i].first.ns, 3000 + 1000 * (static_cast<std::int64_t>(i) + 1));
}

// p = 0 up to kmin, pmax (q - kmin) / (kmax - kmin) between, 1 above kmax; q is what a frame leaves behind.
TEST(EgressQueue, MarksAsRedDoes) {
  const QueueConfig c{.kmin_bytes = 100'000, .kmax_bytes = 300'000, .pmax_ppm = 200'000};
  const auto share = [&](std::uint64_t behind, bool extended) {
    QueueConfig config = c;
    config.linear_extended = extended;
    int marked = 0;
    constexpr int kRuns = 1000;
    Rig r(config);
    for (int i = 0; i < kRuns; ++i) {
      r.arrived.clear();
      r.queue.push(frame(100));                          // leaves at once: nothing behind
      r.queue.push(frame(100));                          // this one is looked at
      r.queue.push(Frame(behind, 0));                    // not capable, never marked
      r.run();
      marked += static_cast<int>(r.marked());
    }
    return static_cast<double>(marked) / kRuns;
  };
  EXPECT_EQ(share(100'000, false), 0);
  EXPECT_NEAR(share(200'000, false), 0.1, 0.03);
  EXPECT_NEAR(share(299'000, false), 0.199, 0.04);
  EXPECT_EQ(share(300'001, false), 1);
  EXPECT_NEAR(share(500'000, true), 0.4, 0.05);
}

TEST(EgressQueue, DropsWhatDoesNotFit) {
  Rig r({.limit_bytes = 1000});
  for (int i = 0; i < 4; ++i) r.queue.push(frame(500));  // one on the line, two waiting
  r.run();
  EXPECT_EQ(r.arrived.size(), 3u);
  EXPECT_EQ(r.queue.dropped(), 1u);
}

TEST(QueueHistogram, WeighsByTimeWithinItsWindow) {
  QueueHistogram h;
  h.watch({1000}, {2000});
  h.add(50'000, {0}, {1100});     // 100 ns of it
  h.add(10'000, {1100}, {1900});  // 800 ns
  h.add(90'000, {1900}, {9000});  // 100 ns
  EXPECT_DOUBLE_EQ(h.mean(), 22'000);
  EXPECT_EQ(h.percentile(50), 10'000u);
  EXPECT_EQ(h.percentile(85), 50'000u);
  EXPECT_EQ(h.percentile(99), 90'000u);
  EXPECT_EQ(h.most(), 90'000u);
  // (50^2 + 8 * 10^2 + 90^2) / 10 - 22^2 = 656
  EXPECT_NEAR(h.standard_deviation(), 25'612.5, 0.1);
}

}  // namespace
}  // namespace uroce::sim
