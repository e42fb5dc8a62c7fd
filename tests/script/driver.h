// SPDX-License-Identifier: BSD-3-Clause
// For cases that a script can't tell: many frames, or a rule over whatever is sent. Frames are named by the words of a
// script line.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "args.h"
#include "packet.h"
#include "wire/frame.h"
#include "wire/icrc.h"
#include "world.h"

// Cases of ten million packets take seconds, but many minutes under a sanitizer; the packets are all alike.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UROCE_SCRIPT_SLOW_BUILD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define UROCE_SCRIPT_SLOW_BUILD 1
#endif
#endif
#if defined(UROCE_SCRIPT_SLOW_BUILD)
#define UROCE_MANY_PACKETS() GTEST_SKIP() << "millions of packets: not under a sanitizer"
#else
#define UROCE_MANY_PACKETS() static_cast<void>(0)
#endif

namespace uroce::script {

// "RC_SEND_ONLY psn=0 len=8 ack": as after '<'.
inline ScriptedPort::Arrival frame_of(const World& w, const std::string& words) {
  const std::vector<Line> lines = split_lines(words, "frame");
  const Names names = [&](std::string_view n) -> std::optional<std::uint64_t> {
    if (n == "target") return World::kTarget;
    const auto k = w.keys.find(n);
    return k == w.keys.end() ? std::nullopt : std::optional<std::uint64_t>(k->second);
  };
  const Args args(lines.at(0), std::span(lines[0].words).subspan(1), peer_fields(), names);
  return build_packet(w, lines[0].words[0], args);
}

inline void arrive(World& w, const std::string& words) {
  w.port.arriving.push_back(frame_of(w, words));
}

// What matters of a frame that was sent.
struct Seen {
  std::string name;
  std::uint32_t psn = 0, length = 0;
  int syndrome = -1;
  std::uint32_t msn = 0;
};
inline Seen see(std::span<const std::uint8_t> frame) {
  wire::Drop why{};
  const auto p = wire::parse_frame(frame, why);
  if (!p) return {"unparsable", 0, 0, 0, 0};
  Seen s{std::string(p->info().name), p->psn(), static_cast<std::uint32_t>(p->payload().size()), -1, 0};
  if (const auto* h = p->ext<wire::Ext::aeth>()) s.syndrome = h->syndrome, s.msn = h->msn.get();
  return s;
}

inline std::vector<Seen> take_sent(World& w) {
  std::vector<Seen> out;
  for (; !w.port.sent.empty(); w.port.sent.pop_front()) out.push_back(see(w.port.sent.front().bytes));
  return out;
}

// One frame sent by the peer many times, with another PSN each time: `words` as after '<'.
class Stamp {
 public:
  Stamp(const World& w, const std::string& words) : frame_(frame_of(w, words).bytes) {
    wire::Drop why{};
    const auto d = wire::Datagram::locate(frame_, why);
    if (!d) throw ScriptError("a stamp that is no datagram");
    end_ = kBth + d->transport().size() - wire::kIcrcLength;
    masked_.assign(frame_.begin() + kIp, frame_.begin() + static_cast<std::ptrdiff_t>(end_));
    for (const std::size_t i : {1u, 8u, 10u, 11u, 26u, 27u, 32u}) masked_[i] = 0xff;
  }
  void arrive(World& w, std::uint32_t psn) {
    for (std::size_t i = 0; i < 3; ++i) {
      frame_[kBth + 9 + i] = masked_[kBth - kIp + 9 + i] = static_cast<std::uint8_t>(psn >> (16 - 8 * i));
    }
    const std::uint32_t crc = wire::crc32(wire::kIcrcStart, masked_.data(), masked_.size());
    wire::store_icrc(frame_.data() + end_, crc);
    w.port.arriving.push_back({frame_, engine::L4Checksum::unknown});
  }

 private:
  static constexpr std::size_t kIp = 14, kBth = 42;
  Buffer frame_, masked_;
  std::size_t end_ = 0;
};

inline std::string describe(const std::vector<Seen>& all) {
  std::string out;
  for (const Seen& s : all) {
    out += s.name + " psn=" + std::to_string(s.psn) +
           (s.syndrome >= 0 ? " syndrome=" + std::to_string(s.syndrome) : "") + "; ";
  }
  return out;
}

}  // namespace uroce::script
