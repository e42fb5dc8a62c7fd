// SPDX-License-Identifier: BSD-3-Clause
// What a worker counts about its connections. One line a counter: name and doc reach every tool from here. Drops of
// frames have their own list, wire::Drop.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace uroce::transport {

// clang-format off
#define UROCE_COUNTERS(X)                                                                         \
  X(tx_packets,             "packets built")                                                      \
  X(tx_retransmitted,       "request packets built again after a NAK, a gap or a timeout")        \
  X(ack_timeouts,           "local ack timeouts")                                                 \
  X(rx_sequence_naks,       "PSN sequence NAKs received")                                         \
  X(rx_rnr_naks,            "RNR NAKs received")                                                  \
  X(rx_error_naks,          "NAKs received that end a connection")                                \
  X(rx_unknown_naks,        "NAKs received with a reserved code, ignored")                        \
  X(implied_naks,           "READ or ATOMIC responses found missing from what came after them")   \
  X(stale_responses,        "responses outside what is outstanding, ignored")                     \
  X(requester_errors,       "connections that the requester side ended")                          \
  X(out_of_sequence,        "requests ahead of the expected PSN, dropped")                        \
  X(duplicate_requests,     "requests behind the expected PSN")                                   \
  X(duplicates_unanswered,  "duplicate READs and ATOMICs that match no stored request, dropped")  \
  X(tx_sequence_naks,       "PSN sequence NAKs owed to a peer")                                   \
  X(tx_rnr_naks,            "RNR NAKs owed to a peer")                                            \
  X(tx_error_naks,          "NAKs owed that end a connection")                                    \
  X(responder_errors,       "connections that the responder side ended")                          \
  X(cq_overflows,           "completion queues that overflowed")                                  \
  X(np_ecn_marked_roce_packets, "packets received with the mark \"congestion experienced\"")      \
  X(np_cnp_sent,            "congestion notification packets sent")                               \
  X(rp_cnp_handled,         "congestion notification packets that reached a rate controller")     \
  X(rp_cnp_ignored,         "congestion notification packets for a connection without one")
// clang-format on

enum class Counter : std::uint8_t {
#define UROCE_COUNTER_ENUM(name, doc) name,
  UROCE_COUNTERS(UROCE_COUNTER_ENUM)
#undef UROCE_COUNTER_ENUM
      count
};
inline constexpr std::size_t kCounterCount = static_cast<std::size_t>(Counter::count);

struct CounterInfo {
  std::string_view name, doc;
};
inline constexpr std::array<CounterInfo, kCounterCount> kCounterInfo{{
#define UROCE_COUNTER_INFO(name, doc) {#name, doc},
    UROCE_COUNTERS(UROCE_COUNTER_INFO)
#undef UROCE_COUNTER_INFO
}};

class Counters {
 public:
  void add(Counter c, std::uint64_t n = 1) noexcept { values_[static_cast<std::size_t>(c)] += n; }
  [[nodiscard]] std::uint64_t operator[](Counter c) const noexcept { return values_[static_cast<std::size_t>(c)]; }

 private:
  std::array<std::uint64_t, kCounterCount> values_{};
};

}  // namespace uroce::transport
