// SPDX-License-Identifier: BSD-3-Clause
// Calls every accessor of a packet and reads every byte that they hand out: with a sanitizer or a guard page behind the
// frame, an accessor that is out of bounds does not survive it.
#pragma once
#include <array>

#include "wire/frame.h"
#include "wire/icrc.h"
#include "wire/print.h"

namespace uroce::wire::test {

// What was read goes here, or an optimiser would see that nobody wants it and read nothing.
inline volatile std::uint64_t read_sink = 0;

inline std::uint64_t read_bytes(wire::Bytes b) {
  std::uint64_t sum = 0;
  for (std::uint8_t byte : b) sum = sum * 31 + byte;
  return sum;
}

template <class H>
std::uint64_t read_header(const H* h) {
  return h == nullptr ? 0 : read_bytes({reinterpret_cast<const std::uint8_t*>(h), sizeof(H)});
}

template <std::size_t... I>
std::uint64_t read_extensions(const wire::RocePacket& p, std::index_sequence<I...>) {
  return (... + read_header(p.ext<static_cast<wire::Ext>(I)>()));
}

inline std::uint64_t read_everything(const wire::Datagram& d) {
  std::uint64_t sum = read_header(&d.ethernet()) + read_header(&d.udp()) + d.vlan_tci().value_or(1);
  sum += d.is_v6() ? read_header(&d.ipv6()) : read_header(&d.ipv4());
  sum += read_bytes(d.ip()) + read_bytes(d.transport()) + read_bytes(d.addresses());
  sum += read_bytes(d.source().bytes) + read_bytes(d.destination().bytes);
  sum += d.traffic_class() + static_cast<unsigned>(d.ecn()) + (wire::icrc_matches(d) ? 1u : 0u);
  read_sink = sum;
  return sum;
}

inline std::uint64_t read_everything(const wire::RocePacket& p) {
  std::uint64_t sum = read_everything(p.datagram()) + read_header(&p.bth()) + read_bytes(p.payload());
  sum += read_extensions(p, std::make_index_sequence<wire::kExtCount>{});
  sum += p.psn() + p.dest_qp() + static_cast<unsigned>(p.ecn()) + wire::icrc(p.datagram());
  for (std::uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) sum += wire::payload_length_legal(p, mtu) ? 1u : 0u;
  std::array<char, 512> room{};
  base::TextWriter out(room);
  wire::print_packet(out, p);
  sum += out.view().size();
  read_sink = sum;
  return sum;
}

}  // namespace uroce::wire::test
