// SPDX-License-Identifier: BSD-3-Clause
// The uroce library: RDMA over any Ethernet port that DPDK polls.
//
//   auto device = uroce::Device::open({.port = "net_memif0,role=server,socket=/tmp/a.sock", .addresses = {"10.0.0.1/24"}});
//   auto pd = device->alloc_pd();
//   auto memory = pd.register_memory(buffer, size, {uroce::Access::local_write, uroce::Access::remote_write});
//   auto cq = device->create_cq({});
//   auto qp = pd.create_qp({.send_cq = &*cq, .recv_cq = &*cq});
//
// Objects are handles: movable, and released when they die. Release in reverse order of making; a Device outlives all
// that was made from it. No call exits, prints or blocks for ever; control calls (open, create, modify, register, and
// destructors) may wait for the worker's turn, a few microseconds, and take a lock.
//
// Threads: with Threading::single one thread makes every call. Else control calls may come from any thread; posting to
// one queue of one queue pair and polling one single-threaded completion queue each belong to one thread at a time, and
// so does destroying a queue pair that completes into such a queue: what waits of it is taken out.
#pragma once
#include <uroce/address.h>
#include <uroce/result.h>
#include <uroce/types.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace uroce {

namespace detail {
struct DeviceState;
struct CqState;
struct QpState;
struct MemoryState;
}  // namespace detail

class QueuePair;

struct DeviceConfig {
  // A virtual device in DPDK's syntax ("net_memif0,role=client,socket=/tmp/a.sock"), or the name or PCI address of a
  // port that DPDK already has.
  std::string port{};
  std::vector<std::string> addresses{};  // "10.0.0.1/24", "fd00::1/64"; 1 .. 16
  std::string gateway{};               // for destinations that no prefix covers; IPv4 or IPv6
  // Bytes of the longest Ethernet frame either way; path MTU 4096 needs 4217. 0: what the port is set to, 4352 for ports in
  // shared memory, which carry what their buffers hold. More than the port is set to changes its MTU.
  std::uint32_t max_frame = 0;
  Threading threading = Threading::single;
  Idle idle = Idle::yield;
  int core = -1;                       // Threading::dedicated: the core; -1: any
  bool hugepages = false;              // else ordinary pages: no set-up, no privileges, slower
  std::string faults{};                // what happens to sent frames: "drop=0.01,seed=1"; see docs/ARCHITECTURE.md
  // Congestion control of its queue pairs, "ALGORITHM[:SET][,KEY=VALUE]...": "dcqcn", "dcqcn:nvidia,rp_ai_rate=20",
  // "fixed_rate,rate=500"; see docs/ARCHITECTURE.md.
  std::string congestion = "none";
  std::uint32_t line_rate = 100'000;   // Mb/s that the port sends, 1 .. 400000: where congestion control starts
  std::uint64_t seed = 0;              // of keys, QPNs and PSNs; 0: from the operating system
};

struct CqConfig {
  std::uint32_t capacity = 1024;  // 1 .. 2^22 completions
  bool single_threaded = false;   // one thread at a time polls and destroys its queue pairs: saves a lock
  bool events = false;            // has event_fd()
};

// A completion queue.
class Cq {
 public:
  Cq(Cq&&) noexcept;
  Cq& operator=(Cq&&) noexcept;
  ~Cq();
  // Takes up to out.size() completions; those of one work queue come in order. Any thread, unless single_threaded.
  std::size_t poll(std::span<Completion> out) noexcept;
  // The next completion (solicited_only: the next solicited or failed one) makes event_fd() readable, once. Poll again
  // after arming: what came before does not count.
  void arm(bool solicited_only = false) noexcept;
  [[nodiscard]] int event_fd() const noexcept;  // nonblocking eventfd; -1 without events
  [[nodiscard]] std::uint32_t number() const noexcept;

 private:
  friend class Device;
  friend class Pd;
  explicit Cq(std::unique_ptr<detail::CqState> s);
  std::unique_ptr<detail::CqState> state_;
};

// A memory region. Its key works for local and remote use.
class MemoryRegion {
 public:
  MemoryRegion(MemoryRegion&&) noexcept;
  MemoryRegion& operator=(MemoryRegion&&) noexcept;
  // Deregisters: the key is dead at once, and no copy under it is in progress when this returns.
  ~MemoryRegion();
  [[nodiscard]] std::uint32_t key() const noexcept;
  // What peers and SGEs name the first byte by.
  [[nodiscard]] std::uint64_t iova() const noexcept;
  [[nodiscard]] std::uint64_t length() const noexcept;
  // [offset, offset + length) as an SGE.
  [[nodiscard]] Sge sge(std::uint64_t offset, std::uint32_t length) const noexcept;

 private:
  friend class Pd;
  explicit MemoryRegion(std::unique_ptr<detail::MemoryState> s);
  std::unique_ptr<detail::MemoryState> state_;
};

struct QpConfig {
  Cq* send_cq = nullptr;              // outlive the queue pair
  Cq* recv_cq = nullptr;
  std::uint32_t send_depth = 128;     // 1 .. 65536
  std::uint32_t recv_depth = 128;
  std::uint32_t max_sges = 4;         // 1 .. 16
  std::uint32_t max_inline = 64;      // 0 .. 1024 bytes
  bool signal_all = false;            // every send completes
  std::uint32_t window_packets = 256; // unacknowledged packets, 2 .. 2^22
  bool send_credits = false;          // tell the peer how many receives are posted
};

