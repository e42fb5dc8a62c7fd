// SPDX-License-Identifier: BSD-3-Clause
// A bad network before a port: what it does to frames, that it does the same again for the same seed, and that no
// buffer is lost in it.
#include "engine/fault_port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

namespace uroce::engine::test {
namespace {

constexpr std::size_t kLength = 100;
using Frame = std::vector<std::uint8_t>;

// Keeps a copy of each frame; frames begin with their number.
class Recorder final : public Port {
 public:
  explicit Recorder(std::size_t buffers) : buffers_(buffers, Frame(256)) {
    for (auto& b : buffers_) free_.insert(b.data());
  }
  std::size_t rx_burst(std::span<RxFrame> frames) override { return std::min(frames.size(), receivable); }
  void rx_release(std::span<const RxFrame> frames) override { released += frames.size(); }
  std::size_t tx_alloc(std::span<TxFrame> frames) override {
    std::size_t n = 0;
    for (; n < frames.size() && !free_.empty(); ++n) {
      frames[n] = {*free_.begin(), 0, *free_.begin()};
      free_.erase(free_.begin());
    }
    return n;
  }
  std::size_t tx_burst(std::span<TxFrame> frames) override {
    std::size_t n = 0;
    for (; n < frames.size() && room != 0; ++n, --room) {
      sent.emplace_back(frames[n].data, frames[n].data + frames[n].length);
      tx_free(frames.subspan(n, 1));
    }
    return n;
  }
  void tx_free(std::span<const TxFrame> frames) override {
    for (const TxFrame& f : frames) {
      EXPECT_TRUE(free_.insert(static_cast<std::uint8_t*>(f.owner)).second) << "given back twice";
    }
  }
  [[nodiscard]] std::size_t max_frame_bytes() const override { return 256; }
  [[nodiscard]] std::size_t in_use() const { return buffers_.size() - free_.size(); }

  std::size_t room = SIZE_MAX, receivable = 3, released = 0;
  std::vector<Frame> sent;

