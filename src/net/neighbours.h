// SPDX-License-Identifier: BSD-3-Clause
// The neighbours of one link, IPv4 and IPv6 alike: who has which MAC, since when, and who has to be asked. The states
// are those of RFC 4861 section 7.3.2, without DELAY (nobody tells us that a peer still answers) and with FAILED.
//
// Bounded. Every entry is in one of five lists, oldest first; a new one takes the place of the oldest that matters
// less:
//   free        nothing
//   learned     it asked for us, we never asked for it: all that strangers can fill, and all that they can push out
//   unresolved  we asked for it and have no MAC (yet, or any more)
//   used        we asked for it and have a MAC
//   held        somebody relies on it: never pushed out, and probed for as long
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/time.h"
#include "net/address.h"
#include "net/counters.h"
#include "timer/wheel.h"

namespace uroce::net {

// RFC 4861 section 10, but for the last.
inline constexpr base::Duration kReachableTime = base::Duration::seconds(30);
inline constexpr base::Duration kRetransTime = base::Duration::seconds(1);
inline constexpr unsigned kSolicitTries = 3;                               // to everybody, or to the MAC we know
inline constexpr base::Duration kFailedTime = base::Duration::seconds(5);  // not asked again so long; our choice

enum class Resolution : std::uint8_t {
  unknown,    // nobody asked
  resolving,  // asked, no answer yet
  resolved,   // the MAC is known
  failed,     // did not answer; asked again kFailedTime later if it is held, else when somebody wants it
  no_route,   // off link, and there is no gateway
};

// What the owner of connections must know: a neighbour's MAC became known, changed, or (nullopt) the neighbour failed.
struct NeighbourChange {
  IpAddress neighbour;  // compare with next_hop(destination)
  std::optional<MacAddress> mac;
};

// A set of small numbers with a fair take(): round the ring, so that none waits for ever.
class IndexSet {
 public:
  explicit IndexSet(std::uint32_t capacity);
  ~IndexSet();
  void add(std::uint32_t i) noexcept;
  void remove(std::uint32_t i) noexcept;
  [[nodiscard]] bool contains(std::uint32_t i) const noexcept { return (words_[i / 64] >> (i % 64) & 1u) != 0; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  std::optional<std::uint32_t> take() noexcept;

 private:
  std::uint32_t word_count_, size_ = 0, next_ = 0;
  std::unique_ptr<std::uint64_t[]> words_;
};

class NeighbourTable {
 public:
  // `capacity` 1 .. 32768; `seed` scatters addresses over the hash, so that none can be made to collide.
  NeighbourTable(std::uint32_t capacity, std::uint64_t seed, base::Instant start, Counters& counters);
  ~NeighbourTable();
  NeighbourTable(const NeighbourTable&) = delete;
  NeighbourTable& operator=(const NeighbourTable&) = delete;

  // The MAC to send to, or nullopt while there's none. Asks for it when nobody has, and again when what we have is old.
  std::optional<MacAddress> resolve(const IpAddress& neighbour) noexcept;
  [[nodiscard]] Resolution resolution(const IpAddress& neighbour) const noexcept;

  // Relies on a neighbour until release(); asks for it when nobody has. False: no room, and nothing to release.
  bool hold(const IpAddress& neighbour) noexcept;
  void release(const IpAddress& neighbour) noexcept;

  // The neighbour asked for us and said where it is: entered, as RFC 826 and RFC 4861 section 7.2.3 want it.
  void on_solicited_by(const IpAddress& neighbour, const MacAddress& mac, base::Instant now) noexcept;
  // The neighbour answered or announced itself (RFC 4861 section 7.2.5; an ARP packet always overrides). Never entered.
  void on_advertised(const IpAddress& neighbour, std::optional<MacAddress> mac, bool solicited, bool override_known,
                     base::Instant now) noexcept;

  struct Solicit {
    IpAddress neighbour;
    std::optional<MacAddress> mac;  // ask this station only; nullopt: ask everybody
  };
  [[nodiscard]] bool owes_solicit() const noexcept { return !owed_.empty(); }
  // Who has to be asked. The time for the answer runs from here.
  std::optional<Solicit> next_solicit(base::Instant now) noexcept;

  std::optional<NeighbourChange> poll_change() noexcept;

  // At most `limit` timers; the rest is still due then. Returns how many fired.
  int on_timer(base::Instant now, int limit) noexcept;
  [[nodiscard]] base::Instant next_deadline() const noexcept { return wheel_.next_deadline(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

 private:
  enum class State : std::uint8_t { resolving, reachable, stale, probing, failed };
  enum class List : std::uint8_t { free, learned, unresolved, used, held, count };
  static constexpr std::uint16_t kNone = 0xffff;

  struct Entry {
    IpAddress address;
    MacAddress mac;  // meaningful unless resolving or failed
    State state = State::failed;
    List list = List::free;
    bool wanted = false;       // somebody here asked for it, ever
    bool asked_since = false;  // ... since it was last reachable for certain
    std::uint8_t tries = 0;    // solicitations sent in this state
    std::uint16_t next = kNone, previous = kNone;
    std::uint32_t hash = 0;
    std::uint32_t holds = 0;
    timer::Node timer{this};
    [[nodiscard]] bool usable() const noexcept { return state != State::resolving && state != State::failed; }
  };
  struct Ends {
    std::uint16_t oldest = kNone, newest = kNone;
  };

  [[nodiscard]] std::uint32_t hash_of(const IpAddress& a) const noexcept;
  [[nodiscard]] std::uint32_t index_of(const Entry& e) const noexcept {
    return static_cast<std::uint32_t>(&e - entries_.get());
  }
  [[nodiscard]] Entry* find(const IpAddress& a) const noexcept;
  Entry* create(const IpAddress& a, bool wanted) noexcept;
  Entry* victim(bool wanted) noexcept;
  Entry* want(const IpAddress& a) noexcept;
  void forget(Entry& e) noexcept;
  void remove_from_index(const Entry& e) noexcept;
  [[nodiscard]] static List list_of(const Entry& e) noexcept;
  void unlink(Entry& e) noexcept;
  void link(Entry& e, List list) noexcept;
  void refile(Entry& e) noexcept;

  void enter(Entry& e, State s) noexcept;
  void become_reachable(Entry& e, base::Instant now) noexcept;
  void become_stale(Entry& e) noexcept;
  void ask(Entry& e, State s) noexcept;
  void fail(Entry& e, base::Instant now) noexcept;
  void expired(Entry& e, base::Instant now) noexcept;
  void report(const Entry& e) noexcept;

  Counters& counters_;
  std::uint64_t seed_;
  std::uint32_t capacity_, mask_, size_ = 0;
  std::unique_ptr<Entry[]> entries_;        // an entry stays where it is: its timer is linked into the wheel
  std::unique_ptr<std::uint16_t[]> index_;  // open addressing, linear probing, at most half full
  std::array<Ends, static_cast<std::size_t>(List::count)> lists_{};
  IndexSet owed_;     // entries to solicit; their timers rest, so a try that could not be sent does not count
  IndexSet changed_;  // entries to report: their latest state, not their history
  timer::Wheel wheel_;
};

}  // namespace uroce::net
