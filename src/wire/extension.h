// SPDX-License-Identifier: BSD-3-Clause
// The extension headers that may follow the BTH (IBTA 9.3), and the list from which the opcode table is made.
#pragma once
#include <array>

#include "wire/big_endian.h"

namespace uroce::wire {

struct Deth {  // datagrams
  be32 qkey;
  std::uint8_t reserved;
  be24 source_qp;
};
static_assert(Header<Deth> && sizeof(Deth) == 8);

struct Reth {  // WRITE and READ requests
  be64 va;
  be32 rkey;
  be32 dma_length;
};
static_assert(Header<Reth> && sizeof(Reth) == 16);

struct AtomicEth {
  be64 va;
  be32 rkey;
  be64 swap_or_add;
  be64 compare;
};
static_assert(Header<AtomicEth> && sizeof(AtomicEth) == 28);

struct Aeth {  // acknowledges and READ responses
  std::uint8_t syndrome;
  be24 msn;
};
static_assert(Header<Aeth> && sizeof(Aeth) == 4);

struct AtomicAckEth {
  be64 original;
};
static_assert(Header<AtomicAckEth> && sizeof(AtomicAckEth) == 8);

struct ImmDt {  // opaque to the transport: never byte-swapped on the way to the completion
  std::array<std::uint8_t, 4> data;
};
static_assert(Header<ImmDt> && sizeof(ImmDt) == 4);

struct Ieth {
  be32 rkey;
};
static_assert(Header<Ieth> && sizeof(Ieth) == 4);

struct XrcEth {
  std::uint8_t reserved;
  be24 srq;
};
static_assert(Header<XrcEth> && sizeof(XrcEth) == 4);

struct Feth {  // FLUSH (newer annex): known so that it can be named and refused
  be32 type_level;
};
static_assert(Header<Feth> && sizeof(Feth) == 4);

struct CnpBody {  // 16 reserved bytes, sent as zero
  std::array<std::uint8_t, 16> reserved;
};
static_assert(Header<CnpBody> && sizeof(CnpBody) == 16);

enum class Ext : std::uint8_t { deth, reth, atomic_eth, aeth, atomic_ack_eth, imm_dt, ieth, xrc_eth, feth, cnp, count };
inline constexpr std::size_t kExtCount = static_cast<std::size_t>(Ext::count);

template <Ext>
struct ExtHeader;
template <> struct ExtHeader<Ext::deth> { using type = Deth; };
template <> struct ExtHeader<Ext::reth> { using type = Reth; };
template <> struct ExtHeader<Ext::atomic_eth> { using type = AtomicEth; };
template <> struct ExtHeader<Ext::aeth> { using type = Aeth; };
template <> struct ExtHeader<Ext::atomic_ack_eth> { using type = AtomicAckEth; };
template <> struct ExtHeader<Ext::imm_dt> { using type = ImmDt; };
template <> struct ExtHeader<Ext::ieth> { using type = Ieth; };
template <> struct ExtHeader<Ext::xrc_eth> { using type = XrcEth; };
template <> struct ExtHeader<Ext::feth> { using type = Feth; };
template <> struct ExtHeader<Ext::cnp> { using type = CnpBody; };

inline constexpr std::array<std::uint8_t, kExtCount> kExtSize{
    sizeof(Deth),  sizeof(Reth), sizeof(AtomicEth), sizeof(Aeth), sizeof(AtomicAckEth),
    sizeof(ImmDt), sizeof(Ieth), sizeof(XrcEth),    sizeof(Feth), sizeof(CnpBody)};

}  // namespace uroce::wire
