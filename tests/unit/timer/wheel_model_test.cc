// SPDX-License-Identifier: BSD-3-Clause
// The wheel against a sorted map, over 10^5 random calls and jumps of the clock from 1 us to hours.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "base/rng.h"
#include "timers.h"

namespace uroce::timer::test {
namespace {

class Model {
 public:
  Model(std::uint64_t seed, Instant start) : rng_(seed), now_(start), wheel_(start) {
    for (int i = 0; i < kTimers; ++i) timers_[i] = std::make_unique<Timer>();
  }

  void step() {
    switch (rng_.below(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        arm(pick());
        break;
      case 5:
        disarm(pick());
        break;
      default:
        advance();
    }
    check_next_deadline();
  }
  void drain() {
    while (!armed_.empty() && !testing::Test::HasFatalFailure()) {
      now_ = std::max(now_, round_up(armed_.rbegin()->first));
      expire(1 << 30);
      check_next_deadline();
    }
    EXPECT_EQ(wheel_.next_deadline(), base::kNever);
  }
  [[nodiscard]] std::uint64_t fired() const { return fired_; }
  [[nodiscard]] Instant now() const { return now_; }

 private:
  using Armed = std::multimap<Instant, Timer*>;
  static constexpr int kTimers = 200;

  static Instant round_up(Instant t) { return us((t.ns + 999) / 1000); }
  Timer& pick() { return *timers_[rng_.below(kTimers)]; }

  // From nanoseconds to hours: the size first, so that each is as likely.
  Duration some_span(unsigned max_bits) {
    const std::uint64_t mask = (std::uint64_t{1} << (1 + rng_.below(max_bits))) - 1;
    return Duration::nanos(static_cast<std::int64_t>(rng_.next() & mask));
  }
  Armed::iterator find(const Timer& t) {
    for (auto i = armed_.begin(); i != armed_.end(); ++i) {
      if (i->second == &t) return i;
    }
    return armed_.end();
  }
  void arm(Timer& t) {
    const Instant deadline = rng_.below(20) == 0 ? now_ - some_span(20) : now_ + some_span(45);
    if (const auto old = find(t); old != armed_.end()) armed_.erase(old);
    armed_.emplace(deadline, &t);
    wheel_.arm(t.node, deadline);
    ASSERT_TRUE(t.node.armed());
  }
  void disarm(Timer& t) {
    const auto old = find(t);
    ASSERT_EQ(t.node.armed(), old != armed_.end());
    if (old != armed_.end()) armed_.erase(old);
    wheel_.disarm(t.node);
    ASSERT_FALSE(t.node.armed());
  }
  void advance() {
    if (rng_.below(3) == 0) {
      // As a sleeping worker: to the next deadline, when that is ahead.
      const Instant next = wheel_.next_deadline();
      if (next != base::kNever) now_ = std::max(now_, next);
    } else {
      now_ = now_ + Duration::micros(1) + some_span(rng_.below(50) == 0 ? 44 : 32);
    }
    expire(rng_.below(4) == 0 ? static_cast<int>(rng_.below(3)) : 1 << 30);
  }
  void expire(int limit) {
    const int n = wheel_.expire(now_, limit, [this](Node& node) {
      Timer& t = timer_of(node);
      const auto i = find(t);
      ASSERT_NE(i, armed_.end()) << "fired without being armed";
      ASSERT_LE(i->first, now_) << "early";
      armed_.erase(i);
      ++fired_;
      if (rng_.below(4) == 0) {
        arm(t);
      } else if (rng_.below(4) == 0) {
        arm(pick());
      } else if (rng_.below(8) == 0) {
        disarm(pick());
      }
    });
    ASSERT_LE(n, limit);
    if (n == limit || armed_.empty()) return;
    // All that is left is due later, up to a tick. What fire() armed in the past may take one more call.
    if (armed_.begin()->first + Duration::micros(1) <= now_) {
      ASSERT_GT(n, 0) << "late: " << now_.ns - armed_.begin()->first.ns;
    }
    if (n != 0) expire(1 << 30);
  }
  void check_next_deadline() {
    const Instant next = wheel_.next_deadline();
    if (armed_.empty()) {
      ASSERT_EQ(next, base::kNever);
    } else {
      // A deadline in the past is due at once.
      ASSERT_LE(next, std::max(round_up(armed_.begin()->first), now_));
    }
  }

  base::Rng rng_;
  Instant now_;
  Wheel wheel_;
  std::unique_ptr<Timer> timers_[kTimers];
  Armed armed_;
  std::uint64_t fired_ = 0;
};

TEST(WheelModel, AgreesWithASortedMap) {
  for (std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model model(seed, us(static_cast<std::int64_t>(seed) * 7'777'777'777));
    const Instant start = model.now();
    for (int i = 0; i < 100'000 / 4; ++i) {
      ASSERT_NO_FATAL_FAILURE(model.step()) << "step " << i;
    }
    ASSERT_NO_FATAL_FAILURE(model.drain());
    EXPECT_GT(model.fired(), 2'000u);
    EXPECT_GT((model.now() - start).ns, Duration::seconds(3600 * 20).ns);  // past the wheel's reach
  }
}

}  // namespace
}  // namespace uroce::timer::test
