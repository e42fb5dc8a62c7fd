// SPDX-License-Identifier: BSD-3-Clause
// Messages from one end of a connected pair to the other, both ends worked by the calling thread.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "connected_pair.h"

namespace uroce::bench {

struct MessageKind {
  WrOpcode opcode = WrOpcode::send;  // send or rdma_write
  std::uint32_t size = 64;           // bytes
  std::uint32_t depth = 1;           // posted as one list, 1 to 64

  // Buffers, used in turn: each again only after its message has completed.
  [[nodiscard]] std::uint32_t slots() const { return std::max(16u, depth); }
  [[nodiscard]] std::uint32_t stride() const { return (size + 63) / 64 * 64; }
};

class Messages {
 public:
  // The pair outlives this; its regions hold slots() * stride() bytes, its queues `depth` requests.
  Messages(ConnectedPair& pair, const MessageKind& kind);

  // Posts `depth` messages and works until both ends have completed them all. False when one failed or got lost.
  bool round();

  // As many rounds as make `messages`. Returns ns a message; false in `ok` as above.
  double run(std::uint64_t messages, bool& ok);

 private:
  std::uint32_t count(Cq& cq);

  ConnectedPair& pair_;
  MessageKind kind_;
  std::vector<SendWr> sends_;
  std::vector<RecvWr> recvs_;
  std::vector<Sge> send_sges_, recv_sges_;
  std::array<Completion, 64> polled_;
  std::uint32_t slot_ = 0;
  bool bad_ = false;
};

}  // namespace uroce::bench
