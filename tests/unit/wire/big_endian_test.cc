// SPDX-License-Identifier: BSD-3-Clause
#include "wire/big_endian.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace uroce::wire::test {
namespace {

template <class T>
std::vector<std::uint8_t> bytes_of(const T& field) {
  std::vector<std::uint8_t> b(sizeof(T));
  std::memcpy(b.data(), &field, sizeof(T));
  return b;
}

TEST(BigEndian, TheMostSignificantByteComesFirst) {
  EXPECT_EQ(bytes_of(be16(0x0102)), (std::vector<std::uint8_t>{1, 2}));
  EXPECT_EQ(bytes_of(be24(0x010203)), (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_EQ(bytes_of(be32(0x01020304)), (std::vector<std::uint8_t>{1, 2, 3, 4}));
  EXPECT_EQ(bytes_of(be64(0x0102030405060708)), (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(BigEndian, ReadsWhatLiesAtAnyAddress) {
  const std::uint8_t wire[12] = {0xee, 0x91, 0xa2, 0xb3, 0xc4, 0xd5, 0xe6, 0xf7, 0x08, 0xee, 0xee, 0xee};
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::uint8_t moved[16] = {};
    std::memcpy(moved + shift, wire + 1, 8);
    EXPECT_EQ(reinterpret_cast<const be16*>(moved + shift)->get(), 0x91a2u);
    EXPECT_EQ(reinterpret_cast<const be24*>(moved + shift)->get(), 0x91a2b3u);
    EXPECT_EQ(reinterpret_cast<const be32*>(moved + shift)->get(), 0x91a2b3c4u);
    EXPECT_EQ(reinterpret_cast<const be64*>(moved + shift)->get(), 0x91a2b3c4d5e6f708u);
  }
}

TEST(BigEndian, ANarrowFieldDropsHigherBits) {
  be24 v(0xffffffff);
  EXPECT_EQ(v.get(), 0xffffffu);
  v.set(0x12345678);
  EXPECT_EQ(v.get(), 0x345678u);
}

TEST(BigEndian, SetTouchesNoNeighbour) {
  std::uint8_t wire[5] = {0xaa, 0, 0, 0, 0xbb};
  reinterpret_cast<be24*>(wire + 1)->set(0x010203);
  EXPECT_EQ(std::vector<std::uint8_t>(wire, wire + 5), (std::vector<std::uint8_t>{0xaa, 1, 2, 3, 0xbb}));
}

TEST(BigEndian, EveryBitGoesThereAndBack) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t v = std::uint64_t{1} << bit;
    EXPECT_EQ(be64(v).get(), v);
    EXPECT_EQ(bytes_of(be64(v))[7 - bit / 8], 1u << bit % 8);
    EXPECT_EQ(be32(static_cast<std::uint32_t>(v)).get(), static_cast<std::uint32_t>(v));
    EXPECT_EQ(be24(static_cast<std::uint32_t>(v)).get(), static_cast<std::uint32_t>(v) & 0xffffffu);
    EXPECT_EQ(be16(static_cast<std::uint16_t>(v)).get(), static_cast<std::uint16_t>(v));
  }
}

TEST(BigEndian, ComparesByValue) {
  EXPECT_EQ(be32(7), be32(7));
  EXPECT_NE(be32(7), be32(0x07000000));
}

TEST(BigEndian, TheCompilerCanEvaluateIt) {
  static_assert(be24(0xabcdef).get() == 0xabcdef);
  static_assert(Header<be64> && alignof(be64) == 1 && sizeof(be24) == 3);
  static_assert(!std::is_convertible_v<be32, std::uint32_t> && !std::is_convertible_v<std::uint32_t, be32>);
}

}  // namespace
}  // namespace uroce::wire::test
