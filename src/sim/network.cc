// SPDX-License-Identifier: BSD-3-Clause
#define XXH_INLINE_ALL
#include "sim/network.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace uroce::sim {

SimPort::SimPort(Network& network, const wire::MacAddress& mac, const LinkConfig& link, std::uint64_t seed)
    : network_(network), mac_(mac), link_(link), faults_(link.faults, seed) {}

SimPort::~SimPort() = default;

std::size_t SimPort::rx_burst(std::span<engine::RxFrame> frames) {
  const std::size_t n = std::min(frames.size(), received_.size());
  for (std::size_t i = 0; i < n; ++i) {
    auto* f = new Frame(std::move(received_.front()));
    received_.pop_front();
    frames[i] = {};
    frames[i].bytes = *f;
    frames[i].owner = f;
  }
  return n;
}

void SimPort::rx_release(std::span<const engine::RxFrame> frames) {
  for (const auto& f : frames) delete static_cast<Frame*>(f.owner);
}

std::size_t SimPort::tx_alloc(std::span<engine::TxFrame> frames) {
  for (auto& f : frames) {
    if (free_buffers_.empty()) free_buffers_.push_back(std::make_unique<std::uint8_t[]>(kMaxFrame));
    f = {free_buffers_.back().release(), 0, nullptr};
    free_buffers_.pop_back();
  }
  return frames.size();
}

void SimPort::tx_free(std::span<const engine::TxFrame> frames) {
  for (const auto& f : frames) free_buffers_.emplace_back(f.data);
}

base::Instant SimPort::room_at() const noexcept {
  // Room as long as the line is busy for less than a full queue of full frames.
  const auto queue_ns = static_cast<std::int64_t>(link_.tx_queue_frames * 1100ull * 8 * 1'000'000'000 / link_.rate_bps);
  return line_free_ - base::Duration::nanos(queue_ns);
}

std::size_t SimPort::tx_burst(std::span<engine::TxFrame> frames) {
  std::size_t n = 0;
  while (n < frames.size() && room_at() <= network_.events().now()) {
    transmit({frames[n].data, frames[n].length});
    ++n;
  }
  tx_free(frames.first(n));
  return n;
}

void SimPort::transmit(std::span<const std::uint8_t> bytes) {
  constexpr std::uint64_t kFraming = 24;  // preamble, FCS and gap on a real wire
  const auto wire_ns = static_cast<std::int64_t>((bytes.size() + kFraming) * 8 * 1'000'000'000 / link_.rate_bps);
  line_free_ = std::max(line_free_, network_.events().now()) + base::Duration::nanos(wire_ns);
  ++sent_;
  const auto verdict = faults_.judge(static_cast<std::uint32_t>(bytes.size()));
  if (verdict.drop || partitioned_) {
    ++lost_;
    return;
  }
  Frame f(bytes.begin(), bytes.end());
  if (verdict.duplicate) launch(f, 0);
  if (verdict.corrupt) f[verdict.corrupt_bit / 8] ^= static_cast<std::uint8_t>(1u << verdict.corrupt_bit % 8);
  if (verdict.truncate) f.resize(verdict.truncate_to);
  launch(std::move(f), verdict.hold_frames);
}

// A frame held back arrives as if that many full frames had gone before it.
void SimPort::launch(Frame f, std::uint32_t hold_frames) {
  const auto frame_ns = static_cast<std::int64_t>(1100ull * 8 * 1'000'000'000 / link_.rate_bps);
  network_.carry(std::move(f), line_free_ + link_.delay + base::Duration::nanos(frame_ns) * hold_frames);
}

void Network::attach(SimPort& port, std::function<void()> wake) { ends_[port.mac()] = {&port, std::move(wake), nullptr}; }

EgressQueue& Network::queue_towards(const wire::MacAddress& host, const QueueConfig& config, std::uint64_t seed) {
  End& end = ends_.at(host);
  end.queue = std::make_unique<EgressQueue>(events_, config, seed, [this, &end](Frame f) { deliver(end, std::move(f)); });
  return *end.queue;
}

void Network::carry(Frame f, base::Instant arrival) {
  events_.at(arrival, [this, frame = std::move(f)]() mutable {
    if (frame.size() < sizeof(wire::Ethernet)) return;
    const auto it = ends_.find(reinterpret_cast<const wire::Ethernet*>(frame.data())->destination);
    if (it == ends_.end()) return;  // a corrupted address
    End& end = it->second;
    end.queue != nullptr ? end.queue->push(std::move(frame)) : deliver(end, std::move(frame));
  });
}

void Network::deliver(End& end, Frame f) {
  const std::int64_t when = events_.now().ns;
  hash_ = XXH3_64bits_withSeed(&when, sizeof(when), hash_);
  hash_ = XXH3_64bits_withSeed(f.data(), f.size(), hash_);
  if (tap) tap(events_.now(), f);
  end.port->deliver(std::move(f));
  end.wake();
}

}  // namespace uroce::sim
