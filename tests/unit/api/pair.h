// SPDX-License-Identifier: BSD-3-Clause
// Devices of one process, as an application opens them: two joined by memif, or one that talks to itself.
#pragma once
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>
#include <uroce/uroce.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace uroce::test {

using Wall = std::chrono::steady_clock;

// A name of its own for each device, so that none meets what another left.
// An abstract socket leaves no file behind when its server is never closed, but can't be listened at twice.
inline std::string memif(const char* role, int socket, bool abstract = false) {
  static int devices = 0;
  return "net_memif" + std::to_string(devices++) + ",role=" + role +
         ",id=0,bsize=4608,socket-abstract=" + (abstract ? "yes" : "no") + ",socket=/tmp/uroce-unit-" +
         std::to_string(getpid()) + "-" + std::to_string(socket);
}
inline int next_socket() {
  static int sockets = 0;
  return sockets++;
}

// One that reaches nothing but itself: there is nobody at the other end.
inline DeviceConfig alone(Threading threading = Threading::single) {
  DeviceConfig c;
  c.port = memif("server", next_socket());
  c.addresses = {"10.0.0.1/24", "fd00::1/64"};
  c.threading = threading;
  c.idle = Idle::nap;
  return c;
}

struct Pair {
  explicit Pair(const std::string& faults = "", std::uint32_t max_frame = DeviceConfig{}.max_frame) {
    const int socket = next_socket();
    DeviceConfig c = alone();
    c.faults = faults;
    c.max_frame = max_frame;
    c.port = memif("server", socket, true);
    auto first = Device::open(c);
    c.port = memif("client", socket, true);
    c.addresses = {"10.0.0.2/24", "fd00::2/64"};
    auto second = Device::open(c);
    if (!first || !second) {
      ADD_FAILURE() << (first ? second.error() : first.error()).message;
      return;
    }
    a.emplace(std::move(*first));
    b.emplace(std::move(*second));
    EXPECT_TRUE(b->wait_for_link(10'000) && a->wait_for_link(10'000)) << "no link";
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  std::optional<Device> a, b;
};

// Never closed: a memif device of DPDK 22.11 that closes while it is connected frees on one thread what another, DPDK's
// own, still handles.
inline Pair& good_network() {
  static Pair* p = new Pair;
  return *p;
}
// With short frames, as EAL's memory is for a handful of ports.
inline Pair& bad_network() {
  static Pair* p = new Pair("drop=0.02,dup=0.02,reorder=0.03,corrupt=0.01,truncate=0.01,seed=5", 1400);
  return *p;
}

inline constexpr AccessFlags kAllAccess{Access::local_write, Access::remote_write, Access::remote_read,
                                        Access::remote_atomic};

// What an application has on one device.
struct Side {
  Side(Device& d, std::size_t bytes, const CqConfig& cq_config = {})
      : device(&d),
        pd(d.alloc_pd()),
        memory(bytes),
        cq(d.create_cq(cq_config).value()),
        region(pd.register_memory(memory.data(), bytes, kAllAccess).value()),
        qp(make_qp()) {}
  QueuePair make_qp() { return pd.create_qp({.send_cq = &cq, .recv_cq = &cq}).value(); }
  // By which of the device's addresses: 1 the first that was configured.
  [[nodiscard]] PeerInfo info(std::size_t gid = 1) const { return {device->gids()[gid], qp.qpn(), qp.first_psn()}; }

  Device* device;
  Pd pd;
  std::vector<std::uint8_t> memory;
  Cq cq;
  MemoryRegion region;
  QueuePair qp;
};

inline void expect_connects(Side& from, const PeerInfo& to, QpAttr attr = {}) {
  attr.access = kAllAccess;
  attr.path_mtu = from.device->max_path_mtu();
  const auto r = from.qp.connect(to, attr);
  EXPECT_TRUE(r) << r.error().message;
}

// Works until `done`. False when it never is.
template <class Done>
bool until(std::initializer_list<Device*> devices, Done&& done, std::chrono::seconds limit = std::chrono::seconds(20)) {
  for (const auto end = Wall::now() + limit; !done();) {
    int work = 0;
    for (Device* d : devices) work += d->progress();
    if (work == 0) sched_yield();
    if (Wall::now() > end) return false;
  }
  return true;
}

inline std::vector<Completion> collect(std::initializer_list<Device*> devices, Cq& cq, std::size_t count) {
  std::vector<Completion> all;
  std::array<Completion, 16> some;
  EXPECT_TRUE(until(devices,
                    [&] {
                      const std::size_t n = cq.poll(some);
                      all.insert(all.end(), some.begin(), some.begin() + n);
                      return all.size() >= count;
                    }))
      << all.size() << " of " << count << " completions came";
  return all;
}

inline void fill(std::vector<std::uint8_t>& bytes, std::uint32_t seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>((i * 2654435761u + seed * 40503u) >> 11);
  }
}

// The message of what must have failed, with its code and all of `parts` in it.
template <class T>
void expect_error(const Result<T>& r, ErrorCode code, const std::vector<std::string>& parts) {
  ASSERT_FALSE(r) << "was accepted";
  EXPECT_EQ(static_cast<int>(r.error().code), static_cast<int>(code)) << r.error().message;
  for (const std::string& part : parts) {
    EXPECT_NE(r.error().message.find(part), std::string::npos) << "'" << part << "' is not in: " << r.error().message;
  }
}

}  // namespace uroce::test
