// SPDX-License-Identifier: BSD-3-Clause
#include "base/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace uroce::base {
namespace {

// Every length around the change of method, at every alignment of either side; nothing beside the target is touched.
TEST(Copy, LongRunsAtEveryAlignment) {
  std::vector<std::uint8_t> from(6000), to(6000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i * 131 + (i >> 8));
  for (std::size_t n : {1000u, 1022u, 1023u, 1024u, 1025u, 1039u, 1087u, 1088u, 4095u, 4096u, 5000u}) {
    for (std::size_t at = 0; at < 17; ++at) {
      for (std::size_t source = 0; source < 17; source += 4) {
        std::fill(to.begin(), to.end(), std::uint8_t{0x5a});
        copy(to.data() + 64 + at, from.data() + source, n);
        ASSERT_TRUE(std::equal(from.data() + source, from.data() + source + n, to.data() + 64 + at)) << n << ' ' << at;
        ASSERT_EQ(to[63 + at], 0x5a);
        ASSERT_EQ(to[64 + at + n], 0x5a);
      }
    }
  }
}

}  // namespace
}  // namespace uroce::base
