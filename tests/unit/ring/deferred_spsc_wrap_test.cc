// SPDX-License-Identifier: BSD-3-Clause
// The ring's counters are 32 bits and wrap. Four thousand million pushes take too long for a unit test, so the counters
// are moved to just before the wrap: an explicit instantiation may name private members.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "ring/deferred_spsc.h"

namespace uroce::ring::test {
namespace {

using Ring = DeferredSpsc<std::uint32_t>;

template <auto Written, auto SeenHead, auto Tail, auto Head, auto SeenTail>
struct Mover {
  friend void move_counters(Ring& ring, std::uint32_t to) {
    ring.*Written = ring.*SeenHead = ring.*SeenTail = to;
    (ring.*Tail).store(to);
    (ring.*Head).store(to);
  }
};
void move_counters(Ring& ring, std::uint32_t to);
template struct Mover<&Ring::written_, &Ring::seen_head_, &Ring::tail_, &Ring::head_, &Ring::seen_tail_>;

TEST(DeferredSpscWrap, CountersPassTheirWrapFullAndEmpty) {
  for (std::uint32_t limit : {1u, 5u, 8u}) {
    for (std::uint32_t before = 0; before <= 10; ++before) {
      SCOPED_TRACE(testing::Message() << "limit " << limit << ", " << before << " before the wrap");
      std::array<std::uint32_t, 8> slots{};
      Ring ring;
      ring.init(slots.data(), 8, limit);
      move_counters(ring, 0u - before);
      std::uint32_t v = 0;
      EXPECT_FALSE(ring.pop(v));
      for (std::uint32_t round = 0; round < 8; ++round) {
        for (std::uint32_t i = 0; i < limit; ++i) ASSERT_TRUE(ring.push(round * 100 + i));
        EXPECT_FALSE(ring.push(9999));
        EXPECT_FALSE(ring.pop(v));
        EXPECT_TRUE(ring.has_unpublished());
        ring.publish();
        EXPECT_EQ(ring.size(), limit);
        for (std::uint32_t i = 0; i < limit; ++i) {
          ASSERT_TRUE(ring.pop(v));
          EXPECT_EQ(v, round * 100 + i);
        }
        EXPECT_FALSE(ring.pop(v));
        EXPECT_EQ(ring.size(), 0u);
      }
    }
  }
}

}  // namespace
}  // namespace uroce::ring::test
