// SPDX-License-Identifier: BSD-3-Clause
// Where the engine's time comes from. Read once a turn.
#pragma once
#include "base/time.h"

namespace uroce::engine {

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual base::Instant now() const noexcept = 0;
};

}  // namespace uroce::engine
