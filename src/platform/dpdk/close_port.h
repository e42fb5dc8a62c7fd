// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

namespace uroce::platform {

// Stops and closes a port, in a way that its driver survives.
void close_port(std::uint16_t port);

}  // namespace uroce::platform
