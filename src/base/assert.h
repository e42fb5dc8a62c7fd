// SPDX-License-Identifier: BSD-3-Clause
// A failed assert is a bug of ours, never bad input. UROCE_ASSERT is for the control path and always on; UROCE_DASSERT
// is for per-packet code and on in debug, simulation and fuzz builds (UROCE_CHECKED).
#pragma once

namespace uroce::base {
[[noreturn]] void assert_failed(const char* expression, const char* file, int line) noexcept;
}  // namespace uroce::base

#define UROCE_ASSERT(x) (__builtin_expect(!!(x), 1) ? (void)0 : ::uroce::base::assert_failed(#x, __FILE__, __LINE__))

#if defined(UROCE_CHECKED)
#define UROCE_DASSERT(x) UROCE_ASSERT(x)
#else
#define UROCE_DASSERT(x) ((void)0)
#endif