 private:
  std::vector<Frame> buffers_;
  std::set<std::uint8_t*> free_;
};

Frame frame_number(std::uint32_t n) {
  Frame f(kLength);
  std::memcpy(f.data(), &n, sizeof(n));
  for (std::size_t i = sizeof(n); i < kLength; ++i) f[i] = static_cast<std::uint8_t>(n + i);
  return f;
}
std::uint32_t number_of(const Frame& f) {
  std::uint32_t n = 0;
  std::memcpy(&n, f.data(), sizeof(n));
  return n;
}

// Sends frames 0 .. count - 1 in bursts of `burst`. False when the port ran out of buffers.
bool send_numbered(Port& port, std::uint32_t count, std::size_t burst = 4) {
  for (std::uint32_t n = 0; n < count;) {
    std::vector<TxFrame> frames(std::min<std::size_t>(burst, count - n));
    if (port.tx_alloc(frames) != frames.size()) {
      ADD_FAILURE() << "no buffers left at frame " << n;
      return false;
    }
    for (TxFrame& f : frames) {
      const Frame bytes = frame_number(n++);
      std::copy(bytes.begin(), bytes.end(), f.data);
      f.length = kLength;
    }
    EXPECT_EQ(port.tx_burst(frames), frames.size()) << "it takes everything";
  }
  return true;
}

// What comes out of 2000 frames.
std::vector<Frame> through(const FaultRates& rates, std::uint64_t seed, std::uint64_t* dropped = nullptr) {
  Recorder inner(64);
  {
    FaultPort port(inner, rates, seed);
    send_numbered(port, 2000);
    if (dropped != nullptr) *dropped = port.dropped();
  }
  EXPECT_EQ(inner.in_use(), 0u) << "a buffer is lost";
  return inner.sent;
}

constexpr FaultRates kEverything{.drop_ppm = 50'000,
                                 .burst_ppm = 2'000,
                                 .duplicate_ppm = 50'000,
                                 .reorder_ppm = 100'000,
                                 .corrupt_ppm = 50'000,
                                 .truncate_ppm = 20'000};

TEST(FaultPort, WithoutFaultsItIsNotThere) {
  std::uint64_t dropped = 1;
  const auto sent = through({}, 1, &dropped);
  ASSERT_EQ(sent.size(), 2000u);
  for (std::uint32_t i = 0; i < 2000; ++i) ASSERT_EQ(sent[i], frame_number(i));
  EXPECT_EQ(dropped, 0u);
}

TEST(FaultPort, TheSameSeedTheSameFaults) {
  const auto once = through(kEverything, 7);
  EXPECT_EQ(once, through(kEverything, 7));
  EXPECT_NE(once, through(kEverything, 8));
}

TEST(FaultPort, FollowsTheModelsVerdicts) {
  FaultModel model(kEverything, 7);
  std::uint64_t wanted_drops = 0, wanted_twins = 0;
  for (int i = 0; i < 2000; ++i) {
    const FaultVerdict v = model.judge(kLength);
    wanted_drops += v.drop ? 1 : 0;
    wanted_twins += v.duplicate ? 1 : 0;
  }
  std::uint64_t dropped = 0;
  const auto sent = through(kEverything, 7, &dropped);
  EXPECT_EQ(dropped, wanted_drops);
  EXPECT_LE(2000 - wanted_drops + wanted_twins - sent.size(), 2 * FaultRates{}.reorder_depth) << "held at the end";
}

TEST(FaultPort, DropsAndCounts) {
  std::uint64_t dropped = 0;
  const auto sent = through({.drop_ppm = 300'000}, 3, &dropped);
  EXPECT_EQ(sent.size() + dropped, 2000u);
  EXPECT_NEAR(static_cast<double>(dropped), 600, 80);
  for (std::size_t i = 1; i < sent.size(); ++i) ASSERT_LT(number_of(sent[i - 1]), number_of(sent[i]));
}

TEST(FaultPort, DoublesWhole) {
  const auto sent = through({.duplicate_ppm = 200'000}, 3);
  std::map<std::uint32_t, int> times;
  for (const Frame& f : sent) {
    ASSERT_EQ(f, frame_number(number_of(f)));
    ++times[number_of(f)];
  }
  ASSERT_EQ(times.size(), 2000u);
  const auto twice = std::count_if(times.begin(), times.end(), [](const auto& t) { return t.second == 2; });
  EXPECT_NEAR(static_cast<double>(twice), 400, 70);
  EXPECT_EQ(sent.size(), 2000u + static_cast<std::size_t>(twice));
}

TEST(FaultPort, CorruptsOneBitAndTruncatesTheEnd) {
  int corrupt = 0, cut = 0;
  const auto flipped = through({.corrupt_ppm = 200'000}, 3);
  ASSERT_EQ(flipped.size(), 2000u);
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const Frame wanted = frame_number(i);
    ASSERT_EQ(flipped[i].size(), kLength);
    int bits = 0;
    for (std::size_t b = 0; b < kLength; ++b) bits += __builtin_popcount(flipped[i][b] ^ wanted[b]);
    ASSERT_LE(bits, 1);
    corrupt += bits;
  }
  const auto shorter = through({.truncate_ppm = 200'000}, 3);
  ASSERT_EQ(shorter.size(), 2000u);
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const Frame wanted = frame_number(i);
    ASSERT_GE(shorter[i].size(), 14u) << "a port wants an Ethernet header";
    ASSERT_LE(shorter[i].size(), kLength);
    ASSERT_TRUE(std::equal(shorter[i].begin(), shorter[i].end(), wanted.begin()));
    cut += shorter[i].size() < kLength ? 1 : 0;
  }
  EXPECT_NEAR(corrupt, 400, 70);
  EXPECT_NEAR(cut, 400, 70);
}

// Each frame once, none further from its place than the depth says. However many are held back, also all of them.
TEST(FaultPort, ReordersWithinItsDepth) {
  for (const std::uint32_t ppm : {50'000u, 500'000u, 1'000'000u}) {
    for (const std::uint32_t depth : {1u, 4u, 20u}) {
      SCOPED_TRACE(testing::Message() << ppm << " ppm, depth " << depth);
      const auto sent = through({.reorder_ppm = ppm, .reorder_depth = depth}, 5);
      ASSERT_GE(sent.size() + depth, 2000u) << "only the last may still be held";
      std::set<std::uint32_t> seen;
      std::size_t moved = 0;
      for (std::size_t i = 0; i < sent.size(); ++i) {
        const std::uint32_t n = number_of(sent[i]);
        ASSERT_TRUE(seen.insert(n).second);
        ASSERT_EQ(sent[i], frame_number(n));
        ASSERT_LE(std::abs(static_cast<int>(n) - static_cast<int>(i)), static_cast<int>(2 * depth));
        moved += n != i ? 1 : 0;
      }
      if (ppm < 1'000'000 || depth > 1) {
        EXPECT_GT(moved, 50u);
      }
    }
  }
}

TEST(FaultPort, WhatAFullPortDoesNotTakeIsLostAndCounted) {
  Recorder inner(64);
  FaultPort port(inner, {.drop_ppm = 1}, 1);
  inner.room = 10;
  send_numbered(port, 25);
  EXPECT_EQ(inner.sent.size(), 10u);
  EXPECT_EQ(port.dropped(), 15u);
  EXPECT_EQ(inner.in_use(), 0u);
}

TEST(FaultPort, WithoutABufferThereIsNoTwin) {
  Recorder inner(4);
  FaultPort port(inner, {.duplicate_ppm = 1'000'000}, 1);
  send_numbered(port, 4, 4);  // all four are in use: the first has no twin, each later one gets its place
  EXPECT_GE(inner.sent.size(), 4u);
  EXPECT_LT(inner.sent.size(), 8u);
  EXPECT_EQ(inner.in_use(), 0u);
}

TEST(FaultPort, LeavesTheReceivingSideAlone) {
  Recorder inner(4);
  FaultPort port(inner, {.drop_ppm = 1'000'000}, 1);
  std::array<RxFrame, 8> frames;
  EXPECT_EQ(port.rx_burst(frames), 3u);
  port.rx_release(std::span(frames).first(3));
  EXPECT_EQ(inner.released, 3u);
  EXPECT_EQ(port.max_frame_bytes(), 256u);
}

}  // namespace
}  // namespace uroce::engine::test
