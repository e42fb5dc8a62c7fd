// SPDX-License-Identifier: BSD-3-Clause
// A rate that never changes: for measurements, and for networks whose owner knows what each flow may have.
#include <algorithm>
#include <new>
#include <type_traits>

#include "congestion/controller.h"

namespace uroce::congestion {
namespace {

class FixedRate final : public Controller {
 public:
  explicit FixedRate(std::uint64_t rate_bps) noexcept : rate_bps_(rate_bps) {}
  void on_cnp(base::Instant) noexcept override {}
  void on_sent(std::uint32_t, base::Instant) noexcept override {}
  std::uint64_t rate_bps(base::Instant) noexcept override { return rate_bps_; }

 private:
  std::uint64_t rate_bps_;
};
static_assert(sizeof(FixedRate) <= kStateBytes && std::is_trivially_destructible_v<FixedRate>);

constexpr ParameterInfo kParameters[] = {{"rate", "Mb/s of each flow; 0: the line's", 0, 400'000}};
constexpr ParameterSet kSets[] = {{"line", "no limit but the line", {0}}};

Controller& start(void* room, const Values& values, std::uint64_t line_bps, base::Instant) {
  return *new (room) FixedRate(values[0] == 0 ? line_bps : std::min(line_bps, std::uint64_t{values[0]} * 1'000'000));
}

}  // namespace

extern const Algorithm fixed_rate;
const Algorithm fixed_rate{"fixed_rate", "a rate that never changes", kParameters, kSets, start};

}  // namespace uroce::congestion
