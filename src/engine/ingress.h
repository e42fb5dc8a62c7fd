// SPDX-License-Identifier: BSD-3-Clause
// Received frames to queue pairs.
#pragma once
#include <array>
#include <cstdint>

#include "engine/neighbourhood.h"
#include "engine/port.h"
#include "engine/qp_table.h"
#include "transport/context.h"
#include "wire/drop.h"

namespace uroce::engine {

class Ingress {
 public:
  static constexpr std::size_t kBurst = 64;

  Ingress(Port& port, const QpTable& qps) noexcept : port_(port), qps_(qps) {}
  // Frames that are not RoCE go there; without it they are dropped.
  void set_neighbourhood(Neighbourhood* n) noexcept { neighbourhood_ = n; }
  // One receive burst. Returns how many frames there were.
  int poll(transport::Context& c);
  void frame(const RxFrame& f, transport::Context& c);

  [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
  [[nodiscard]] std::uint64_t drops(wire::Drop d) const noexcept { return drops_[static_cast<std::size_t>(d)]; }

 private:
  void drop(wire::Drop d) noexcept { ++drops_[static_cast<std::size_t>(d)]; }
  Port& port_;
  const QpTable& qps_;
  Neighbourhood* neighbourhood_ = nullptr;
  std::array<RxFrame, kBurst> burst_;
  std::uint64_t received_ = 0;
  std::array<std::uint64_t, wire::kDropCount> drops_{};
};

}  // namespace uroce::engine
