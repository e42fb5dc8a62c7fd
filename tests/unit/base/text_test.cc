// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

namespace uroce::base::test {
namespace {

const std::uint64_t kNumbers[] = {0,
                                  1,
                                  9,
                                  10,
                                  15,
                                  16,
                                  99,
                                  100,
                                  255,
                                  256,
                                  4095,
                                  0xabcdef,
                                  999999999,
                                  1000000000,
                                  0x7fffffff,
                                  0x80000000,
                                  0xffffffff,
                                  0x100000000,
                                  0x8000000000000000,
                                  9999999999999999999u,
                                  10000000000000000000u,
                                  0xfedcba9876543210,
                                  0xffffffffffffffff};

template <class F>
std::string written(F&& f) {
  std::array<char, 128> room;
  TextWriter w{room};
  f(w);
  return std::string(w.view());
}

std::string by_printf(const char* format, std::uint64_t v) {
  char b[64];
  std::snprintf(b, sizeof(b), format, v);
  return b;
}

TEST(TextWriter, DecimalIsWhatPrintfWrites) {
  for (std::uint64_t v : kNumbers) {
    EXPECT_EQ(written([&](TextWriter& w) { w.dec(v); }), by_printf("%" PRIu64, v));
  }
}

TEST(TextWriter, HexIsWhatPrintfWrites) {
  for (std::uint64_t v : kNumbers) {
    EXPECT_EQ(written([&](TextWriter& w) { w.hex(v); }), by_printf("%" PRIx64, v));
    EXPECT_EQ(written([&](TextWriter& w) { w.hex(v, 2); }), by_printf("%02" PRIx64, v));
    EXPECT_EQ(written([&](TextWriter& w) { w.hex(v, 6); }), by_printf("%06" PRIx64, v));
    EXPECT_EQ(written([&](TextWriter& w) { w.hex(v, 16); }), by_printf("%016" PRIx64, v));
  }
}

TEST(TextWriter, PartsFollowEachOther) {
  EXPECT_EQ(written([](TextWriter& w) { w.put("qp ").dec(17).put_char(':').put(" psn 0x").hex(0xab, 6).put(""); }),
            "qp 17: psn 0x0000ab");
  EXPECT_EQ(written([](TextWriter&) {}), "");
}

TEST(TextWriter, WhatDoesNotFitIsCutAndNeverOverruns) {
  const std::string whole = "abc1234567890deadbeefxyz";
  for (std::size_t room = 0; room <= whole.size() + 2; ++room) {
    std::vector<char> buffer(room + 8, '#');
    TextWriter w{std::span(buffer).first(room)};
    w.put("abc").dec(1234567890).hex(0xdeadbeef).put("xy").put_char('z');
    EXPECT_EQ(w.view(), whole.substr(0, room));
    for (std::size_t i = std::min(room, whole.size()); i < buffer.size(); ++i) ASSERT_EQ(buffer[i], '#') << i;
  }
}

TEST(TextWriter, WritesIntoTheCallersRoom) {
  std::array<char, 4> room{};
  TextWriter w{room};
  EXPECT_EQ(w.put("hello").view().data(), room.data());
}

}  // namespace
}  // namespace uroce::base::test
