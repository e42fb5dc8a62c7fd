// SPDX-License-Identifier: BSD-3-Clause
// What a port counts about neighbours and echo. One line a counter: name and doc reach every tool from here.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace uroce::net {

// clang-format off
#define UROCE_NET_COUNTERS(X)                                                                             \
  X(rx_arp_requests,        "ARP requests received, gratuitous ones too")                                 \
  X(rx_arp_replies,         "ARP replies received")                                                       \
  X(rx_solicitations,       "neighbour solicitations received")                                           \
  X(rx_advertisements,      "neighbour advertisements received")                                          \
  X(rx_echo_requests,       "ICMP and ICMPv6 echo requests received")                                     \
  X(tx_arp_requests,        "ARP requests sent, gratuitous ones too")                                     \
  X(tx_arp_replies,         "ARP replies sent")                                                           \
  X(tx_solicitations,       "neighbour solicitations sent")                                               \
  X(tx_advertisements,      "neighbour advertisements sent, unsolicited ones too")                        \
  X(tx_echo_replies,        "ICMP and ICMPv6 echo replies sent")                                          \
  X(neighbours_learned,     "neighbours entered because they asked for us")                               \
  X(neighbours_resolved,    "neighbours whose MAC we asked for and got")                                  \
  X(neighbours_changed,     "known neighbours that came with another MAC")                                \
  X(neighbours_failed,      "neighbours that answered none of our requests")                              \
  X(neighbours_evicted,     "neighbours forgotten to make room for others")                               \
  X(neighbour_table_full,   "neighbours not entered because nothing could be forgotten")                  \
  X(neighbour_unknown,      "announcements and answers of neighbours that nobody here asked for")         \
  X(neighbour_off_link,     "neighbours not learned because their address is not of this link")           \
  X(no_route,               "destinations that are off link while there is no gateway")                   \
  X(reply_queue_full,       "ARP and neighbour requests not answered because too many were waiting")      \
  X(echo_queue_full,        "echo requests not answered because too many were waiting")                   \
  X(address_conflicts,      "stations that claimed an address of ours")                                   \
  X(frame_truncated,        "frames that end inside a header, or before the length a header gives")       \
  X(bad_source_mac,         "frames from a source MAC that can't be a station's")                         \
  X(own_frames,             "frames that carry our own MAC as source: the link loops")                    \
  X(other_station,          "frames for a MAC or an address that is not ours")                            \
  X(other_protocol,         "frames and messages of kinds that are not handled here")                     \
  X(arp_malformed,          "ARP of another kind than IPv4 over Ethernet, or with an unknown operation")  \
  X(arp_bad_sender,         "ARP whose sender MAC or address can't be a station's")                       \
  X(arp_other_target,       "ARP between others")                                                         \
  X(ip_malformed,           "IP headers with a wrong version, length or kind of address")                 \
  X(ip_checksum,            "wrong IPv4 header checksums")                                                \
  X(ip_options,             "ICMP in IPv4 with options")                                                  \
  X(ip_fragment,            "fragments of ICMP over IPv4, or of anything over IPv6")                      \
  X(icmp_malformed,         "ICMP messages that are too short or have an unknown code")                   \
  X(icmp_checksum,          "wrong ICMP and ICMPv6 checksums")                                            \
  X(echo_bad_address,       "echo requests from or to something else than one host")                      \
  X(echo_too_long,          "echo requests longer than the MTU")                                          \
  X(ndp_hop_limit,          "neighbour messages from beyond the link (hop limit other than 255)")         \
  X(ndp_malformed,          "neighbour messages whose fields contradict each other or RFC 4861")          \
  X(ndp_bad_option,         "neighbour messages with broken options, or a MAC that can't be a station's") \
  X(ndp_other_target,       "neighbour solicitations for others")
// clang-format on

enum class Counter : std::uint8_t {
#define UROCE_NET_COUNTER_ENUM(name, doc) name,
  UROCE_NET_COUNTERS(UROCE_NET_COUNTER_ENUM)
#undef UROCE_NET_COUNTER_ENUM
      count
};
inline constexpr std::size_t kCounterCount = static_cast<std::size_t>(Counter::count);

struct CounterInfo {
  std::string_view name, doc;
};
inline constexpr std::array<CounterInfo, kCounterCount> kCounterInfo{{
#define UROCE_NET_COUNTER_INFO(name, doc) {#name, doc},
    UROCE_NET_COUNTERS(UROCE_NET_COUNTER_INFO)
#undef UROCE_NET_COUNTER_INFO
}};

class Counters {
 public:
  void add(Counter c) noexcept { ++values_[static_cast<std::size_t>(c)]; }
  [[nodiscard]] std::uint64_t operator[](Counter c) const noexcept { return values_[static_cast<std::size_t>(c)]; }

 private:
  std::array<std::uint64_t, kCounterCount> values_{};
};

}  // namespace uroce::net
