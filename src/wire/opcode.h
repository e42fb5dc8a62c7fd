// SPDX-License-Identifier: BSD-3-Clause
// The BTH opcode table (IBTA 9.2, table of opcodes; annexes A14 XRC, A17 CNP, A19 FLUSH and ATOMIC WRITE). One row an
// opcode; where each extension header lies is derived from the row at compile time and never typed.
#pragma once
#include <array>
#include <string_view>

#include "wire/bth.h"
#include "wire/extension.h"

namespace uroce::wire {

enum class Service : std::uint8_t { rc, uc, ud, xrc, cnp };  // BTH bits 7:5 are 0, 1, 3, 5, 4

enum class Op : std::uint8_t {
  send, write, read_request, read_response, ack, atomic_ack, cmp_swap, fetch_add, flush, atomic_write, cnp
};

// Where a packet stands in its message; `only` is both first and last.
enum class Place : std::uint8_t { first, middle, last, only };

// How many payload bytes the packet may carry (P = path MTU).
enum class PayloadRule : std::uint8_t { none, full /* = P */, last /* 1..P */, only /* 0..P */, eight };

struct OpcodeInfo {
  std::string_view name{};  // empty: reserved
  Service service{};
  Op op{};
  Place place{};
  PayloadRule payload{};
  bool request{};
  std::uint8_t header_length = 0;              // BTH and extension headers
  std::array<std::uint8_t, kExtCount> offset{};  // from the BTH; 0: not there

