// SPDX-License-Identifier: BSD-3-Clause
#include "sim/host.h"

#include <algorithm>

namespace uroce::sim {

Host::Host(Network& network, const wire::MacAddress& mac, const LinkConfig& link, std::uint64_t seed)
    : events_(network.events()),
      port_(network, mac, link, seed),
      memory_(1024, seed ^ 0x6b657973),
      worker_(port_, memory_, *this, events_.now()) {
  network.attach(port_, [this] { run(); });
}

void Host::run() {
  if (running_) return;
  running_ = true;
  bool more = true;
  while (more) {
    while (worker_.do_work(events_.now()) != 0) {
    }
    more = application && application();
  }
  running_ = false;
  schedule();
}

// One pending wake-up a host, moved earlier when needed; a late one finds nothing to do and files the next.
void Host::schedule() {
  base::Instant next = worker_.next_deadline();
  if (next.ns == 0) next = std::max(port_.room_at(), events_.now() + base::Duration::nanos(1));  // waits for the port
  if (next == base::kNever || next >= wake_at_) return;
  wake_at_ = next;
  events_.at(next, [this, next] {
    if (wake_at_ == next) wake_at_ = base::kNever;
    run();
  });
}

}  // namespace uroce::sim
