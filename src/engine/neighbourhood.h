// SPDX-License-Identifier: BSD-3-Clause
// Keeps the MAC addresses of a worker's connections right: serves the interface's ARP, NDP and echo, and tells queue
// pairs when their next hop becomes known, moves or is lost. Addresses resolve lazily: a queue pair whose path is not
// ready keeps what it owes.
#pragma once
#include "engine/port.h"
#include "engine/qp_table.h"
#include "net/interface.h"
#include "transport/context.h"

namespace uroce::engine {

class Neighbourhood {
 public:
  Neighbourhood(net::Interface& interface, Port& port, const QpTable& qps) noexcept
      : interface_(interface), port_(port), qps_(qps) {}

  // A frame that is not RoCE.
  void on_frame(std::span<const std::uint8_t> frame, base::Instant now) {
    interface_.on_frame(frame, now);
    attention_ = true;
  }
  // Cheap when nothing happened: looks at the interface after frames, after connect(), and every kTurns turns.
  int turn(transport::Context& c) { return !attention_ && ++turns_ < kTurns ? 0 : look(c); }
  // The queue pair has a new destination, or is going.
  void connect(transport::Qp& qp);
  void forget(transport::Qp& qp);
  [[nodiscard]] base::Instant next_deadline() const noexcept { return interface_.next_deadline(); }

 private:
  int look(transport::Context& c);
  static constexpr unsigned kTurns = 64;
  void resolve(transport::Qp& qp);
  int send(base::Instant now);
  net::Interface& interface_;
  Port& port_;
  const QpTable& qps_;
  unsigned turns_ = 0;
  bool attention_ = true;
};

}  // namespace uroce::engine
