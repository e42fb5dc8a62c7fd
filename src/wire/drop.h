// SPDX-License-Identifier: BSD-3-Clause
// Why a frame was not processed. A closed list: a counter, a name in every tool and a "no test hits it" failure
// (tests/contract/drop_reasons) come with each line.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace uroce::wire {

// clang-format off
#define UROCE_DROP_REASONS(X)                                                                   \
  X(frame_truncated,   "ends inside the Ethernet, VLAN, IP or UDP header, or before its IP length") \
  X(not_ip,            "an EtherType other than IPv4 and IPv6")                                  \
  X(roce_v1,           "RoCE v1 (EtherType 0x8915), which is not spoken here")                   \
  X(ip_version,        "the IP version nibble does not match the EtherType")                     \
  X(ip_options,        "an IPv4 header length other than 20 bytes")                                    \
  X(ip_fragment,       "an IPv4 fragment, or an IPv6 fragment header")                           \
  X(ip_checksum,       "a wrong IPv4 header checksum")                                           \
  X(ip_length,         "an IP length shorter than IP and UDP headers")                           \
  X(not_udp,           "another transport protocol than UDP")                                    \
  X(not_roce_port,     "another UDP destination port than 4791")                                 \
  X(udp_length,        "a UDP length that differs from what the IP length leaves")               \
  X(udp_checksum,      "a non-zero UDP checksum that the port found wrong")                      \
  X(bth_truncated,     "fewer than 16 bytes after UDP, or fewer than headers, pad and ICRC")     \
  X(unknown_opcode,    "a reserved opcode, or one of a service not spoken here")                 \
  X(bth_version,       "a transport header version other than 0")                                \
  X(bad_pad,           "a pad count on a packet without payload")                                \
  X(bad_icrc,          "the invariant CRC does not match")                                       \
  X(unknown_qp,        "a destination QPN that no queue pair has")                               \
  X(wrong_service,     "an opcode of another service than the queue pair's")                     \
  X(qp_state,          "a queue pair in a state that does not take it")                          \
  X(wrong_address,     "addresses other than the connection's own and its peer's")               \
  X(pkey,              "a P_Key that does not match")
// clang-format on

enum class Drop : std::uint8_t {
#define UROCE_DROP_ENUM(name, doc) name,
  UROCE_DROP_REASONS(UROCE_DROP_ENUM)
#undef UROCE_DROP_ENUM
      count
};
inline constexpr std::size_t kDropCount = static_cast<std::size_t>(Drop::count);

struct DropInfo {
  std::string_view name;
  std::string_view doc;
};
inline constexpr std::array<DropInfo, kDropCount> kDropInfo{{
#define UROCE_DROP_INFO(name, doc) {#name, doc},
    UROCE_DROP_REASONS(UROCE_DROP_INFO)
#undef UROCE_DROP_INFO
}};

constexpr std::string_view drop_name(Drop d) noexcept { return kDropInfo[static_cast<std::size_t>(d)].name; }

}  // namespace uroce::wire
