// SPDX-License-Identifier: BSD-3-Clause
// Feeds arbitrary bytes to the frame parser and holds it to its contract: it reads nothing past the frame, and what it
// accepts hangs together. The input is tried as it is, then with lengths and IPv4 checksum made right, so that mutated
// transport headers are reached and not only refused on the way.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "wire/guarded_bytes.h"
#include "wire/visit.h"

namespace uroce::wire::test {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "parse_frame: %s\n", what);
  std::abort();
}

bool within(Bytes inner, Bytes outer) {
  return inner.data() >= outer.data() && inner.data() + inner.size() <= outer.data() + outer.size();
}

template <Ext E>
void check_extension(const RocePacket& p) {
  const auto* h = p.ext<E>();
  require((h != nullptr) == p.info().has(E), "an extension header is there that the opcode has not, or the reverse");
  if (h == nullptr) return;
  const auto* start = reinterpret_cast<const std::uint8_t*>(h);
  require(start >= reinterpret_cast<const std::uint8_t*>(&p.bth()) + sizeof(Bth), "a header in the BTH");
  require(start + sizeof(*h) <= p.payload().data(), "a header in the payload");
}

template <std::size_t... I>
void check_extensions(const RocePacket& p, std::index_sequence<I...>) {
  (check_extension<static_cast<Ext>(I)>(p), ...);
}

void check_icrc(const Datagram& d) {
  const Bytes t = d.transport();
  if (t.size() < sizeof(Bth) + kIcrcLength) {
    require(!icrc_matches(d), "an ICRC that matches without a trailer");
    return;
  }
  std::uint8_t expected[kIcrcLength];
  store_icrc(expected, icrc(d));
  require(icrc_matches(d) == std::equal(expected, expected + kIcrcLength, t.end() - kIcrcLength),
          "icrc and icrc_matches disagree");
}

void check_text(const RocePacket& p) {
  char whole[512], small[64];
  base::TextWriter out(whole), cut(small);
  print_packet(out, p);
  print_packet(cut, p);
  require(out.view().size() < sizeof(whole), "a line of 512 characters or more");
  require(out.view().starts_with(cut.view()), "a cut line that is no beginning of the whole");
  for (const char c : out.view()) require(c >= ' ' && c <= '~', "a character that can't be printed");
}

void check_packet(const RocePacket& p, Bytes frame) {
  const Bytes t = p.datagram().transport();
  require(p.info().known(), "an unknown opcode was accepted");
  require(p.info().header_length + p.payload().size() + p.bth().pad() + kIcrcLength == t.size(),
          "headers, payload, pad and ICRC are not the datagram");
  require(within(p.payload(), t) && within(t, frame), "a payload outside the frame");
  require(p.bth().version() == 0, "a transport version other than 0 was accepted");
  require(p.bth().pad() == 0 || !p.payload().empty(), "pad without payload was accepted");
  check_extensions(p, std::make_index_sequence<kExtCount>{});
  check_text(p);
  read_everything(p);
}

void check_frame(Bytes frame) {
  Drop why = Drop::count;
  const auto d = Datagram::locate(frame, why);
  require(d.has_value() == (why == Drop::count), "a reason without a refusal, or the reverse");
  Drop again = Drop::count;
  const auto p = parse_frame(frame, again);
  if (!d) {
    require(!p && again == why, "parse_frame and locate disagree");
    return;
  }
  require(within(d->ip(), frame) && within(d->transport(), d->ip()), "a datagram outside the frame");
  require(d->udp().length.get() == d->transport().size() + sizeof(Udp), "a UDP length that is not the datagram's");
  check_icrc(*d);
  read_everything(*d);
  require(p.has_value() == (again == Drop::count), "a reason without a refusal, or the reverse");
  require(static_cast<std::size_t>(again) <= kDropCount, "no reason at all");
  if (p) check_packet(*p, frame);
}

void put16(std::uint8_t* at, std::size_t value) {
  at[0] = static_cast<std::uint8_t>(value >> 8);
  at[1] = static_cast<std::uint8_t>(value);
}

// Makes lengths, protocol, port and IPv4 checksum right for whatever follows. False for what has no room for them.
bool repair(std::uint8_t* frame, std::size_t size) {
  if (size < 14) return false;
  std::size_t ip = frame[12] == 0x81 && frame[13] == 0 ? 18u : 14u;
  const bool v6 = size > ip && frame[ip - 2] == 0x86;
  const std::size_t udp = ip + (v6 ? 40 : 20);
  if (size < udp + 8) return false;
  put16(frame + ip - 2, v6 ? 0x86dd : 0x0800);
  put16(frame + udp + 2, 4791);
  put16(frame + udp + 4, size - udp);
  if (v6) {
    frame[ip] = static_cast<std::uint8_t>(0x60 | (frame[ip] & 15));
    put16(frame + ip + 4, size - udp);
    frame[ip + 6] = 17;
    return true;
  }
  frame[ip] = 0x45;
  put16(frame + ip + 2, size - ip);
  put16(frame + ip + 6, 0x4000);
  frame[ip + 9] = 17;
  put16(frame + ip + 10, 0);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 20; i += 2) sum += static_cast<std::uint32_t>(frame[ip + i] << 8 | frame[ip + i + 1]);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  put16(frame + ip + 10, ~sum & 0xffff);
  return true;
}

}  // namespace
}  // namespace uroce::wire::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace uroce::wire;
  test::check_frame({data, size});
  if (size == 0 || size > 0xffff) return 0;
  static test::GuardedBytes room(0xffff);
  const auto copy = room.assign({data, size});
  if (test::repair(copy.data(), size)) {
    Drop why = Drop::count;
    test::require(Datagram::locate(copy, why).has_value(), "a repaired frame was refused before its transport headers");
    test::check_frame(copy);
  }
  return 0;
}
