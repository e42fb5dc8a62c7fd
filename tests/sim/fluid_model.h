// SPDX-License-Identifier: BSD-3-Clause
// DCQCN's fluid model for N alike flows ("ECN or Delay", CoNEXT 2016): delay differential equations, integrated by Euler's
// method. Time in seconds, rates in packets of 1 000 bytes a second, the queue in packets (so in KB). For tests: it is
// floating point.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace uroce::sim {

struct FluidConfig {
  int flows = 2;
  double feedback_delay = 4e-6;
  double line = 40e9 / 8e3, additive = 40e6 / 8e3;
  double byte_counter = 10'000, timer = 55e-6, threshold = 5;  // packets, s, stages
  double cnp_gap = 50e-6, alpha_period = 55e-6, g = 1.0 / 256;
  double kmin = 5, kmax = 200, pmax = 0.01;  // KB, KB, probability; the slope goes on above kmax
  double length = 0.5, watched = 0.05;       // s; the last of it is what counts
};

struct FluidResult {
  double mean = 0, sd = 0, least = 0, most = 0;  // of the queue, KB
};

inline FluidResult integrate(const FluidConfig& c) {
  constexpr double kStep = 0.25e-6;
  double rate = c.line / c.flows, target = rate, alpha = 0.05, queue = c.kmin + 1;
  const auto lag = static_cast<std::size_t>(std::lround(c.feedback_delay / kStep));  // read before it is written anew
  std::vector<double> past_p(lag, 0), past_rate(lag, rate);
  const auto steps = static_cast<std::size_t>(c.length / kStep), watch = static_cast<std::size_t>(c.watched / kStep);
  double sum = 0, squares = 0;
  FluidResult out{.least = 1e30};
  for (std::size_t s = 0; s < steps; ++s) {
    const double p = past_p[s % lag], r = past_rate[s % lag];
    past_p[s % lag] = std::clamp(c.pmax * (queue - c.kmin) / (c.kmax - c.kmin), 0.0, 1.0);
    past_rate[s % lag] = rate;
    // a: a CNP within a gap; b, d: increases by bytes and by time, a packet; c, e: those of them past fast recovery.
    double a = 0, b = 1 / c.byte_counter, d = 1 / (c.timer * r), seen = 0;
    double additive_b = b, additive_d = d;
    if (p > 0) {
      const double log_unmarked = std::log1p(-std::min(p, 0.999999));
      a = -std::expm1(c.cnp_gap * r * log_unmarked);
      seen = -std::expm1(c.alpha_period * r * log_unmarked);
      b = p / std::expm1(std::min(c.byte_counter * -log_unmarked, 700.0));
      d = p / std::expm1(c.timer * r * -log_unmarked);
      additive_b = b * std::exp(c.threshold * c.byte_counter * log_unmarked);
      additive_d = d * std::exp(c.threshold * c.timer * r * log_unmarked);
    }
    const double slope_alpha = c.g / c.alpha_period * (seen - alpha);
    const double slope_target = -(target - rate) * a / c.cnp_gap + c.additive * r * (additive_b + additive_d);
    const double slope_rate = -rate * alpha * a / (2 * c.cnp_gap) + (target - rate) * r * (b + d) / 2;
    alpha += kStep * slope_alpha;
    target = std::clamp(target + kStep * slope_target, 1.0, c.line);
    rate = std::clamp(rate + kStep * slope_rate, 1.0, c.line);
    queue = std::max(queue + kStep * (c.flows * rate - c.line), 0.0);
    if (s + watch < steps) continue;
    sum += queue;
    squares += queue * queue;
    out.least = std::min(out.least, queue);
    out.most = std::max(out.most, queue);
  }
  const auto n = static_cast<double>(std::min(watch, steps));
  out.mean = sum / n;
  out.sd = std::sqrt(std::max(squares / n - out.mean * out.mean, 0.0));
  return out;
}

}  // namespace uroce::sim
