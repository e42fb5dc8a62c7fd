// SPDX-License-Identifier: BSD-3-Clause
#include "sim/egress_queue.h"

#include <algorithm>
#include <cmath>

#include "wire/ecn.h"

namespace uroce::sim {

void QueueHistogram::add(std::uint64_t bytes, base::Instant since, base::Instant until) {
  const std::int64_t ns = (std::min(until, to_) - std::max(since, from_)).ns;
  if (ns <= 0) return;
  const std::size_t bin = (bytes + kBin - 1) / kBin;
  if (bin >= ns_.size()) ns_.resize(bin + 1);
  ns_[bin] += ns;
  total_ns_ += ns;
  byte_ns_ += static_cast<decltype(byte_ns_)>(bytes) * ns;
  square_ns_ += static_cast<decltype(square_ns_)>(bytes) * bytes * ns;
  most_ = std::max(most_, bytes);
}

double QueueHistogram::mean() const {
  return total_ns_ == 0 ? 0 : static_cast<double>(byte_ns_) / static_cast<double>(total_ns_);
}

double QueueHistogram::standard_deviation() const {
  if (total_ns_ == 0) return 0;
  const double variance = static_cast<double>(square_ns_) / static_cast<double>(total_ns_) - mean() * mean();
  return variance > 0 ? std::sqrt(variance) : 0;
}

std::uint64_t QueueHistogram::percentile(std::uint32_t percent) const {
  std::int64_t left = total_ns_ / 100 * percent;
  for (std::size_t i = 0; i < ns_.size(); ++i) {
    left -= ns_[i];
    if (left <= 0) return i * kBin;
  }
  return 0;
}

void EgressQueue::change(std::uint64_t bytes) {
  histogram.add(bytes_, changed_, events_.now());
  changed_ = events_.now();
  bytes_ = bytes;
}

void EgressQueue::push(Frame f) {
  if (f.size() > config_.limit_bytes - std::min(config_.limit_bytes, bytes_)) {
    ++dropped_;
    return;
  }
  change(bytes_ + f.size());
  frames_.push_back(std::move(f));
  if (!busy_) send_next();
}

void EgressQueue::send_next() {
  if (frames_.empty()) {
    busy_ = false;
    return;
  }
  busy_ = true;
  Frame f = std::move(frames_.front());
  frames_.pop_front();
  change(bytes_ - f.size());
  if (draw_mark() && wire::mark_ce(f)) ++marked_;
  ++forwarded_;
  constexpr std::uint64_t kFraming = 24;  // preamble, FCS and gap
  const auto line = base::Duration::nanos(static_cast<std::int64_t>((f.size() + kFraming) * 8'000'000'000 / config_.rate_bps));
  const base::Instant end = events_.now() + line;
  events_.at(end + config_.delay, [this, frame = std::move(f)]() mutable { deliver_(std::move(frame)); });
  events_.at(end, [this] { send_next(); });
}

bool EgressQueue::draw_mark() {
  if (config_.kmax_bytes == 0 || bytes_ <= config_.kmin_bytes) return false;
  if (bytes_ > config_.kmax_bytes && !config_.linear_extended) return true;
  const std::uint64_t range = std::max<std::uint64_t>(config_.kmax_bytes - config_.kmin_bytes, 1);
  // Both sides times 10^6 * range: no rounding.
  return rng_.below(1'000'000) * range < config_.pmax_ppm * (bytes_ - config_.kmin_bytes);
}

}  // namespace uroce::sim
