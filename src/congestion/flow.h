// SPDX-License-Identifier: BSD-3-Clause
// Congestion control of one queue pair: its sending side (reaction point: a controller and a pacer) and its receiving
// side (notification point: when marks are reported).
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "congestion/controller.h"
#include "congestion/pacer.h"

namespace uroce::congestion {

class Flow {
 public:
  Flow() = default;
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  // `profile` outlives the flow.
  void start(const Profile& profile, base::Instant now) noexcept {
    profile_ = &profile;
    pacer_ = {};
    next_cnp_ = base::Instant{INT64_MIN};
    cnp_owed_ = false;
    controller_ = profile.algorithm == nullptr
                      ? nullptr
                      : &profile.algorithm->start(state_, profile.values, profile.line_bps, now);
  }
  [[nodiscard]] bool controlled() const noexcept { return controller_ != nullptr; }

  // --- reaction point: the caller has asked controlled() -------------------------------------------------------
  void on_cnp(base::Instant now) noexcept { controller_->on_cnp(now); }
  [[nodiscard]] std::uint64_t rate_bps(base::Instant now) noexcept { return controller_->rate_bps(now); }
  // False: not before next_send().
  [[nodiscard]] bool may_send(base::Instant now) noexcept {
    if (pacer_.may_send(now) || controller_->rate_bps(now) >= profile_->line_bps) return true;
    pacer_.wait();
    return false;
  }
  [[nodiscard]] base::Instant next_send() const noexcept { return pacer_.next(); }
  void sent(std::size_t frame_bytes, base::Instant now) noexcept {
    const std::uint32_t bytes = static_cast<std::uint32_t>(frame_bytes) + kFramingBytes;
    controller_->on_sent(bytes, now);
    pacer_.sent(bytes, controller_->rate_bps(now), now);
  }
  // There is nothing more to send for now. The caller need not have asked.
  void rest() noexcept {
    if (controller_ != nullptr) pacer_.rest();
  }

  // --- notification point ----------------------------------------------------------------------------------------
  // A frame came in marked. True: a CNP is owed now that was not before.
  bool on_marked(base::Instant now) noexcept {
    if (cnp_owed_ || now < next_cnp_) return false;
    next_cnp_ = now + profile_->cnp_gap;
    return cnp_owed_ = true;
  }
  [[nodiscard]] bool cnp_owed() const noexcept { return cnp_owed_; }
  void cnp_sent() noexcept { cnp_owed_ = false; }

 private:
  const Profile* profile_ = nullptr;
  Controller* controller_ = nullptr;
  Pacer pacer_;
  base::Instant next_cnp_{INT64_MIN};
  bool cnp_owed_ = false;
  alignas(8) std::byte state_[kStateBytes]{};
};

}  // namespace uroce::congestion
