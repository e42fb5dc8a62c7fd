// SPDX-License-Identifier: BSD-3-Clause
// Base Transport Header (IBTA 9.2).
#pragma once
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
inline constexpr std::uint32_t kMaxQpn = 0xffffff;
inline constexpr std::uint32_t kMulticastQpn = 0xffffff;
inline constexpr std::uint32_t kQp1 = 1;
inline constexpr std::size_t kIcrcLength = 4;

}  // namespace uroce::wire
