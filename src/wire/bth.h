// SPDX-License-Identifier: BSD-3-Clause
// Base Transport Header (IBTA 9.2).
#pragma once
#include <cstring>

#include "wire/big_endian.h"

namespace uroce::wire {

struct Bth {
  std::uint8_t opcode;
  std::uint8_t se_m_pad_tver;  // solicited event 7, MigReq 6, pad count 5:4, transport version 3:0
  be16 pkey;
  std::uint8_t f_b_reserved;  // FECN 7, BECN 6; all-ones in the ICRC
  be24 dest_qp;
  std::uint8_t a_reserved;  // AckReq 7
  be24 psn;

  [[nodiscard]] constexpr bool solicited() const noexcept { return (se_m_pad_tver & 0x80u) != 0; }
  [[nodiscard]] constexpr bool mig_req() const noexcept { return (se_m_pad_tver & 0x40u) != 0; }
  [[nodiscard]] constexpr unsigned pad() const noexcept { return (se_m_pad_tver >> 4) & 3u; }
  [[nodiscard]] constexpr unsigned version() const noexcept { return se_m_pad_tver & 15u; }
  [[nodiscard]] constexpr bool becn() const noexcept { return (f_b_reserved & 0x40u) != 0; }
  [[nodiscard]] constexpr bool ack_req() const noexcept { return (a_reserved & 0x80u) != 0; }
};
static_assert(Header<Bth> && sizeof(Bth) == 12);

inline constexpr std::uint8_t kBthSolicited = 0x80;
inline constexpr std::uint8_t kBthMigReq = 0x40;
inline constexpr std::uint8_t kBthAckReq = 0x80;
inline constexpr std::uint8_t kBthBecn = 0x40;
inline constexpr std::uint32_t kMaxQpn = 0xffffff;
inline constexpr std::uint32_t kMulticastQpn = 0xffffff;
inline constexpr std::uint32_t kQp1 = 1;
inline constexpr std::size_t kIcrcLength = 4;

// What differs from packet to packet.
struct BthNumbers {
  std::uint32_t dest_qpn = 0;  // 24 bits
  std::uint32_t psn = 0;       // 24 bits
  bool ack_req = false;
  bool solicited = false;
};

// A whole header, as the ICRC sees it: the congestion byte all ones. In the two stores that the CRC's two loads can be
// served from: a load that spans several stores waits until they have left the store buffer.
inline void write_masked_bth(std::uint8_t* to, std::uint8_t opcode, unsigned pad, const BthNumbers& n) noexcept {
  const std::uint64_t flags = (n.solicited ? kBthSolicited : 0u) | kBthMigReq | pad << 4;
  const be64 first(std::uint64_t{opcode} << 56 | flags << 48 | std::uint64_t{0xffff} << 32 | std::uint64_t{0xff} << 24 |
                   n.dest_qpn);
  const be32 second((n.ack_req ? std::uint32_t{kBthAckReq} << 24 : 0u) | n.psn);
  std::memcpy(to, &first, sizeof(first));
  std::memcpy(to + sizeof(first), &second, sizeof(second));
}

}  // namespace uroce::wire
