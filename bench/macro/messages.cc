// SPDX-License-Identifier: BSD-3-Clause
#include "messages.h"

#include <span>

#include "samples.h"

namespace uroce::bench {

Messages::Messages(ConnectedPair& pair, const MessageKind& kind)
    : pair_(pair), kind_(kind), sends_(kind.depth), recvs_(kind.depth), send_sges_(kind.slots()), recv_sges_(kind.slots()) {
  for (std::uint32_t i = 0; i < kind.slots(); ++i) {
    send_sges_[i] = pair.a.region->sge(std::uint64_t{i} * kind.stride(), kind.size);
    recv_sges_[i] = pair.b.region->sge(std::uint64_t{i} * kind.stride(), kind.size);
  }
  for (auto& s : sends_) {
    s.opcode = kind.opcode;
    s.flags = SendFlag::signaled;
    s.rkey = pair.b.region->key();
  }
}

bool Messages::round() {
  const bool receives = kind_.opcode == WrOpcode::send;
  for (std::uint32_t i = 0; i < kind_.depth; ++i, slot_ = slot_ + 1 == send_sges_.size() ? 0 : slot_ + 1) {
    sends_[i].sges = {&send_sges_[slot_], 1};
    sends_[i].remote_address = recv_sges_[slot_].address;
    recvs_[i].sges = {&recv_sges_[slot_], 1};
  }
  if (receives && pair_.b.qp->post_recv(recvs_) != PostError::none) return false;
  if (pair_.a.qp->post_send(sends_) != PostError::none) return false;
  std::uint32_t sent = 0, received = receives ? 0 : kind_.depth;
  for (std::uint32_t turns = 0; turns < 10'000'000 && !bad_; ++turns) {
    pair_.a.device->progress();
    sent += count(*pair_.a.send_cq);
    if (sent == kind_.depth && received == kind_.depth) return true;
    pair_.b.device->progress();
    if (receives) received += count(*pair_.b.recv_cq);
  }
  return false;
}

double Messages::run(std::uint64_t messages, bool& ok) {
  const auto start = SteadyClock::now();
  std::uint64_t done = 0;
  for (; done < messages && ok; done += kind_.depth) ok = round();
  return ns_since(start) / static_cast<double>(done);
}

std::uint32_t Messages::count(Cq& cq) {
  const std::size_t n = cq.poll(polled_);
  for (const Completion& c : std::span(polled_).first(n)) bad_ |= c.status != WcStatus::success;
  return static_cast<std::uint32_t>(n);
}

}  // namespace uroce::bench