  [[nodiscard]] constexpr bool known() const noexcept { return !name.empty(); }
  [[nodiscard]] constexpr bool has(Ext e) const noexcept { return offset[static_cast<std::size_t>(e)] != 0; }
  [[nodiscard]] constexpr bool starts() const noexcept { return place == Place::first || place == Place::only; }
  [[nodiscard]] constexpr bool ends() const noexcept { return place == Place::last || place == Place::only; }
};

namespace opcode {
enum : std::uint8_t {  // the low five bits, as RC (class 0) has them
  kSendFirst = 0x00, kSendMiddle = 0x01, kSendLast = 0x02, kSendLastImm = 0x03, kSendOnly = 0x04, kSendOnlyImm = 0x05,
  kWriteFirst = 0x06, kWriteMiddle = 0x07, kWriteLast = 0x08, kWriteLastImm = 0x09, kWriteOnly = 0x0a,
  kWriteOnlyImm = 0x0b, kReadRequest = 0x0c, kReadResponseFirst = 0x0d, kReadResponseMiddle = 0x0e,
  kReadResponseLast = 0x0f, kReadResponseOnly = 0x10, kAcknowledge = 0x11, kAtomicAcknowledge = 0x12,
  kCompareSwap = 0x13, kFetchAdd = 0x14, kSendLastInvalidate = 0x16, kSendOnlyInvalidate = 0x17, kFlush = 0x1c,
  kAtomicWrite = 0x1d,
  kUc = 0x20, kUdSendOnly = 0x64, kUdSendOnlyImm = 0x65, kCnp = 0x81, kXrc = 0xa0
};
}  // namespace opcode

namespace detail {

template <class... E>
consteval OpcodeInfo row(std::string_view name, Service s, Op op, Place place, PayloadRule rule, bool request, E... exts) {
  OpcodeInfo info{name, s, op, place, rule, request, sizeof(Bth), {}};
  [[maybe_unused]] auto add = [&](Ext e) {
    const auto i = static_cast<std::size_t>(e);
    info.offset[i] = info.header_length;
    info.header_length = static_cast<std::uint8_t>(info.header_length + kExtSize[i]);
  };
  (add(exts), ...);
  return info;
}

using Table = std::array<OpcodeInfo, 256>;

// A connected request: XRC puts its own header straight after the BTH.
template <class... E>
consteval void request(Table& t, std::uint8_t low, std::string_view rc, std::string_view uc, std::string_view xrc, Op op,
                       Place place, PayloadRule rule, E... exts) {
  t[low] = row(rc, Service::rc, op, place, rule, true, exts...);
  if (!uc.empty()) t[opcode::kUc | low] = row(uc, Service::uc, op, place, rule, true, exts...);
  if (!xrc.empty()) t[opcode::kXrc | low] = row(xrc, Service::xrc, op, place, rule, true, Ext::xrc_eth, exts...);
}
template <class... E>
consteval void response(Table& t, std::uint8_t low, std::string_view rc, std::string_view xrc, Op op, Place place,
                        PayloadRule rule, E... exts) {
  t[low] = row(rc, Service::rc, op, place, rule, false, exts...);
  t[opcode::kXrc | low] = row(xrc, Service::xrc, op, place, rule, false, exts...);
}

consteval Table make_table() {
  using namespace opcode;
  using enum Place;
  using R = PayloadRule;
  Table t{};
#define UROCE_NAMES(n) "RC_" n, "UC_" n, "XRC_" n
#define UROCE_NAMES_NO_UC(n) "RC_" n, "", "XRC_" n
#define UROCE_NAMES_RESPONSE(n) "RC_" n, "XRC_" n
  request(t, kSendFirst, UROCE_NAMES("SEND_FIRST"), Op::send, first, R::full);
  request(t, kSendMiddle, UROCE_NAMES("SEND_MIDDLE"), Op::send, middle, R::full);
  request(t, kSendLast, UROCE_NAMES("SEND_LAST"), Op::send, last, R::last);
  request(t, kSendLastImm, UROCE_NAMES("SEND_LAST_IMM"), Op::send, last, R::last, Ext::imm_dt);
  request(t, kSendOnly, UROCE_NAMES("SEND_ONLY"), Op::send, only, R::only);
  request(t, kSendOnlyImm, UROCE_NAMES("SEND_ONLY_IMM"), Op::send, only, R::only, Ext::imm_dt);
  request(t, kSendLastInvalidate, UROCE_NAMES_NO_UC("SEND_LAST_INV"), Op::send, last, R::last, Ext::ieth);
  request(t, kSendOnlyInvalidate, UROCE_NAMES_NO_UC("SEND_ONLY_INV"), Op::send, only, R::only, Ext::ieth);
  request(t, kWriteFirst, UROCE_NAMES("WRITE_FIRST"), Op::write, first, R::full, Ext::reth);
  request(t, kWriteMiddle, UROCE_NAMES("WRITE_MIDDLE"), Op::write, middle, R::full);
  request(t, kWriteLast, UROCE_NAMES("WRITE_LAST"), Op::write, last, R::last);
  request(t, kWriteLastImm, UROCE_NAMES("WRITE_LAST_IMM"), Op::write, last, R::last, Ext::imm_dt);
  request(t, kWriteOnly, UROCE_NAMES("WRITE_ONLY"), Op::write, only, R::only, Ext::reth);
  request(t, kWriteOnlyImm, UROCE_NAMES("WRITE_ONLY_IMM"), Op::write, only, R::only, Ext::reth, Ext::imm_dt);
  request(t, kReadRequest, UROCE_NAMES_NO_UC("READ_REQ"), Op::read_request, only, R::none, Ext::reth);
  response(t, kReadResponseFirst, UROCE_NAMES_RESPONSE("RRESP_FIRST"), Op::read_response, first, R::full, Ext::aeth);
  response(t, kReadResponseMiddle, UROCE_NAMES_RESPONSE("RRESP_MIDDLE"), Op::read_response, middle, R::full);
  response(t, kReadResponseLast, UROCE_NAMES_RESPONSE("RRESP_LAST"), Op::read_response, last, R::last, Ext::aeth);
  response(t, kReadResponseOnly, UROCE_NAMES_RESPONSE("RRESP_ONLY"), Op::read_response, only, R::only, Ext::aeth);
  response(t, kAcknowledge, UROCE_NAMES_RESPONSE("ACK"), Op::ack, only, R::none, Ext::aeth);
  response(t, kAtomicAcknowledge, UROCE_NAMES_RESPONSE("ATOMIC_ACK"), Op::atomic_ack, only, R::none, Ext::aeth,
           Ext::atomic_ack_eth);
  request(t, kCompareSwap, UROCE_NAMES_NO_UC("CMP_SWAP"), Op::cmp_swap, only, R::none, Ext::atomic_eth);
  request(t, kFetchAdd, UROCE_NAMES_NO_UC("FETCH_ADD"), Op::fetch_add, only, R::none, Ext::atomic_eth);
  t[kFlush] = row("RC_FLUSH", Service::rc, Op::flush, only, R::none, true, Ext::feth, Ext::reth);
  t[kAtomicWrite] = row("RC_ATOMIC_WRITE", Service::rc, Op::atomic_write, only, R::eight, true, Ext::reth);
  t[kUdSendOnly] = row("UD_SEND_ONLY", Service::ud, Op::send, only, R::only, true, Ext::deth);
  t[kUdSendOnlyImm] = row("UD_SEND_ONLY_IMM", Service::ud, Op::send, only, R::only, true, Ext::deth, Ext::imm_dt);
  t[kCnp] = row("CNP", Service::cnp, Op::cnp, only, R::none, false, Ext::cnp);
#undef UROCE_NAMES
#undef UROCE_NAMES_NO_UC
#undef UROCE_NAMES_RESPONSE
  return t;
}

}  // namespace detail

inline constexpr detail::Table kOpcodes = detail::make_table();
inline constexpr std::size_t kMaxHeaderLength = 48;  // the longest row: XRC atomics are 44, FLUSH is 32
static_assert(kOpcodes[0x0b].header_length == 32 && kOpcodes[0x14].header_length == 40);
static_assert(kOpcodes[0xab].header_length == 36 && kOpcodes[0xb3].header_length == 44);

}  // namespace uroce::wire
