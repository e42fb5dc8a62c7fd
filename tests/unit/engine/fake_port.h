// SPDX-License-Identifier: BSD-3-Clause
// A port with few buffers that takes as many frames as a test lets it, and keeps a copy of each.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "engine/port.h"
#include "wire/build.h"
#include "wire/frame.h"

namespace uroce::engine::test {

class FakePort final : public Port {
 public:
  static constexpr std::size_t kFrameBytes = 256 + wire::kMaxFrameOverhead;

  explicit FakePort(std::size_t buffers) : buffers_(buffers, std::vector<std::uint8_t>(kFrameBytes)) {
    for (auto& b : buffers_) free_.insert(b.data());
  }
  std::size_t rx_burst(std::span<RxFrame>) override { return 0; }
  void rx_release(std::span<const RxFrame>) override {}
  std::size_t tx_alloc(std::span<TxFrame> frames) override {
    std::size_t n = 0;
    for (; n < frames.size() && n < alloc_at_once && !free_.empty(); ++n) {
      frames[n] = {*free_.begin(), 0, *free_.begin()};
      free_.erase(free_.begin());
    }
    return n;
  }
  std::size_t tx_burst(std::span<TxFrame> frames) override {
    const std::size_t n = std::min(frames.size(), take_at_once);
    for (const TxFrame& f : frames.first(n)) {
      EXPECT_GE(f.length, 60u);
      sent.emplace_back(f.data, f.data + f.length);
      give_back(f);
    }
    return n;
  }
  void tx_free(std::span<const TxFrame> frames) override {
    for (const TxFrame& f : frames) give_back(f);
  }
  std::size_t max_frame_bytes() const override { return kFrameBytes; }

  [[nodiscard]] std::size_t free_buffers() const { return free_.size(); }
  [[nodiscard]] wire::RocePacket packet(std::size_t i) const {
    wire::Drop why{};
    const auto p = wire::parse_frame(sent[i], why);
    EXPECT_TRUE(p) << wire::drop_name(why);
    return *p;
  }

  std::size_t take_at_once = SIZE_MAX, alloc_at_once = SIZE_MAX;
  std::vector<std::vector<std::uint8_t>> sent;

 private:
  void give_back(const TxFrame& f) {
    EXPECT_EQ(f.data, f.owner) << "not the buffer it was given with";
    EXPECT_TRUE(free_.insert(static_cast<std::uint8_t*>(f.owner)).second) << "given back twice";
  }
  std::vector<std::vector<std::uint8_t>> buffers_;
  std::set<std::uint8_t*> free_;
};

}  // namespace uroce::engine::test
