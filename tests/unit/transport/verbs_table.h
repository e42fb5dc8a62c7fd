// SPDX-License-Identifier: BSD-3-Clause
// The moves of a reliable connection's queue pair, typed from the verbs' modify table (IBTA 11.2.5.2) in the verbs' own
// words. STATE itself is always in the mask and not listed.
#pragma once
#include <uroce/types.h>

#include <sstream>
#include <string>

namespace uroce::transport::test {

inline constexpr QpState kStates[] = {QpState::reset, QpState::init, QpState::rtr, QpState::rts,
                                      QpState::sqd,   QpState::sqe,  QpState::err};

struct VerbsRow {
  const char* from;
  const char* to;
  const char* required;
  const char* optional;
};

inline constexpr const char* kVerbsToRts = "CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE MIN_RNR_TIMER";

inline constexpr VerbsRow kVerbsTable[] = {
    {"RESET", "INIT", "PKEY_INDEX PORT ACCESS_FLAGS", ""},
    {"INIT", "INIT", "", "PKEY_INDEX PORT ACCESS_FLAGS"},
    {"INIT", "RTR", "AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER", "ALT_PATH ACCESS_FLAGS PKEY_INDEX"},
    {"RTR", "RTS", "TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC", kVerbsToRts},
    {"RTS", "RTS", "", kVerbsToRts},
    {"RTS", "SQD", "", "EN_SQD_ASYNC_NOTIFY"},
    {"SQD", "RTS", "", kVerbsToRts},
    {"SQD", "SQD", "",
     "PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC MAX_DEST_RD_ATOMIC ALT_PATH ACCESS_FLAGS PKEY_INDEX "
     "MIN_RNR_TIMER PATH_MIG_STATE"},
    {"INIT", "ERR", "", ""},
    {"RTR", "ERR", "", ""},
    {"RTS", "ERR", "", ""},
    {"SQD", "ERR", "", ""},
    {"SQE", "ERR", "", ""},
    {"ERR", "ERR", "", ""},
    {"RESET", "RESET", "", ""},
    {"INIT", "RESET", "", ""},
    {"RTR", "RESET", "", ""},
    {"RTS", "RESET", "", ""},
    {"SQD", "RESET", "", ""},
    {"SQE", "RESET", "", ""},
    {"ERR", "RESET", "", ""},
};

// Bit numbers as in the verbs; the second name is the one that error messages use.
struct VerbsBit {
  unsigned bit;
  const char* name;
  const char* ours;
};
inline constexpr VerbsBit kVerbsBits[] = {{0, "STATE", "state"},
                                          {1, "CUR_STATE", "cur_state"},
                                          {2, "EN_SQD_ASYNC_NOTIFY", "en_sqd_async_notify"},
                                          {3, "ACCESS_FLAGS", "access_flags"},
                                          {4, "PKEY_INDEX", "pkey_index"},
                                          {5, "PORT", "port"},
                                          {6, "QKEY", "qkey"},
                                          {7, "AV", "av"},
                                          {8, "PATH_MTU", "path_mtu"},
                                          {9, "TIMEOUT", "timeout"},
                                          {10, "RETRY_CNT", "retry_cnt"},
                                          {11, "RNR_RETRY", "rnr_retry"},
                                          {12, "RQ_PSN", "rq_psn"},
                                          {13, "MAX_QP_RD_ATOMIC", "max_rd_atomic"},
                                          {14, "ALT_PATH", "alt_path"},
                                          {15, "MIN_RNR_TIMER", "min_rnr_timer"},
                                          {16, "SQ_PSN", "sq_psn"},
                                          {17, "MAX_DEST_RD_ATOMIC", "max_dest_rd_atomic"},
                                          {18, "PATH_MIG_STATE", "path_mig_state"},
                                          {19, "CAP", "cap"},
                                          {20, "DEST_QPN", "dest_qpn"}};

inline QpAttrMask mask_of(const std::string& words) {
  QpAttrMask mask;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    for (const VerbsBit& b : kVerbsBits) {
      if (word == b.name) mask |= static_cast<QpAttrBit>(b.bit);
    }
  }
  return mask;
}

inline const VerbsRow* verbs_row(QpState from, QpState to) {
  static constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  for (const VerbsRow& r : kVerbsTable) {
    if (std::string(r.from) == kNames[static_cast<unsigned>(from)] &&
        std::string(r.to) == kNames[static_cast<unsigned>(to)]) {
      return &r;
    }
  }
  return nullptr;
}

}  // namespace uroce::transport::test
