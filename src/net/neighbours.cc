// SPDX-License-Identifier: BSD-3-Clause
// The life of a neighbour. Where its entry is kept is in neighbours_store.cc.
#include "net/neighbours.h"

#include "base/assert.h"

namespace uroce::net {

void NeighbourTable::enter(Entry& e, State s) noexcept {
  owed_.remove(index_of(e));
  wheel_.disarm(e.timer);
  e.state = s;
  e.tries = 0;
}

void NeighbourTable::become_reachable(Entry& e, base::Instant now) noexcept {
  enter(e, State::reachable);
  e.asked_since = false;
  wheel_.arm(e.timer, now + kReachableTime);
}

// Usable, but to be asked before it is believed much longer: at once if somebody relies on it, else when it is wanted.
void NeighbourTable::become_stale(Entry& e) noexcept {
  if (e.holds != 0) return ask(e, State::probing);
  enter(e, State::stale);
}

void NeighbourTable::ask(Entry& e, State s) noexcept {
  enter(e, s);
  owed_.add(index_of(e));
}

void NeighbourTable::fail(Entry& e, base::Instant now) noexcept {
  enter(e, State::failed);
  counters_.add(Counter::neighbours_failed);
  wheel_.arm(e.timer, now + kFailedTime);
  report(e);
  refile(e);
}

// Neighbours that strangers put here are nobody's concern.
void NeighbourTable::report(const Entry& e) noexcept {
  if (e.wanted) changed_.add(index_of(e));
}

NeighbourTable::Entry* NeighbourTable::want(const IpAddress& a) noexcept {
  Entry* e = find(a);
  if (e == nullptr) {
    e = create(a, true);
    if (e == nullptr) return nullptr;
    ask(*e, State::resolving);
  }
  e->wanted = true;
  e->asked_since = true;
  if (e->state == State::stale) ask(*e, State::probing);
  return e;
}

std::optional<MacAddress> NeighbourTable::resolve(const IpAddress& neighbour) noexcept {
  Entry* e = want(neighbour);
  if (e == nullptr) return std::nullopt;
  refile(*e);
  if (!e->usable()) return std::nullopt;
  return e->mac;
}

Resolution NeighbourTable::resolution(const IpAddress& neighbour) const noexcept {
  const Entry* e = find(neighbour);
  if (e == nullptr) return Resolution::unknown;
  if (e->usable()) return Resolution::resolved;
  return e->state == State::failed ? Resolution::failed : Resolution::resolving;
}

bool NeighbourTable::hold(const IpAddress& neighbour) noexcept {
  Entry* e = want(neighbour);
  if (e == nullptr) return false;
  ++e->holds;
  refile(*e);
  return true;
}

void NeighbourTable::release(const IpAddress& neighbour) noexcept {
  Entry* e = find(neighbour);
  UROCE_ASSERT(e != nullptr && e->holds != 0);
  --e->holds;
  refile(*e);
}

void NeighbourTable::on_solicited_by(const IpAddress& neighbour, const MacAddress& mac, base::Instant now) noexcept {
  if (find(neighbour) != nullptr) return on_advertised(neighbour, mac, false, true, now);
  Entry* e = create(neighbour, false);
  if (e == nullptr) return;
  e->mac = mac;
  counters_.add(Counter::neighbours_learned);
  enter(*e, State::stale);
  refile(*e);
}

void NeighbourTable::on_advertised(const IpAddress& neighbour, std::optional<MacAddress> mac, bool solicited,
                                   bool override_known, base::Instant now) noexcept {
  Entry* e = find(neighbour);
  if (e == nullptr) return counters_.add(Counter::neighbour_unknown);
  if (!e->usable()) {
    if (!mac) return;
    e->mac = *mac;
    counters_.add(Counter::neighbours_resolved);
    solicited ? become_reachable(*e, now) : become_stale(*e);
    report(*e);
    return refile(*e);
  }
  const bool differs = mac && *mac != e->mac;
  if (differs && !override_known) {
    if (e->state == State::reachable) become_stale(*e);
    return;
  }
  if (differs) {
    e->mac = *mac;
    counters_.add(Counter::neighbours_changed);
    report(*e);
  }
  if (solicited) {
    become_reachable(*e, now);
  } else if (differs) {
    become_stale(*e);
  }
}

std::optional<NeighbourTable::Solicit> NeighbourTable::next_solicit(base::Instant now) noexcept {
  const auto i = owed_.take();
  if (!i) return std::nullopt;
  Entry& e = entries_[*i];
  Solicit s{e.address, std::nullopt};
  // Whoever moved without a word answers to a question to everybody only.
  if (e.state == State::probing && e.tries < kSolicitTries) s.mac = e.mac;
  ++e.tries;
  wheel_.arm(e.timer, now + kRetransTime);
  return s;
}

std::optional<NeighbourChange> NeighbourTable::poll_change() noexcept {
  const auto i = changed_.take();
  if (!i) return std::nullopt;
  const Entry& e = entries_[*i];
  NeighbourChange change{e.address, std::nullopt};
  if (e.usable()) change.mac = e.mac;
  return change;
}

int NeighbourTable::on_timer(base::Instant now, int limit) noexcept {
  return wheel_.expire(now, limit, [&](timer::Node& n) { expired(*static_cast<Entry*>(n.owner()), now); });
}

void NeighbourTable::expired(Entry& e, base::Instant now) noexcept {
  switch (e.state) {
    case State::resolving:
    case State::probing: {
      const unsigned tries = e.state == State::probing ? 2 * kSolicitTries : kSolicitTries;
      if (e.tries >= tries) return fail(e, now);
      return owed_.add(index_of(e));
    }
    case State::reachable:
      if (e.asked_since) return ask(e, State::probing);
      return become_stale(e);
    case State::failed:
      if (e.holds != 0) return ask(e, State::resolving);
      // The news of its failure is not lost with it.
      if (changed_.contains(index_of(e))) return wheel_.arm(e.timer, now + kFailedTime);
      return forget(e);
    case State::stale:
      return;
  }
}

}  // namespace uroce::net