// A protection domain.
class Pd {
 public:
  // [address, address + length) must stay mapped while the region lives. `iova`: what the first byte is called, the
  // address itself when absent, 0 with Access::zero_based. Errors: invalid_argument, no_room.
  Result<MemoryRegion> register_memory(void* address, std::size_t length, AccessFlags access,
                                       std::optional<std::uint64_t> iova = {});
  // A reliable connection's queue pair, in RESET. Errors: invalid_argument, no_room.
  Result<QueuePair> create_qp(const QpConfig& config);

 private:
  friend class Device;
  Pd(std::shared_ptr<detail::DeviceState> d, std::uint32_t n) : device_(std::move(d)), number_(n) {}
  std::shared_ptr<detail::DeviceState> device_;
  std::uint32_t number_;
};

// What modify() sets, by QpAttrBit.
struct QpAttr {
  QpState state = QpState::reset;
  AccessFlags access{};
  Gid destination{};                   // av
  std::uint8_t source_gid_index = 1;   // av: which of Device::gids()
  std::uint8_t traffic_class = 0;      // av: DSCP 7:2, ECN 1:0
  std::uint8_t hop_limit = 64;         // av
  std::uint32_t flow_label = 0;        // av: 0: made from the QPNs
  PathMtu path_mtu = PathMtu::mtu1024;
  std::uint32_t dest_qpn = 0;
  std::uint32_t rq_psn = 0;
  std::uint32_t sq_psn = 0;
  std::uint8_t timeout = 14;           // 4.096 us * 2^timeout; 0: none
  std::uint8_t retry_cnt = 7;
  std::uint8_t rnr_retry = 7;          // 7: for ever
  std::uint8_t min_rnr_timer = 12;     // code
  std::uint8_t max_rd_atomic = 16;     // 0 .. 128
  std::uint8_t max_dest_rd_atomic = 16;
  bool sqd_notify = false;
};

// The other end, as learnt out of band.
struct PeerInfo {
  Gid gid{};
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;  // of its first request
};

// A reliable connection's queue pair.
class QueuePair {
 public:
  QueuePair(QueuePair&&) noexcept;
  QueuePair& operator=(QueuePair&&) noexcept;
  // In every state, also with work outstanding: nothing of it completes afterwards. Duplicates of what the peer sent
  // are acknowledged for up to a second more.
  ~QueuePair();
  [[nodiscard]] std::uint32_t qpn() const noexcept;
  [[nodiscard]] std::uint32_t first_psn() const noexcept;  // a random one for connect(), to be told to the peer
  [[nodiscard]] QpState state() const noexcept;

  // The verbs' state machine. Errors: wrong_state, invalid_argument, not_found (GID index); then nothing has changed.
  Result<void> modify(const QpAttr& attr, QpAttrMask mask);
  // RESET to RTS in one call, with the attributes of `attr` that are not about the peer.
  Result<void> connect(const PeerInfo& peer, QpAttr attr = {});

  // Posts in order until one is refused, and says why; `posted` becomes how many were taken. One thread at a time.
  PostError post_send(std::span<const SendWr> wrs, std::size_t* posted = nullptr) noexcept;
  PostError post_recv(std::span<const RecvWr> wrs, std::size_t* posted = nullptr) noexcept;
  PostError post_send(const SendWr& wr) noexcept { return post_send(std::span(&wr, 1)); }
  PostError post_recv(const RecvWr& wr) noexcept { return post_recv(std::span(&wr, 1)); }

 private:
  friend class Pd;
  explicit QueuePair(std::unique_ptr<detail::QpState> s);
  std::unique_ptr<detail::QpState> state_;
};

// A counter of the device, by the name it has everywhere.
struct NamedCount {
  std::string name;
  std::string doc;
  std::uint64_t value = 0;
};

// A port and its worker.
class Device {
 public:
  // Starts DPDK when the process has not. Errors: invalid_argument, not_found, system; the message says what to do.
  static Result<Device> open(const DeviceConfig& config);
  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;
  ~Device();

  // Does a turn of work unless a dedicated thread does it; call it whenever you poll. Returns 0 when there was nothing.
  int progress();
  // Whether the port's link is up; waits for it at most so long. Virtual ports come up when the other side is there.
  [[nodiscard]] bool wait_for_link(unsigned milliseconds) const;
  // [0] is the link-local address of the MAC, then the configured addresses in order.
  [[nodiscard]] std::vector<Gid> gids() const;
  // The largest path MTU whose packets fit the port's frames.
  [[nodiscard]] PathMtu max_path_mtu() const noexcept;
  [[nodiscard]] std::string mac() const;

  Pd alloc_pd();
  Result<Cq> create_cq(const CqConfig& config);
  // Errors, connections established, and the like; event_fd() is readable while there are some.
  std::optional<AsyncEvent> poll_event();
  [[nodiscard]] int event_fd() const noexcept;
  // All counters and drop reasons; a moment's values.
  [[nodiscard]] std::vector<NamedCount> counters();

 private:
  explicit Device(std::shared_ptr<detail::DeviceState> s) : state_(std::move(s)) {}
  std::shared_ptr<detail::DeviceState> state_;
};

}  // namespace uroce
