// SPDX-License-Identifier: BSD-3-Clause
// AETH syndromes, RNR timers, credits and the ack timeout against the IBTA tables 44 to 46, typed out here.
#include "wire/syndrome.h"

#include <gtest/gtest.h>

namespace uroce::wire::test {
namespace {

using base::Duration;

constexpr std::int64_t kRnrMicros[32] = {
    655360, 10,   20,   30,   40,    60,    80,    120,   160,   240,   320,   480,    640,    960,    1280,   1920,
    2560,   3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

TEST(Syndrome, EveryRnrCodeHasItsDelay) {
  for (std::uint8_t code = 0; code < 32; ++code) {
    EXPECT_EQ(rnr_delay(code).ns, kRnrMicros[code] * 1000) << "code " << int{code};
  }
}

TEST(Syndrome, EveryDelayHasItsRnrCode) {
  for (std::uint8_t code = 0; code < 32; ++code) {
    EXPECT_EQ(rnr_code(Duration::micros(kRnrMicros[code])), code);
  }
}

TEST(Syndrome, ADelayBetweenTwoCodesTakesTheLonger) {
  for (std::uint8_t code = 1; code < 31; ++code) {
    EXPECT_EQ(rnr_code(Duration::nanos(kRnrMicros[code] * 1000 + 1)), code + 1);
    EXPECT_EQ(rnr_code(Duration::nanos(kRnrMicros[code + 1] * 1000 - 1)), code + 1);
  }
  EXPECT_EQ(rnr_code(Duration::nanos(491520001)), 0);  // beyond code 31 only code 0 is long enough
  EXPECT_EQ(rnr_code(Duration::nanos(655360000)), 0);
  EXPECT_EQ(rnr_code(Duration::seconds(60)), 0);
  EXPECT_EQ(rnr_code(Duration::nanos(0)), 1);  // code 0 is no zero
}

TEST(Syndrome, RnrSyndromeHoldsTheTimerCode) {
  for (std::uint8_t code = 0; code < 32; ++code) {
    const std::uint8_t syndrome = rnr_syndrome(code);
    EXPECT_EQ(syndrome, 0x20 + code);
    EXPECT_EQ(ack_kind(syndrome), AckKind::rnr_nak);
    EXPECT_EQ(ack_value(syndrome), code);
  }
}

TEST(Syndrome, TheKindIsBitsSixAndFive) {
  for (unsigned s = 0; s < 256; ++s) {
    const auto syndrome = static_cast<std::uint8_t>(s);
    const unsigned low = s & 0x7f;
    const AckKind expected = low < 0x20   ? AckKind::ack
                             : low < 0x40 ? AckKind::rnr_nak
                             : low < 0x60 ? AckKind::reserved
                                          : AckKind::nak;
    EXPECT_EQ(ack_kind(syndrome), expected) << s;
    EXPECT_EQ(ack_value(syndrome), s % 32);
  }
}

TEST(Syndrome, NakCodesAreTheStandardsOwn) {
  EXPECT_EQ(static_cast<int>(Nak::psn_sequence), 0x60);
  EXPECT_EQ(static_cast<int>(Nak::invalid_request), 0x61);
  EXPECT_EQ(static_cast<int>(Nak::remote_access), 0x62);
  EXPECT_EQ(static_cast<int>(Nak::remote_operational), 0x63);
  EXPECT_EQ(static_cast<int>(Nak::invalid_rd_request), 0x64);
}

constexpr std::uint32_t kCreditsOfCode[31] = {0,    1,    2,    3,    4,    6,     8,     12,    16,   24,   32,
                                              48,   64,   96,   128,  192,  256,   384,   512,   768,  1024, 1536,
                                              2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

TEST(Syndrome, EveryCreditCodeHasItsCount) {
  ASSERT_EQ(kCredits.size(), 31u);
  for (std::size_t code = 0; code < 31; ++code) EXPECT_EQ(kCredits[code], kCreditsOfCode[code]) << code;
  EXPECT_EQ(kNoCredits, 31);
}

TEST(Syndrome, CreditsRoundDown) {
  for (std::uint32_t credits = 0; credits <= 40000; ++credits) {
    const std::uint8_t code = credit_code(credits);
    ASSERT_LT(code, 31) << credits;
    EXPECT_LE(kCreditsOfCode[code], credits);
    if (code < 30) {
      EXPECT_GT(kCreditsOfCode[code + 1], credits);
    }
  }
  EXPECT_EQ(credit_code(0xffffffff), 30);
}

TEST(Syndrome, AckTimeoutDoublesFromCodeToCode) {
  EXPECT_EQ(ack_timeout(1).ns, 8192);
  EXPECT_EQ(ack_timeout(4).ns, 65536);
  EXPECT_EQ(ack_timeout(8).ns, 1048576);
  EXPECT_EQ(ack_timeout(10).ns, 4194304);
  EXPECT_EQ(ack_timeout(14).ns, 67108864);
  EXPECT_EQ(ack_timeout(18).ns, 1073741824);
  EXPECT_EQ(ack_timeout(31).ns, 8796093022208);
  for (std::uint8_t code = 2; code < 32; ++code)
    EXPECT_EQ(ack_timeout(code).ns, 2 * ack_timeout(static_cast<std::uint8_t>(code - 1)).ns);
}

TEST(Syndrome, AckTimeoutZeroIsNoTimer) {
  EXPECT_EQ(ack_timeout(0).ns, INT64_MAX);
}

}  // namespace
}  // namespace uroce::wire::test
