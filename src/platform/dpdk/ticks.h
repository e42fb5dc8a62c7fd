// SPDX-License-Identifier: BSD-3-Clause
// The time stamp counter, raw. It runs at a constant rate, which is not the core's clock of the moment.
#pragma once
#include <rte_cycles.h>

#include <cstdint>

namespace uroce::platform {

// What comes before it in the program has been done, stores included.
inline std::uint64_t ticks_after_all() noexcept { return rte_rdtsc_precise(); }

inline double ticks_a_second() noexcept { return static_cast<double>(rte_get_tsc_hz()); }

}  // namespace uroce::platform
