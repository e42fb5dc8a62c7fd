// SPDX-License-Identifier: BSD-3-Clause
// Two DPDK ports of one process, each the other's far end: net_ring, which passes mbuf pointers. For measurements and
// tests that want a port without a device or a copy.
#pragma once
#include <array>
#include <string>

#include <uroce/result.h>

namespace uroce::bench {

class RingPorts {
 public:
  // EAL runs. `name` is unique in the process and at most 20 characters; `frames` is a power of two and the length of
  // each direction. Errors: system.
  static Result<RingPorts> make(const std::string& name, unsigned frames = 1024);
  // The ports must be closed by then.
  ~RingPorts();
  RingPorts(RingPorts&& other) noexcept;
  RingPorts& operator=(RingPorts&&) = delete;

  // By which Device::open() and find_port() know them.
  [[nodiscard]] const std::string& name(unsigned end) const noexcept { return names_[end]; }
  [[nodiscard]] std::uint16_t port(unsigned end) const noexcept { return ports_[end]; }

 private:
  RingPorts() = default;
  std::array<std::string, 2> names_;
  std::array<std::uint16_t, 2> ports_{};
  std::array<void*, 2> rings_{};
};

}  // namespace uroce::bench
