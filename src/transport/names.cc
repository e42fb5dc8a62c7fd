// SPDX-License-Identifier: BSD-3-Clause
#include <iterator>

#include <uroce/types.h>

namespace uroce {
namespace {
template <class E, std::size_t N>
const char* name(const char* const (&names)[N], E e) noexcept {
  const auto i = static_cast<std::size_t>(e);
  return i < N ? names[i] : "unknown";
}
}  // namespace

const char* to_string(PostError e) noexcept {
  static constexpr const char* kNames[] = {"none", "the queue is full", "too many scatter/gather entries",
                                           "the message is too long", "the inline data is too long",
                                           "the opcode does not allow it", "the queue pair's state does not allow it"};
  return name(kNames, e);
}

const char* to_string(WcStatus s) noexcept {
  static constexpr const char* kNames[] = {
      "SUCCESS", "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_EEC_OP_ERR", "LOC_PROT_ERR", "WR_FLUSH_ERR", "MW_BIND_ERR",
      "BAD_RESP_ERR", "LOC_ACCESS_ERR", "REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR", "RETRY_EXC_ERR",
      "RNR_RETRY_EXC_ERR", "LOC_RDD_VIOL_ERR", "REM_INV_RD_REQ_ERR", "REM_ABORT_ERR", "INV_EECN_ERR",
      "INV_EEC_STATE_ERR", "FATAL_ERR", "RESP_TIMEOUT_ERR", "GENERAL_ERR"};
  return name(kNames, s);
}

const char* to_string(QpState s) noexcept {
  static constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return name(kNames, s);
}

const char* to_string(AsyncEventType t) noexcept {
  static constexpr const char* kNames[] = {
      "CQ_ERR", "QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR", "COMM_EST", "SQ_DRAINED", "PATH_MIG", "PATH_MIG_ERR",
      "DEVICE_FATAL", "PORT_ACTIVE", "PORT_ERR", "LID_CHANGE", "PKEY_CHANGE", "SM_CHANGE", "SRQ_ERR",
      "SRQ_LIMIT_REACHED", "QP_LAST_WQE_REACHED", "CLIENT_REREGISTER", "GID_CHANGE"};
  return name(kNames, t);
}

}  // namespace uroce
