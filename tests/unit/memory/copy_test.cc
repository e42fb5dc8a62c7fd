// SPDX-License-Identifier: BSD-3-Clause
#include "memory/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "memory/pieces.h"
#include "region.h"

namespace uroce::memory::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes random_bytes(std::size_t n, std::uint64_t seed) {
  base::Rng rng(seed);
  Bytes b(n);
  for (auto& x : b) x = static_cast<std::uint8_t>(rng.next());
  return b;
}

// CRC-32 (IEEE 802.3, reflected), bit by bit as the polynomial says.
std::uint32_t crc_by_bits(std::uint32_t crc, const std::uint8_t* p, std::size_t n) {
  crc = ~crc;
  for (std::size_t i = 0; i < n; ++i) {
    crc ^= p[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  return ~crc;
}

TEST(CopyCrc, CopiesExactlyAndContinuesTheCrc) {
  ASSERT_EQ(crc_by_bits(0, reinterpret_cast<const std::uint8_t*>("123456789"), 9), 0xcbf43926u);
  const Bytes from = random_bytes(5000, 1);
  for (std::size_t n : {0u, 1u, 3u, 7u, 15u, 16u, 17u, 63u, 64u, 255u, 256u, 257u, 1023u, 1024u, 4096u, 4999u}) {
    for (std::size_t shift : {0u, 1u, 5u}) {
      if (shift + n > from.size()) continue;
      Bytes to(n + 16, 0x5a);
      const std::uint32_t crc = wire::copy_crc(to.data() + 8, from.data() + shift, n, 0x12345678);
      EXPECT_EQ(crc, crc_by_bits(0x12345678, from.data() + shift, n)) << n;
      for (std::size_t i = 0; i < 8; ++i) EXPECT_TRUE(to[i] == 0x5a && to[8 + n + i] == 0x5a) << n;
      EXPECT_TRUE(std::equal(to.begin() + 8, to.begin() + 8 + static_cast<std::ptrdiff_t>(n),
                             from.begin() + static_cast<std::ptrdiff_t>(shift)));
    }
  }
}

TEST(CopyCrc, GatherCrcIsTheCrcOfTheWholeRun) {
  Bytes memory = random_bytes(3000, 2);
  MemoryTable table(4, 1);
  const std::uint32_t key = add(table, memory.data(), memory.size(), 0x1000);
  const Sge sges[] = {{0x1000, 700, key}, {0x1000 + 2000, 1, key}, {0, 0, 0}, {0x1000 + 900, 1000, key}};
  Pieces pieces;
  ASSERT_TRUE(pieces.resolve(table, kPd, sges, 100, 1500, {}));
  Bytes run(memory.begin() + 100, memory.begin() + 700);
  run.push_back(memory[2000]);
  run.insert(run.end(), memory.begin() + 900, memory.begin() + 900 + 899);
  Bytes to(1500);
  EXPECT_EQ(pieces.gather_crc(to.data(), 77), crc_by_bits(77, run.data(), run.size()));
  EXPECT_EQ(to, run);
}

TEST(CopyVisible, CopiesExactly) {
  const Bytes from = random_bytes(9000, 3);
  for (std::size_t n : {0u, 1u, 2u, 3u, 8u, 9u, 63u, 64u, 65u, 255u, 4095u, 4096u, 4097u, 8192u}) {
    for (std::size_t shift : {0u, 1u, 7u}) {
      Bytes to(n + 16, 0x5a);
      copy_visible(to.data() + 8, from.data() + shift, n);
      for (std::size_t i = 0; i < 8; ++i) EXPECT_TRUE(to[i] == 0x5a && to[8 + n + i] == 0x5a) << n;
      EXPECT_TRUE(std::equal(to.begin() + 8, to.begin() + 8 + static_cast<std::ptrdiff_t>(n),
                             from.begin() + static_cast<std::ptrdiff_t>(shift)));
    }
  }
}

// Programs spin on the last byte of a message. A reader that has seen it change sees all the others as well.
class LastByte {
 public:
  explicit LastByte(std::size_t size) : target_(size), source_(size) {}

  // Returns how many messages the reader found incomplete.
  std::uint64_t run(int messages) {
    std::uint64_t torn = 0;
    std::thread reader([&] {
      for (int m = 1; m <= messages; ++m) {
        await(value(m));
        const std::uint8_t* bytes = target_.data();
        // From the end: the part that a wrong order would leave for last is as likely there as in front.
        for (std::size_t i = target_.size(); i-- > 0;) {
          if (bytes[i] != value(m)) {
            ++torn;
            break;
          }
        }
        taken_.store(m, std::memory_order_release);
      }
    });
    for (int m = 1; m <= messages; ++m) {
      std::fill(source_.begin(), source_.end(), value(m));
      copy_visible(target_.data(), source_.data(), source_.size());
      while (taken_.load(std::memory_order_acquire) != m) std::this_thread::yield();
    }
    reader.join();
    return torn;
  }

 private:
  static std::uint8_t value(int m) { return static_cast<std::uint8_t>(1 + m % 251); }
  void await(std::uint8_t v) {
    std::atomic_ref<std::uint8_t> last(target_.back());
    for (int spins = 0; last.load(std::memory_order_acquire) != v; ++spins) {
      if (spins % 4096 == 4095) std::this_thread::yield();
    }
  }
  Bytes target_, source_;
  std::atomic<int> taken_{0};
};

TEST(CopyVisible, WhoeverSeesTheLastByteSeesAll) {
  for (std::size_t size :
       {2u, 3u, 7u, 8u, 9u, 16u, 31u, 33u, 64u, 65u, 128u, 200u, 256u, 511u, 1024u, 1500u, 2048u, 4096u}) {
    EXPECT_EQ(LastByte(size).run(1500), 0u) << size;
  }
  for (std::size_t size : {16'384u, 65'536u, 262'144u}) EXPECT_EQ(LastByte(size).run(150), 0u) << size;
  // Long enough for the C library's non-temporal stores.
  for (std::size_t size : {4u << 20, 24u << 20}) EXPECT_EQ(LastByte(size).run(4), 0u) << size;
}

}  // namespace
}  // namespace uroce::memory::test
