// SPDX-License-Identifier: BSD-3-Clause
#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace uroce::base {
void assert_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "uroce: %s:%d: assertion failed: %s\n", file, line, expression);
  std::abort();
}
}  // namespace uroce::base
