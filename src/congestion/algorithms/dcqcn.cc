// SPDX-License-Identifier: BSD-3-Clause
// DCQCN's reaction point ("Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 5). Integers only:
// rates in kb/s, alpha and g as fractions of 2^24.
//
//   CNP        target = current; current *= 1 - alpha/2; alpha = (1-g) alpha + g; stages and both increase clocks start anew
//   alpha_at_  a period without CNP: alpha = (1-g) alpha
//   rate_at_   time stage + 1, and byte_reset bytes: byte stage + 1; each then raises the rate:
//              both stages before the threshold: current halfway to target; both past it: target += i * hai; else += ai
//
// `rp_ns3_model` follows the published ns-3 model of HPCC's authors instead, whose results others compare with: alpha and
// cuts are looked at periodically from the first CNP on (the first cut a period after it), the time stage alone counts, and
// the stage equal to the threshold adds ai, above it hai.
#include <algorithm>
#include <new>
#include <type_traits>

#include "congestion/controller.h"

namespace uroce::congestion {
namespace {

enum Parameter : std::uint8_t {
  kClampTarget, kClampTargetAfterTime, kTimeReset, kByteReset, kThreshold, kAiRate, kHaiRate, kMinRate, kFirstRate, kG,
  kAlphaPeriod, kReducePeriod, kInitialAlpha, kNs3Model, kInitialRate, kParameterCount
};

// The kernel's names (drivers/infiniband/hw/mlx5/cong.c), but for the last two.
constexpr ParameterInfo kParameters[] = {
    {"rp_clamp_tgt_rate", "1: each cut sets the target to the current rate", 0, 1},
    {"rp_clamp_tgt_rate_ati", "1: a cut does so when the time stage has counted since the last", 0, 1},
    {"rp_time_reset", "us between increases by time", 1, 1'000'000},
    {"rp_byte_reset", "bytes between increases by bytes; 0: none", 0, 1'000'000'000},
    {"rp_threshold", "stages of fast recovery", 1, 31},
    {"rp_ai_rate", "Mb/s an additive increase", 1, 400'000},
    {"rp_hai_rate", "Mb/s a hyper increase", 1, 400'000},
    {"rp_min_rate", "Mb/s, below which no cut goes", 1, 400'000},
    {"rp_rate_to_set_on_first_cnp", "Mb/s; 0: the current rate", 0, 400'000},
    {"rp_dce_tcp_g", "1024 (1 - g): what of alpha is kept", 1, 1023},
    {"rp_dce_tcp_rtt", "us between updates of alpha", 1, 1'000'000},
    {"rp_rate_reduce_monitor_period", "us between cuts at least; 0: each CNP cuts", 0, 1'000'000},
    {"rp_initial_alpha_value", "alpha on the first CNP, of 1024", 1, 1024},
    {"rp_ns3_model", "1: the rules of HPCC's ns-3 model", 0, 1},
    {"rp_initial_rate", "Mb/s of a new flow; 0: the line's", 0, 400'000},
};
static_assert(std::size(kParameters) == kParameterCount && kParameterCount <= kMaxParameters);

constexpr ParameterSet kSets[] = {
    {"paper", "SIGCOMM 2015; hyper increase and minimum rate are not in it and come from its later models",
     {1, 0, 55, 10'000'000, 5, 40, 400, 10, 0, 1020, 55, 0, 1024, 0, 0}, 50},
    {"nvidia", "ConnectX firmware defaults (NVIDIA's DCQCN parameters page)",
     {0, 1, 300, 32'767, 1, 5, 50, 1, 0, 1019, 1, 4, 1023, 0, 0}, 4},
    {"hpcc", "the values of HPCC's simulations (SIGCOMM 2019) for 100 Gb/s, by the paper's rules",
     {0, 1, 300, 0, 1, 20, 200, 1000, 0, 1020, 1, 4, 1024, 0, 0}, 4},
    {"ns3-hpcc", "HPCC's ns-3 model for 100 Gb/s, minimum rate 100 Mb/s",
     {0, 1, 300, 0, 1, 20, 200, 100, 0, 1020, 1, 4, 1024, 1, 0}, 0},
    {"ns3-paper", "the same model with the paper's timers for 40 Gb/s, minimum rate 100 Mb/s",
     {0, 1, 55, 0, 5, 40, 400, 100, 0, 1020, 55, 50, 1024, 1, 0}, 0},
};

constexpr unsigned kAlphaBits = 24;
constexpr std::uint32_t kOne = 1u << kAlphaBits;

class Dcqcn final : public Controller {
 public:
  Dcqcn(const Values& values, std::uint64_t line_bps, base::Instant now) noexcept
      : values_(&values), line_(static_cast<std::uint32_t>(line_bps / 1000)), target_(line_), current_(line_) {
    if (value(kInitialRate) == 0) return;
    target_ = current_ = std::min(line_, value(kInitialRate) * 1000);
    begin(now);
    rate_at_ = now + period(kTimeReset);
  }

  void on_cnp(base::Instant now) noexcept override {
    advance(now);
    if (!active()) {
      begin(now);
      if (value(kFirstRate) != 0) target_ = current_ = std::min(line_, value(kFirstRate) * 1000);
    }
    cnp_for_alpha_ = cnp_for_cut_ = true;
    if (ns3() && cut_at_ <= now) cut_at_ = after(now, cut_at_, period(kReducePeriod));
    if (cut_at_ > now) return;  // cut when the period is over
    cut(now);
    alpha_ += static_cast<std::uint32_t>(std::uint64_t{kOne - alpha_} * g() >> 10);
    alpha_at_ = now + period(kAlphaPeriod);
    cnp_for_alpha_ = false;
  }

  void on_sent(std::uint32_t bytes, base::Instant now) noexcept override {
    advance(now);
    const std::uint32_t reset = value(kByteReset);
    if (!active() || reset == 0) return;
    for (bytes_ += bytes; bytes_ >= reset; bytes_ -= reset) {
      count(byte_stage_);
      increase();
    }
  }

  std::uint64_t rate_bps(base::Instant now) noexcept override {
    advance(now);
    return std::uint64_t{current_} * 1000;
  }

 private:
  [[nodiscard]] std::uint32_t value(Parameter p) const noexcept { return (*values_)[p]; }
  [[nodiscard]] base::Duration period(Parameter p) const noexcept { return base::Duration::micros(value(p)); }
  [[nodiscard]] bool ns3() const noexcept { return value(kNs3Model) != 0; }
  [[nodiscard]] std::uint32_t g() const noexcept { return 1024 - value(kG); }  // of 1024
  [[nodiscard]] bool active() const noexcept { return alpha_at_ != base::kNever; }
  static void count(std::uint8_t& stage) noexcept { stage = stage == 255 ? stage : static_cast<std::uint8_t>(stage + 1); }

  void begin(base::Instant now) noexcept {
    alpha_ = value(kInitialAlpha) << (kAlphaBits - 10);
    alpha_at_ = now + period(kAlphaPeriod);
    cut_at_ = ns3() ? now + period(kReducePeriod) : now;
  }

  // Makes up for the clocks that have struck since the last call, in their order; at one time alpha before cut before rise.
  // What would change nothing is skipped, so that a long silence costs a bounded number of steps.
  void advance(base::Instant now) noexcept {
    while (active()) {
      const base::Instant t = std::min({alpha_at_, cut_at_waiting(), rate_at_});
      if (t > now) return;
      if (t == alpha_at_) {
        update_alpha(now);
      } else if (t == cut_at_waiting()) {
        cut(t);
      } else {
        rate_at_ = current_ == line_ ? after(now, rate_at_, period(kTimeReset)) : rate_at_ + period(kTimeReset);
        if (!ns3()) count(time_stage_);
        increase();
        if (ns3()) count(time_stage_);
      }
    }
  }
  [[nodiscard]] base::Instant cut_at_waiting() const noexcept { return cnp_for_cut_ ? cut_at_ : base::kNever; }

  void update_alpha(base::Instant now) noexcept {
    const std::uint32_t lost = static_cast<std::uint32_t>(std::uint64_t{alpha_} * g() >> 10);
    if (cnp_for_alpha_) {
      alpha_ = alpha_ - lost + (kOne >> 10) * g();
      cnp_for_alpha_ = false;
    } else {
      alpha_ = lost == 0 ? 0 : alpha_ - lost;
    }
    alpha_at_ = alpha_ == 0 ? after(now, alpha_at_, period(kAlphaPeriod)) : alpha_at_ + period(kAlphaPeriod);
  }

  void cut(base::Instant t) noexcept {
    if (value(kClampTarget) != 0 || (value(kClampTargetAfterTime) != 0 && time_stage_ != 0)) target_ = current_;
    current_ -= static_cast<std::uint32_t>(std::uint64_t{current_} * alpha_ >> (kAlphaBits + 1));
    current_ = std::max(current_, std::min(line_, value(kMinRate) * 1000));
    time_stage_ = byte_stage_ = 0;
    bytes_ = 0;
    rate_at_ = t + period(kTimeReset);
    cut_at_ = t + period(kReducePeriod);
    cnp_for_cut_ = false;
  }

  void increase() noexcept {
    const std::uint32_t threshold = value(kThreshold);
    const bool by_bytes = value(kByteReset) != 0 && !ns3();
    const std::uint32_t low = by_bytes ? std::min(time_stage_, byte_stage_) : time_stage_;
    const std::uint32_t high = by_bytes ? std::max(time_stage_, byte_stage_) : time_stage_;
    if (low > threshold) {
      raise_target(std::uint64_t{value(kHaiRate)} * (ns3() ? 1 : low - threshold));
    } else if (high >= threshold) {
      raise_target(value(kAiRate));
    }
    current_ = static_cast<std::uint32_t>((std::uint64_t{current_} + target_ + 1) / 2);
  }
  void raise_target(std::uint64_t mbps) noexcept {
    target_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(line_, target_ + mbps * 1000));
  }

  // The first beat of `from`, `from` + `every`, ... that lies after `now`.
  static base::Instant after(base::Instant now, base::Instant from, base::Duration every) noexcept {
    return every.ns == 0 ? now : from + every * ((now - from).ns / every.ns + 1);
  }

  const Values* values_;
  std::uint32_t line_, target_, current_;  // kb/s
  std::uint32_t alpha_ = 0;
  base::Instant alpha_at_ = base::kNever;  // never: no CNP yet
  base::Instant cut_at_{};
  base::Instant rate_at_ = base::kNever;
  std::uint32_t bytes_ = 0;
  std::uint8_t time_stage_ = 0, byte_stage_ = 0;
  bool cnp_for_alpha_ = false, cnp_for_cut_ = false;
};
static_assert(sizeof(Dcqcn) <= kStateBytes && std::is_trivially_destructible_v<Dcqcn>);

Controller& start(void* room, const Values& values, std::uint64_t line_bps, base::Instant now) {
  return *new (room) Dcqcn(values, line_bps, now);
}

}  // namespace

extern const Algorithm dcqcn;
const Algorithm dcqcn{"dcqcn", "the paper's: rate cuts by CNP, recovery by time and bytes", kParameters, kSets, start};

}  // namespace uroce::congestion
