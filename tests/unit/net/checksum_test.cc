// SPDX-License-Identifier: BSD-3-Clause
#include "net/checksum.h"

#include "base/rng.h"
#include "frames.h"

namespace uroce::net::test {
namespace {

TEST(Checksum, TheExampleOfRfc1071) {  // section 3: the sum is ddf2
  EXPECT_EQ(fold(word_sum(hex("00 01 f2 03 f4 f5 f6 f7"))), 0xddf2);
}

TEST(Checksum, AnOddLastByteIsTheHighHalfOfItsWord) {  // RFC 1071 section 1: (A,B) + ... + (Z,0)
  EXPECT_EQ(fold(word_sum(hex("12"))), 0x1200);
  EXPECT_EQ(fold(word_sum(hex("00 01 12"))), 0x1201);
  EXPECT_EQ(fold(word_sum({})), 0);
}

TEST(Checksum, CarriesComeBackAround) {
  EXPECT_EQ(fold(word_sum(hex("ff ff ff ff"))), 0xffff);
  EXPECT_EQ(fold(word_sum(hex("ff ff 00 01"))), 0x0001);
  EXPECT_EQ(fold(0xffff'ffff'ffffull), 0xffff);
  EXPECT_EQ(fold(0x1'0001'fffeull), 0x0001);
}

TEST(Checksum, AgreesWithArithmeticModulo65535) {
  base::Rng rng(1);
  for (int round = 0; round < 2000; ++round) {
    Frame b(rng.below(300));
    for (auto& byte : b) byte = static_cast<std::uint8_t>(rng.next());
    ASSERT_EQ(static_cast<std::uint16_t>(~fold(word_sum(b))), internet_checksum(b)) << show(b);
  }
}

TEST(Checksum, ThePseudoHeaderOfRfc8200) {
  wire::Ipv6 ip{};
  ip.source = v6("20010db8000000000000000000000001").bytes;
  ip.destination = v6("ff0200000000000000000001ff00abcd").bytes;
  // 2001 + 0db8 + 0001 + ff02 + 0001 + ff00 + abcd, the length 0020 and the protocol 003a
  EXPECT_EQ(pseudo_header_sum(ip, 32, 58), 0x2001u + 0x0db8 + 1 + 0xff02 + 1 + 0xff00 + 0xabcd + 32 + 58);
}

}  // namespace
}  // namespace uroce::net::test
