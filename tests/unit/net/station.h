// SPDX-License-Identifier: BSD-3-Clause
// An interface under test and what arrives at and leaves it.
//   us    02:11:22:33:44:55, 10.0.0.1/24, 2001:db8::1/64, and fe80::11:22ff:fe33:4455 by itself
//   peer  02:00:00:00:00:02, 10.0.0.2, 2001:db8::2
#pragma once
#include <optional>

#include "frames.h"
#include "guarded_bytes.h"
#include "net/interface.h"

namespace uroce::base {
inline void PrintTo(Instant t, std::ostream* out) {
  *out << t.ns << " ns";
}
}  // namespace uroce::base

namespace uroce::wire {
inline void PrintTo(const MacAddress& m, std::ostream* out) {
  *out << net::test::show(m.bytes);
}
inline void PrintTo(const IpAddress& a, std::ostream* out) {
  *out << net::test::show(a.bytes);
}
}  // namespace uroce::wire

namespace uroce::net::test {

using base::Duration;
using base::Instant;

inline const MacAddress kUs = mac("02 11 22 33 44 55");
inline const IpAddress kUs4 = IpAddress::v4(10, 0, 0, 1);
inline const IpAddress kUs6 = v6("2001:0db8:0000:0000:0000:0000:0000:0001");
inline const IpAddress kUsLocal = v6("fe80:0000:0000:0000:0011:22ff:fe33:4455");
inline const MacAddress kPeer = mac("02 00 00 00 00 02");
inline const IpAddress kPeer4 = IpAddress::v4(10, 0, 0, 2);
inline const IpAddress kPeer6 = v6("2001:0db8:0000:0000:0000:0000:0000:0002");
inline const MacAddress kElsewhere = mac("02 00 00 00 00 99");  // where the peer moves to
inline const IpAddress kGateway4 = IpAddress::v4(10, 0, 0, 254);
inline const IpAddress kGateway6 = v6("fe80:0000:0000:0000:0000:0000:0000:00fe");

inline InterfaceConfig usual_config() {
  InterfaceConfig c;
  c.mac = kUs;
  c.addresses = {{kUs4, 24}, {kUs6, 64}};
  c.gateway_v4 = kGateway4;
  c.gateway_v6 = kGateway6;
  return c;
}

class Station {
 public:
  explicit Station(const InterfaceConfig& config = usual_config(), bool announced = true)
      : net(config, 0x5eed, Instant{0}), out_(net.max_frame_length()) {
    if (announced) drain();
  }

  // In memory that ends where the frame does.
  void receive(const Frame& f) { net.on_frame(wire::test::GuardedBytes(f).bytes(), now); }
  // ... and whether exactly this counter moved by it, by one.
  bool drops(const Frame& f, Counter why) {
    const Counters before = net.counters();
    receive(f);
    for (std::size_t i = 0; i < kCounterCount; ++i) {
      const auto c = static_cast<Counter>(i);
      const std::uint64_t wanted = before[c] + (c == why ? 1 : 0);
      if (net.counters()[c] == wanted) continue;
      ADD_FAILURE() << kCounterInfo[i].name << " is " << net.counters()[c] << ", not " << wanted;
      return false;
    }
    return !net.owes_frames();
  }
  std::optional<Frame> send() {
    std::memset(out_.data(), 0xa5, net.max_frame_length());  // nothing of an earlier frame shines through
    const std::size_t n = net.poll_transmit({out_.data(), net.max_frame_length()}, now);
    if (n == 0) return std::nullopt;
    return Frame(out_.data(), out_.data() + n);
  }
  std::vector<Frame> drain() {
    std::vector<Frame> all;
    while (auto f = send()) all.push_back(*f);
    return all;
  }
  // The one frame owed, as text.
  std::string sent() {
    const auto all = drain();
    EXPECT_EQ(all.size(), 1u);
    return all.size() == 1 ? show(all[0]) : "";
  }
  void pass(Duration d) {
    now = now + d;
    net.on_timer(now);
  }
  [[nodiscard]] std::uint64_t count(Counter c) const { return net.counters()[c]; }

  Interface net;
  Instant now{0};

 private:
  wire::test::GuardedBytes out_;
};

constexpr Duration ms(std::int64_t v) {
  return Duration::millis(v);
}
constexpr Duration seconds(std::int64_t v) {
  return Duration::seconds(v);
}

}  // namespace uroce::net::test
