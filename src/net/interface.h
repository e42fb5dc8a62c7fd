// SPDX-License-Identifier: BSD-3-Clause
// One port's standing on its link: it finds neighbours (ARP, NDP), lets itself be found, and answers echo requests. It
// gets frames and the time, and hands back frames, MACs and news of neighbours; it has no clock and sends nothing.
//
// All memory is taken by the constructor. What it owes is bounded and kept as obligations; what does not fit is counted
// and forgotten, as the protocols ask again. One thread. A bound on replies per second is the owner's: it decides how
// often poll_transmit() is called.
#pragma once
#include <span>

#include "net/echo.h"
#include "net/neighbours.h"
#include "net/routes.h"

namespace uroce::net {

struct NeighbourMessage;

class Interface {
 public:
  static constexpr std::uint32_t kMaxNeighbours = 1024;
  static constexpr std::uint32_t kMaxReplies = 64;
  static constexpr int kTimersPerCall = 64;
  // The longest frame that is not an echo reply: a solicitation or an advertisement with one option.
  static constexpr std::size_t kControlFrameLength = 86;

  static Result<void> check(const InterfaceConfig& config) { return Routes::check(config); }
  // A configuration that check() takes. `seed` is unpredictable outside tests. Owes the announcements from the start.
  Interface(const InterfaceConfig& config, std::uint64_t seed, base::Instant start);
  ~Interface();
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  // A received frame without FCS and VLAN tag; any bytes. ARP, NDP and echo are taken, everything else is counted.
  void on_frame(Bytes frame, base::Instant now) noexcept;

  // Writes the next frame that is owed and returns its length (at least 60); 0 when none is. `out` should have room for
  // max_frame_length(): a frame that does not fit stays owed, and 0 is returned.
  std::size_t poll_transmit(std::span<std::uint8_t> out, base::Instant now) noexcept;
  [[nodiscard]] bool owes_frames() const noexcept {
    return announcements_ != 0 || reply_count_ != 0 || !echoes_.empty() || neighbours_.owes_solicit();
  }
  [[nodiscard]] std::size_t max_frame_length() const noexcept { return sizeof(wire::Ethernet) + echoes_.mtu(); }
  // Gratuitous ARP or an unsolicited advertisement for each address, once: at the start, and after the link was down.
  void announce() noexcept { announcements_ = (1u << routes_.addresses().size()) - 1; }

  // The MAC that packets for `destination` go to: a group's, our own, the neighbour's or the gateway's. nullopt while
  // there's none; resolution() says why, and poll_change() when that changes. Starts asking if need be.
  std::optional<MacAddress> resolve(const IpAddress& destination) noexcept;
  [[nodiscard]] Resolution resolution(const IpAddress& destination) const noexcept;
  // Relies on a destination, as a live connection does, until release(): its neighbour is not forgotten, is probed
  // every 30 s, and asked again after it failed. Counted. False: no route or no room, and nothing to release.
  bool hold(const IpAddress& destination) noexcept;
  void release(const IpAddress& destination) noexcept;
  // News of a neighbour that resolve() or hold() asked for. Only the latest of each: to be polled every turn.
  std::optional<NeighbourChange> poll_change() noexcept { return neighbours_.poll_change(); }

  // At most kTimersPerCall timers a call; next_deadline() lies in the past while some are left. owes_frames() has no
  // deadline: frames are owed at once.
  void on_timer(base::Instant now) noexcept { neighbours_.on_timer(now, kTimersPerCall); }
  [[nodiscard]] base::Instant next_deadline() const noexcept { return neighbours_.next_deadline(); }

  [[nodiscard]] const MacAddress& mac() const noexcept { return mac_; }
  [[nodiscard]] const GidTable& gids() const noexcept { return routes_.gids(); }
  [[nodiscard]] std::span<const InterfaceAddress> addresses() const noexcept { return routes_.addresses(); }
  [[nodiscard]] bool owns(const IpAddress& a) const noexcept { return routes_.owns(a); }
  [[nodiscard]] std::span<const MacAddress> multicast_groups() const noexcept { return routes_.multicast_groups(); }
  [[nodiscard]] std::optional<IpAddress> next_hop(const IpAddress& d) const noexcept { return routes_.next_hop(d); }
  [[nodiscard]] std::optional<IpAddress> source_for(const IpAddress& d) const noexcept { return routes_.source_for(d); }
  [[nodiscard]] std::uint32_t neighbour_count() const noexcept { return neighbours_.size(); }
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

 private:
  struct Reply {       // an ARP reply or an advertisement that somebody waits for
    std::uint8_t own;  // of addresses()
    bool solicited;    // false: the asker has no address yet, everybody is told
    MacAddress to_mac;
    IpAddress to;
  };
  // A received ICMPv6 message and the headers it came with, checksum verified.
  struct Message {
    const wire::Ethernet& ethernet;
    const wire::Ipv6& ip;
    Bytes bytes;
    [[nodiscard]] IpAddress source() const noexcept { return {ip.source}; }
    [[nodiscard]] IpAddress destination() const noexcept { return {ip.destination}; }
  };

  void drop(Counter c) noexcept { counters_.add(c); }
  [[nodiscard]] bool accepts(const MacAddress& destination) const noexcept;
  void learn(const IpAddress& neighbour, const MacAddress& mac, base::Instant now) noexcept;
  void owe_reply(const Reply& r) noexcept;

  void on_arp(Bytes packet, base::Instant now) noexcept;
  void on_ipv4(const wire::Ethernet& ethernet, Bytes packet) noexcept;
  void on_ipv6(const wire::Ethernet& ethernet, Bytes packet, base::Instant now) noexcept;
  void on_echo(const wire::Ethernet& ethernet, const IpAddress& from, const IpAddress& to, Bytes datagram) noexcept;
  void on_solicitation(const Message& m, base::Instant now) noexcept;
  void on_advertisement(const Message& m, base::Instant now) noexcept;
  [[nodiscard]] const NeighbourMessage* check_ndp(const Message& m) noexcept;

  std::size_t send_solicit(std::uint8_t* out, base::Instant now) noexcept;
  std::size_t send_announcement(std::uint8_t* out) noexcept;
  std::size_t send_reply(std::uint8_t* out) noexcept;
  std::size_t write_arp(std::uint8_t* out, std::uint16_t operation, const IpAddress& sender, const IpAddress& target,
                        const MacAddress& target_mac, const MacAddress& destination) noexcept;
  std::size_t write_advertisement(std::uint8_t* out, const IpAddress& own, const IpAddress& to,
                                  const MacAddress& to_mac, std::uint32_t flags) noexcept;

  MacAddress mac_;
  Counters counters_;
  Routes routes_;
  EchoQueue echoes_;
  NeighbourTable neighbours_;
  std::array<Reply, kMaxReplies> replies_{};
  std::uint32_t reply_first_ = 0, reply_count_ = 0;
  std::uint32_t announcements_ = 0;  // a bit an address
};

}  // namespace uroce::net
