// SPDX-License-Identifier: BSD-3-Clause
// Every kernel against ISA-L and against the CRC's definition. Kernels that this CPU lacks are skipped, and say so.
#include "wire/crc.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "oracle.h"

#if defined(__SANITIZE_THREAD__)
#define UROCE_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UROCE_TEST_TSAN 1
#endif
#endif

namespace uroce::wire::test {
namespace {

constexpr std::uint8_t kGuard = 0x5a;

Buffer random_bytes(std::size_t n, std::uint64_t seed) {
  base::Rng rng(seed);
  Buffer b(n);
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

// ISA-L's, which the portable kernel is.
std::uint32_t isal_crc(std::uint32_t crc, const void* p, std::size_t n) { return kCrcPortable.crc(p, n, crc); }

bool all_are(std::uint8_t value, const std::uint8_t* begin, const std::uint8_t* end) {
  return std::all_of(begin, end, [value](std::uint8_t b) { return b == value; });
}

// Writable pages between two that may not be touched.
class Fenced {
 public:
  static constexpr std::size_t kPage = 4096, kSize = 2 * kPage;
  Fenced() : map_(mmap(nullptr, kSize + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (map_ == MAP_FAILED || mprotect(begin(), kSize, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  ~Fenced() { munmap(map_, kSize + 2 * kPage); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  std::uint8_t* begin() const { return static_cast<std::uint8_t*>(map_) + kPage; }
  std::uint8_t* end() const { return begin() + kSize; }
  // `length` bytes that touch the fence in front or behind.
  std::uint8_t* at_edge(bool behind, std::size_t length) const { return behind ? end() - length : begin(); }

 private:
  void* map_;
};

class CrcKernels : public testing::TestWithParam<CrcKernel> {
 protected:
  void SetUp() override {
    if (!available(GetParam())) GTEST_SKIP() << "this CPU has no " << name(GetParam());
  }

  // Copies to `to`, which has `guard` writable bytes on both sides, and checks everything. False at the first fault.
  bool right(std::uint8_t* to, std::size_t guard, const std::uint8_t* from, std::size_t length, std::uint32_t crc,
             std::uint32_t expected) {
    std::memset(to - guard, kGuard, length + 2 * guard);
    const std::uint32_t got = crc_ops(GetParam()).copy_crc(to, from, length, crc);
    EXPECT_EQ(got, expected) << length;
    const bool copied = std::equal(to, to + length, from);
    EXPECT_TRUE(copied) << length;
    const bool kept = all_are(kGuard, to - guard, to) && all_are(kGuard, to + length, to + length + guard);
    EXPECT_TRUE(kept) << length;
    const std::uint32_t alone = crc_ops(GetParam()).crc(from, length, crc);
    EXPECT_EQ(alone, expected) << length;
    return got == expected && copied && kept && alone == expected;
  }
};

TEST_P(CrcKernels, KnownAnswer) {
  std::uint8_t to[9];
  EXPECT_EQ(crc_ops(GetParam()).copy_crc(to, "123456789", 9, 0), 0xcbf43926u);
  EXPECT_EQ(std::memcmp(to, "123456789", 9), 0);
  EXPECT_EQ(crc_ops(GetParam()).copy_crc(nullptr, nullptr, 0, 0x12345678), 0x12345678u);
}

TEST_P(CrcKernels, EveryLengthTo1100) {
  const Buffer from = random_bytes(1100, 1);
  Buffer to(1100 + 256);
  for (std::size_t n = 0; n <= 1100; ++n) {
    for (std::uint32_t crc : {0u, 0xffffffffu, 0x2144df1cu, 0x80000001u}) {
      const std::uint32_t expected = crc_by_bits(crc, from.data(), n);
      ASSERT_EQ(isal_crc(crc, from.data(), n), expected);
      ASSERT_TRUE(right(to.data() + 128, 128, from.data(), n, crc, expected));
    }
  }
}

// Each bit of the source has its own effect, which a sum over random bytes could hide.
TEST_P(CrcKernels, EverySingleBit) {
  for (std::size_t n : {1u, 2u, 3u, 4u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 33u, 63u, 64u, 65u, 127u, 129u, 257u, 600u}) {
    Buffer from(n), to(n + 2);
    for (std::size_t bit = 0; bit < 8 * n; ++bit) {
      from[bit / 8] = static_cast<std::uint8_t>(1u << bit % 8);
      ASSERT_TRUE(right(to.data() + 1, 1, from.data(), n, 0, crc_by_bits(0, from.data(), n)));
      from[bit / 8] = 0;
    }
  }
}

TEST_P(CrcKernels, RandomLongRuns) {
  base::Rng rng(2);
  const Buffer from = random_bytes(1 << 18, 3);
  Buffer to(from.size() + 200);
  for (int i = 0; i < 300; ++i) {
    const std::size_t limit = i % 10 == 0 ? from.size() : 10'000;
    const std::size_t n = rng.below(static_cast<std::uint32_t>(limit - 600));
    const std::size_t shift = rng.below(600);
    const auto crc = static_cast<std::uint32_t>(rng.next());
    const std::uint32_t expected = isal_crc(crc, from.data() + shift, n);
    if (i < 20) {
      ASSERT_EQ(expected, crc_by_bits(crc, from.data() + shift, n));
    }
    ASSERT_TRUE(right(to.data() + 100, 100, from.data() + shift, n, crc, expected));
  }
}

TEST_P(CrcKernels, EveryAlignment) {
  const Buffer from = random_bytes(1200, 4);
  Buffer room(1200 + 256);
  std::uint8_t* to = room.data() + 64 + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;
  const std::size_t base = (64 - reinterpret_cast<std::uintptr_t>(from.data()) % 64) % 64;
  for (std::size_t n : {1u, 6u, 15u, 16u, 30u, 47u, 63u, 64u, 65u, 100u, 128u, 255u, 300u, 513u, 1024u}) {
    for (std::size_t source = 0; source < 64; ++source) {
      const std::uint8_t* f = from.data() + base + source;
      const std::uint32_t expected = isal_crc(7, f, n);
      for (std::size_t target = 0; target < 64; ++target) {
        ASSERT_TRUE(right(to + target, 64, f, n, 7, expected)) << source << ' ' << target;
      }
    }
  }
}

TEST_P(CrcKernels, ASplitAnywhereGivesTheSame) {
  const Buffer from = random_bytes(777, 5);
  const std::uint32_t expected = crc_by_bits(99, from.data(), from.size());
  for (std::size_t cut = 0; cut <= from.size(); ++cut) {
    Buffer to(from.size());
    std::uint32_t crc = crc_ops(GetParam()).copy_crc(to.data(), from.data(), cut, 99);
    crc = crc_ops(GetParam()).copy_crc(to.data() + cut, from.data() + cut, from.size() - cut, crc);
    ASSERT_EQ(crc, expected) << cut;
    ASSERT_EQ(to, from) << cut;
  }
  for (std::size_t step = 1; step <= 40; ++step) {
    Buffer to(from.size());
    std::uint32_t crc = 99;
    for (std::size_t at = 0; at < from.size(); at += step) {
      const std::size_t n = std::min(step, from.size() - at);
      crc = crc_ops(GetParam()).copy_crc(to.data() + at, from.data() + at, n, crc);
    }
    ASSERT_EQ(crc, expected) << step;
    ASSERT_EQ(to, from) << step;
  }
}

TEST_P(CrcKernels, NothingOutsideTheRangesIsTouched) {
  const Fenced source, target;
  const Buffer bytes = random_bytes(Fenced::kSize, 6);
  std::copy(bytes.begin(), bytes.end(), source.begin());
  for (std::size_t n = 0; n <= 4200; n += n < 700 ? 1 : 37) {
    for (unsigned edges = 0; edges < 4; ++edges) {
      const std::uint8_t* from = source.at_edge((edges & 1) != 0, n);
      std::uint8_t* to = target.at_edge((edges & 2) != 0, n);
      std::memset(target.begin(), kGuard, Fenced::kSize);
      const std::uint32_t crc = crc_ops(GetParam()).copy_crc(to, from, n, 5);
      ASSERT_EQ(crc, isal_crc(5, from, n)) << n;
      ASSERT_TRUE(std::equal(to, to + n, from)) << n;
      ASSERT_TRUE(all_are(kGuard, target.begin(), to) && all_are(kGuard, to + n, target.end())) << n;
    }
    ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), source.begin())) << n;
  }
}

// An application may write to a buffer that is being sent. The frame may then hold anything, but never a wrong CRC.
class Scribbled {
 public:
  explicit Scribbled(std::size_t size) : source_(random_bytes(size, 7)), scribbler_([this] { scribble(); }) {}
  ~Scribbled() {
    stop_ = true;
    scribbler_.join();
  }
  Scribbled(const Scribbled&) = delete;
  Scribbled& operator=(const Scribbled&) = delete;

  struct Score {
    std::uint64_t wrong = 0;      // CRCs that are not that of the copy
    std::uint64_t meanwhile = 0;  // copies during which the source certainly changed
  };
  Score run(CrcKernel kernel) {
    base::Rng rng(9);
    Score score;
    Buffer to(source_.size());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (int round = 0; round < 20'000 || score.meanwhile < 4000; ++round) {
      if (round % 64 == 63 && std::chrono::steady_clock::now() > end) break;
      const std::size_t n = rng.below(static_cast<std::uint32_t>(source_.size() + 1));
      const std::size_t shift = rng.below(static_cast<std::uint32_t>(source_.size() - n + 1));
      const std::uint64_t before = writes_.load(std::memory_order_relaxed);
      const std::uint32_t crc = crc_ops(kernel).copy_crc(to.data(), source_.data() + shift, n, 1);
      score.meanwhile += writes_.load(std::memory_order_relaxed) != before;
      score.wrong += crc != isal_crc(1, to.data(), n);
    }
    return score;
  }

 private:
  void scribble() {
    base::Rng rng(8);
    while (!stop_.load(std::memory_order_relaxed)) {
      const std::uint64_t value = rng.next();
      for (std::size_t at = value % 8; at < source_.size(); at += 1 + value / 8 % 8) {
        std::atomic_ref<std::uint8_t>(source_[at]).store(static_cast<std::uint8_t>(value >> 32 ^ at),
                                                         std::memory_order_relaxed);
        if (at % 64 < 4) writes_.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }

  Buffer source_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> writes_{0};
  std::thread scribbler_;
};

TEST_P(CrcKernels, TheCrcIsThatOfTheCopyWhileTheSourceChanges) {
#if defined(UROCE_TEST_TSAN)
  GTEST_SKIP() << "races on purpose";
#endif
  for (std::size_t size : {15u, 160u, 1200u, 8200u}) {  // each path of a kernel often
    const Scribbled::Score score = Scribbled(size).run(GetParam());
    EXPECT_EQ(score.wrong, 0u) << size;
    EXPECT_GT(score.meanwhile, 0u) << size << ": the source never changed, nothing was tested";
  }
}

// Ones in what routers may change, whatever stands there; no byte before or behind the datagram is read.
TEST_P(CrcKernels, IcrcOfEveryLength) {
  const Fenced room;
  const CrcOps& ops = crc_ops(GetParam());
  for (bool v6 : {false, true}) {
    const std::size_t least = v6 ? 60 : 40;
    for (std::size_t n = least; n < least + 700; ++n) {
      for (bool behind : {false, true}) {
        std::uint8_t* ip = room.at_edge(behind, n);
        const Buffer bytes = random_bytes(n, n);
        std::copy(bytes.begin(), bytes.end(), ip);
        ip[0] = v6 ? 0x60 | (ip[0] & 15) : 0x45;
        const std::uint32_t got = v6 ? ops.icrc_v6(ip, n) : ops.icrc_v4(ip, n);
        ASSERT_EQ(got, icrc_by_rule({ip, n})) << (v6 ? "IPv6, " : "IPv4, ") << n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CrcKernels, testing::ValuesIn(kCrcKernels),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(CrcChoice, TheLastOneAvailable) {
  EXPECT_TRUE(available(CrcKernel::portable));
  const CrcKernel chosen = crc_kernel();
  std::set<std::string_view> names;
  for (CrcKernel kernel : kCrcKernels) {
    names.insert(name(kernel));
    if (kernel > chosen) {
      EXPECT_FALSE(available(kernel)) << name(kernel);
    }
  }
  EXPECT_TRUE(available(chosen));
  EXPECT_EQ(names.size(), kCrcKernels.size());
  testing::Test::RecordProperty("kernel", std::string(name(chosen)));
}

// From a constructor that runs before main, and possibly before this library's own.
const std::uint32_t kBeforeMain = [] {
  std::uint8_t to[100];
  const std::uint8_t from[100] = {1, 2, 3};
  return copy_crc(to, from, sizeof to, 0);
}();

TEST(CrcChoice, WorksBeforeMainAndOnManyThreads) {
  const std::uint8_t early[100] = {1, 2, 3};
  EXPECT_EQ(kBeforeMain, crc_by_bits(0, early, sizeof early));
  const Buffer from = random_bytes(3000, 10);
  const std::uint32_t expected = crc_by_bits(3, from.data(), from.size());
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Buffer to(from.size());
      right += copy_crc(to.data(), from.data(), from.size(), 3) == expected && to == from;
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(right, 4);
}

}  // namespace
}  // namespace uroce::wire::test
