// SPDX-License-Identifier: BSD-3-Clause
// Numbers and names of the verbs (rdma-core, libibverbs/verbs.h), which completions and events carry.
#include <gtest/gtest.h>

#include <uroce/types.h>

#include <set>
#include <string>

namespace uroce::transport::test {
namespace {

TEST(Names, CompletionStatus) {
  const std::pair<int, const char*> verbs[] = {{0, "SUCCESS"},
                                               {1, "LOC_LEN_ERR"},
                                               {2, "LOC_QP_OP_ERR"},
                                               {4, "LOC_PROT_ERR"},
                                               {5, "WR_FLUSH_ERR"},
                                               {6, "MW_BIND_ERR"},
                                               {7, "BAD_RESP_ERR"},
                                               {8, "LOC_ACCESS_ERR"},
                                               {9, "REM_INV_REQ_ERR"},
                                               {10, "REM_ACCESS_ERR"},
                                               {11, "REM_OP_ERR"},
                                               {12, "RETRY_EXC_ERR"},
                                               {13, "RNR_RETRY_EXC_ERR"},
                                               {19, "FATAL_ERR"},
                                               {20, "RESP_TIMEOUT_ERR"},
                                               {21, "GENERAL_ERR"}};
  for (const auto& [number, name] : verbs) EXPECT_STREQ(to_string(static_cast<WcStatus>(number)), name);
  EXPECT_STREQ(to_string(static_cast<WcStatus>(22)), "unknown");
  EXPECT_STREQ(to_string(static_cast<WcStatus>(255)), "unknown");
}

TEST(Names, QpStates) {
  const char* verbs[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  for (int i = 0; i < 7; ++i) EXPECT_STREQ(to_string(static_cast<QpState>(i)), verbs[i]);
  EXPECT_STREQ(to_string(static_cast<QpState>(7)), "unknown");
}

TEST(Names, AsyncEvents) {
  const std::pair<int, const char*> verbs[] = {
      {0, "CQ_ERR"},     {1, "QP_FATAL"},   {2, "QP_REQ_ERR"},         {3, "QP_ACCESS_ERR"},
      {4, "COMM_EST"},   {5, "SQ_DRAINED"}, {8, "DEVICE_FATAL"},       {9, "PORT_ACTIVE"},
      {10, "PORT_ERR"},  {14, "SRQ_ERR"},   {15, "SRQ_LIMIT_REACHED"}, {16, "QP_LAST_WQE_REACHED"},
      {18, "GID_CHANGE"}};
  for (const auto& [number, name] : verbs) EXPECT_STREQ(to_string(static_cast<AsyncEventType>(number)), name);
  EXPECT_STREQ(to_string(static_cast<AsyncEventType>(19)), "unknown");
}

TEST(Names, NoTwoAreAlike) {
  std::set<std::string> seen;
  for (int i = 0; i < 22; ++i) seen.insert(to_string(static_cast<WcStatus>(i)));
  EXPECT_EQ(seen.size(), 22u);
}

TEST(Names, PathMtuCodes) {
  EXPECT_EQ(mtu_bytes(static_cast<PathMtu>(1)), 256u);
  EXPECT_EQ(mtu_bytes(static_cast<PathMtu>(2)), 512u);
  EXPECT_EQ(mtu_bytes(static_cast<PathMtu>(3)), 1024u);
  EXPECT_EQ(mtu_bytes(static_cast<PathMtu>(4)), 2048u);
  EXPECT_EQ(mtu_bytes(static_cast<PathMtu>(5)), 4096u);
}

}  // namespace
}  // namespace uroce::transport::test
