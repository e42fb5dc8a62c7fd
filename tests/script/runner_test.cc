// SPDX-License-Identifier: BSD-3-Clause
// The script runner itself: what is wrong with a script is said with file, line, word and what is allowed, and a script
// that does not hold fails.
#include <gtest/gtest.h>

#include "runner.h"

namespace uroce::script {
namespace {

// What is said about the script; empty when it holds.
std::string verdict(std::string_view text) {
  try {
    Runner::run_text(text, "t.script");
  } catch (const ScriptError& e) {
    return e.what();
  }
  return {};
}

void expect_verdict(std::string_view text, std::initializer_list<std::string_view> parts) {
  const std::string said = verdict(text);
  ASSERT_FALSE(said.empty()) << text;
  for (std::string_view p : parts) EXPECT_NE(said.find(p), std::string::npos) << "no '" << p << "' in: " << said;
}

constexpr std::string_view kGood = R"(
setup mtu=256 sq_psn=5
+0 post send len=300 wr=1
+0 > RC_SEND_FIRST psn=5 len=256 ack=0 pattern=l
+0 > RC_SEND_LAST psn=6 len=44 ack pattern=l+256
+5us < RC_ACK psn=6 msn=1
+0 complete send wr=1 SUCCESS opcode=send len=300
)";

std::string with(std::string_view from, std::string_view to) {
  std::string text(kGood);
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(Runner, GoodScriptHolds) {
  EXPECT_EQ(verdict(kGood), "");
}

TEST(Runner, SaysWhatItDoesNotUnderstand) {
  expect_verdict(with("mtu=256", "mut=256"), {"t.script:2", "'mut=256'", "mtu"});
  expect_verdict(with("+0 post", "0 post"), {"t.script:3", "'0'", "+TIME"});
  expect_verdict(with("post send", "pots send"), {"t.script:3", "'pots'", "post"});
  expect_verdict(with("post send", "post sned"), {"t.script:3", "'sned'", "fetch_add"});
  expect_verdict(with("RC_SEND_FIRST", "RC_SEND_FRIST"), {"t.script:4", "'RC_SEND_FRIST'", "RC_SEND_FIRST"});
  expect_verdict(with("pattern=l", "pattern=L"), {"t.script:4", "'L'", "letter"});
  expect_verdict(with("+5us", "+5parsec"), {"t.script:6", "'+5parsec'", "ms"});
  expect_verdict(with("msn=1", "msn=x"), {"t.script:6", "'x'", "decimal"});
  expect_verdict(with("msn=1", "msn=1 va=3 vb=3"), {"t.script:6", "'vb=3'", "syndrome"});
  expect_verdict(with("SUCCESS", "SUCCES"), {"t.script:7", "'SUCCES'", "WR_FLUSH_ERR"});
  expect_verdict(with("len=44", "len=44 va=0"), {"t.script:5", "'va'"});
  expect_verdict(with("psn=6 msn", "msn"), {"t.script:6", "'psn='"});
  expect_verdict("repeat 3\n+0 state RTS\n", {"t.script:1", "no end"});
  expect_verdict("+0 state RTX\n", {"'RTX'", "RTS"});
  expect_verdict("+0 event QP_ACESS_ERR\n", {"'QP_ACESS_ERR'"});
  expect_verdict("+0 counter duplicates 1\n", {"'duplicates'", "duplicate_requests"});
  expect_verdict("+0 drop icrc 1\n", {"'icrc'", "bad_icrc"});
}

TEST(Runner, AssertingNothingIsAnError) {
  expect_verdict("+0 post recv wr=1\n", {"asserts nothing"});
  expect_verdict("# nothing\n", {"asserts nothing"});
}

TEST(Runner, SeesEachDifferenceOfASentPacket) {
  expect_verdict(with("psn=5 len", "psn=4 len"), {"t.script:4", "psn is 5"});
  expect_verdict(with("len=256 ack", "len=255 ack"), {"len is 256"});
  expect_verdict(with("ack=0", "ack=1"), {"ack is 0"});
  expect_verdict(with("pattern=l+256", "pattern=l+255"), {"t.script:5", "payload byte 0"});
  expect_verdict(with("RC_SEND_LAST", "RC_WRITE_LAST"), {"t.script:5", "another packet"});
}

TEST(Runner, SeesWhatIsTooEarlyTooLateAndTooMuch) {
  expect_verdict(with("+0 > RC_SEND_FIRST", "+1us > RC_SEND_FIRST"), {"t.script:4", "sent 0.0 us after"});
  expect_verdict(with("+5us < RC_ACK psn=6 msn=1", "+5us > RC_SEND_ONLY psn=6"),
                 {"t.script:6", "nothing was sent within 5.0 us"});
  expect_verdict(with("+0 > RC_SEND_LAST psn=6 len=44 ack pattern=l+256", ""), {"a frame that no line expects"});
  expect_verdict(with("+0 complete send wr=1 SUCCESS opcode=send len=300", ""), {"a completion that no line expects"});
  expect_verdict(with("+0 complete", "+0 > nothing\n+0 < RC_SEND_ONLY psn=9\n+0 > nothing\n+0 complete"),
                 {"t.script:9", "RC_ACK"});
  // A retransmission that no line expects is found by the line after it.
  expect_verdict(with("+5us < RC_ACK", "+100ms < RC_ACK"), {"a frame that no line expects"});
}

TEST(Runner, SeesDifferencesOfCompletionsMemoryAndState) {
  expect_verdict(with("wr=1 SUCCESS", "wr=2 SUCCESS"), {"t.script:7", "wr is not"});
  expect_verdict(with("SUCCESS", "WR_FLUSH_ERR|RETRY_EXC_ERR"), {"the status is not"});
  expect_verdict(with("opcode=send len=300", "opcode=send len=299"), {"t.script:7", "len is not"});
  expect_verdict("+0 memory local+0 len=4 zero\n", {"byte 0 is"});
  expect_verdict("+0 memory target u64=1\n", {"there is 0"});
  expect_verdict("+0 memory target-8 u64=0\n", {"outside"});
  expect_verdict("+0 state ERR\n", {"RTS"});
  expect_verdict("+0 counter tx_packets 1\n", {"tx_packets is 0"});
  expect_verdict("+0 drop bad_icrc 1\n", {"bad_icrc is 0"});
  expect_verdict("+0 event COMM_EST\n", {"no event"});
  expect_verdict("setup state=RTR\n+0 post recv wr=1\n+0 < RC_SEND_ONLY psn=0\n+0 complete none\n",
                 {"t.script:4", "there was a completion"});
  expect_verdict("+0 modify state=INIT\n+0 state RTS\n", {"refused"});
  expect_verdict("+0 modify state=SQD fails\n+0 state SQD\n", {"allowed"});
}

TEST(Runner, RepeatsAndCounts) {
  EXPECT_EQ(verdict("repeat 3\n+0 < RC_WRITE_ONLY psn=$ len=4 va=target+4*$ ack\n+0 > RC_ACK psn=$ msn=$+1\nend\n"
                    "+0 memory target len=4 pattern=a\n+0 memory target+8 len=4 pattern=a\n"),
            "");
  expect_verdict("repeat 3\n+0 < RC_WRITE_ONLY psn=$ len=4 ack\n+0 > RC_ACK psn=$ msn=$\nend\n",
                 {"t.script:3", "msn is 1"});
}

// Frames that a '<<' line leaves behind arrive together with the next one.
TEST(Runner, OneBurst) {
  EXPECT_EQ(
      verdict("+0 << RC_WRITE_ONLY psn=0 ack\n+0 < RC_WRITE_ONLY psn=1 ack\n+0 > RC_ACK psn=1 msn=2\n+0 > nothing\n"),
      "");
  expect_verdict("+0 < RC_WRITE_ONLY psn=0 ack\n+0 < RC_WRITE_ONLY psn=1 ack\n+0 > RC_ACK psn=1 msn=2\n", {"psn is 0"});
}

}  // namespace
}  // namespace uroce::script
