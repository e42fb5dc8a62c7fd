// SPDX-License-Identifier: BSD-3-Clause
#include "platform/dpdk/ethdev_port.h"

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "platform/dpdk/close_port.h"
#include "platform/dpdk/port_details.h"

namespace uroce::platform {
namespace {

constexpr std::size_t kMaxBurst = 64;
constexpr auto kAnySocket = static_cast<unsigned>(SOCKET_ID_ANY);

std::string port_name(std::uint16_t port) {
  char name[RTE_ETH_NAME_MAX_LEN] = "?";
  rte_eth_dev_get_name_by_port(port, name);
  return name;
}

// Buffer pools of closed ports. A far end in this process (net_ring) may still hold frames of one, so a pool goes only when
// all its buffers are home; who closes or opens a port looks after the others.
class PoolShelf {
 public:
  void put(rte_mempool* pool) {
    const std::lock_guard lock(mutex_);
    pools_.push_back(pool);
    std::erase_if(pools_, [](rte_mempool* p) {
      const bool whole = rte_mempool_full(p) != 0;
      if (whole) rte_mempool_free(p);
      return whole;
    });
  }

 private:
  std::mutex mutex_;
  std::vector<rte_mempool*> pools_;
};
PoolShelf& pool_shelf() {
  static auto* shelf = new PoolShelf;  // never destroyed: ports may be closed by static destructors
  return *shelf;
}

std::string new_pool_name() {
  static std::atomic<unsigned> serial{0};
  return "uroce_pool" + std::to_string(serial++);
}

tl::unexpected<Error> refused_by_dpdk(std::uint16_t port, const char* step, int code) {
  return fail(ErrorCode::system, "port " + port_name(port) + ": " + step + ": " + rte_strerror(-code));
}

}  // namespace

Result<std::unique_ptr<EthdevPort>> EthdevPort::open(const EthdevConfig& config) {
  std::unique_ptr<EthdevPort> p(new EthdevPort(config));
  if (auto r = p->start(); !r) return tl::unexpected(r.error());
  return p;
}

// Between what is wanted and what the device is set to. Its MTU is changed only when more is asked for by name.
Result<void> EthdevPort::agree_on_frames() {
  constexpr unsigned kLinkHeader = 18;  // Ethernet with a VLAN tag
  const auto details = port_details(config_.port);
  if (!details) return tl::unexpected(details.error());
  unsigned& wanted = config_.max_frame_bytes;
  if (!details->mtu_enforced) {
    if (wanted == 0) wanted = kSoftwareFrame;
    return {};
  }
  unsigned mtu = details->mtu;
  if (wanted > mtu + kLinkHeader) {
    const int e = rte_eth_dev_set_mtu(config_.port, static_cast<std::uint16_t>(wanted - kLinkHeader));
    if (e != 0) {
      return fail(ErrorCode::invalid_argument, "port " + port_name(config_.port) + ": frames of " + std::to_string(wanted) +
                                                   " bytes need an MTU of " + std::to_string(wanted - kLinkHeader) +
                                                   ", which the device refused (" + rte_strerror(-e) + "); it is set to " +
                                                   std::to_string(mtu) + ": leave the size of frames to it, or raise its MTU first");
    }
    mtu = wanted - kLinkHeader;
  }
  if (details->ring_mtu != 0) mtu = std::min(mtu, details->ring_mtu);
  if (wanted == 0 || wanted > mtu + kLinkHeader) wanted = mtu + kLinkHeader;
  return {};
}

Result<void> EthdevPort::start() {
  const std::uint16_t port = config_.port;
  if (auto r = agree_on_frames(); !r) return r;
  rte_eth_dev_info info{};
  if (const int e = rte_eth_dev_info_get(port, &info); e != 0) return refused_by_dpdk(port, "query", e);
  // af_packet wants room for the frames of its ring, whatever the MTU is.
  const bool by_ring = std::strcmp(info.driver_name, "net_af_packet") == 0;
  const unsigned room = (by_ring ? std::max(config_.max_frame_bytes, kSoftwareFrame) : config_.max_frame_bytes) + RTE_PKTMBUF_HEADROOM;
  if (room > UINT16_MAX) {
    return fail(ErrorCode::invalid_argument, "port " + port_name(port) + ": frames of " +
                                                 std::to_string(config_.max_frame_bytes) + " bytes; at most 65000");
  }
  pool_ = rte_pktmbuf_pool_create(new_pool_name().c_str(), config_.mbufs, 256, 0, static_cast<std::uint16_t>(room), SOCKET_ID_ANY);
  if (pool_ == nullptr) {
    return fail(ErrorCode::system, "port " + port_name(port) + ": no memory for " + std::to_string(config_.mbufs) +
                                       " buffers of " + std::to_string(room) + " bytes: " + rte_strerror(rte_errno));
  }
  // The MTU stays at the device's default where that is all it takes (memif refuses more than 1500 and still carries
  // whole buffers).
  rte_eth_conf conf{};
  conf.rxmode.offloads = info.rx_offload_capa & (RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
  conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  if (const int e = rte_eth_dev_configure(port, 1, 1, &conf); e != 0) return refused_by_dpdk(port, "configure", e);
  auto rx = static_cast<std::uint16_t>(config_.descriptors), tx = rx;
  rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx, &tx);
  if (const int e = rte_eth_rx_queue_setup(port, 0, rx, kAnySocket, nullptr, pool_); e != 0) {
    return refused_by_dpdk(port, "receive queue", e);
  }
  if (const int e = rte_eth_tx_queue_setup(port, 0, tx, kAnySocket, nullptr); e != 0) {
    return refused_by_dpdk(port, "transmit queue", e);
  }
  if (const int e = rte_eth_dev_start(port); e != 0) return refused_by_dpdk(port, "start", e);
  started_ = true;
  return {};
}

EthdevPort::~EthdevPort() {
  if (started_) close_port(config_.port);
  if (pool_ != nullptr) pool_shelf().put(pool_);
}

void EthdevPort::attach_thread() {
  registered_ = rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0;  // refused when all numbers are taken
}

void EthdevPort::detach_thread() {
  if (registered_) rte_thread_unregister();
  registered_ = false;
}

std::size_t EthdevPort::rx_burst(std::span<engine::RxFrame> frames) {
  rte_mbuf* mbufs[kMaxBurst];
  const auto want = static_cast<std::uint16_t>(std::min(frames.size(), kMaxBurst));
  const std::uint16_t got = rte_eth_rx_burst(config_.port, 0, mbufs, want);
  std::size_t n = 0;
  for (std::uint16_t i = 0; i < got; ++i) {
    rte_mbuf* m = mbufs[i];
    if (m->nb_segs > 1 && rte_pktmbuf_linearize(m) != 0) {
      ++refused_;
      rte_pktmbuf_free(m);
      continue;
    }
    engine::RxFrame& f = frames[n++];
    f.bytes = {rte_pktmbuf_mtod(m, const std::uint8_t*), m->data_len};
    f.owner = m;
    f.vlan_stripped = (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
    f.vlan_tci = m->vlan_tci;
    const std::uint64_t l4 = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    f.l4 = l4 == RTE_MBUF_F_RX_L4_CKSUM_BAD    ? engine::L4Checksum::bad
           : l4 == RTE_MBUF_F_RX_L4_CKSUM_GOOD ? engine::L4Checksum::good
                                               : engine::L4Checksum::unknown;
  }
  return n;
}

void EthdevPort::rx_release(std::span<const engine::RxFrame> frames) {
  constexpr std::size_t kFew = 4;  // up to here one by one is quicker than gathering them by pool
  if (frames.size() <= kFew) {
    for (const auto& f : frames) rte_pktmbuf_free(static_cast<rte_mbuf*>(f.owner));
    return;
  }
  rte_mbuf* mbufs[kMaxBurst];
  for (std::size_t i = 0; i < frames.size(); ++i) mbufs[i] = static_cast<rte_mbuf*>(frames[i].owner);
  rte_pktmbuf_free_bulk(mbufs, static_cast<unsigned>(frames.size()));
}

std::size_t EthdevPort::tx_alloc(std::span<engine::TxFrame> frames) {
  rte_mbuf* mbufs[kMaxBurst];
  const std::size_t n = std::min(frames.size(), kMaxBurst);
  if (n == 0 || rte_pktmbuf_alloc_bulk(pool_, mbufs, static_cast<unsigned>(n)) != 0) return 0;
  for (std::size_t i = 0; i < n; ++i) frames[i] = {rte_pktmbuf_mtod(mbufs[i], std::uint8_t*), 0, mbufs[i]};
  return n;
}

std::size_t EthdevPort::tx_burst(std::span<engine::TxFrame> frames) {
  rte_mbuf* mbufs[kMaxBurst];
  const std::size_t n = std::min(frames.size(), kMaxBurst);
  for (std::size_t i = 0; i < n; ++i) {
    auto* m = static_cast<rte_mbuf*>(frames[i].owner);
    m->data_len = static_cast<std::uint16_t>(frames[i].length);
    m->pkt_len = frames[i].length;
    mbufs[i] = m;
  }
  return rte_eth_tx_burst(config_.port, 0, mbufs, static_cast<std::uint16_t>(n));
}

void EthdevPort::tx_free(std::span<const engine::TxFrame> frames) {
  for (const auto& f : frames) rte_pktmbuf_free(static_cast<rte_mbuf*>(f.owner));
}

wire::MacAddress EthdevPort::mac() const {
  rte_ether_addr a{};
  rte_eth_macaddr_get(config_.port, &a);
  wire::MacAddress m;
  std::memcpy(m.bytes.data(), a.addr_bytes, 6);
  return m;
}

bool EthdevPort::link_up() const {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(config_.port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

bool EthdevPort::wait_for_link(unsigned milliseconds) const {
  for (unsigned waited = 0; !link_up(); waited += 10) {
    if (waited >= milliseconds) return false;
    usleep(10'000);
  }
  return true;
}

std::uint64_t EthdevPort::device_drops() const {
  rte_eth_stats s{};
  if (rte_eth_stats_get(config_.port, &s) != 0) return 0;
  return s.imissed + s.ierrors + s.rx_nombuf;
}

}  // namespace uroce::platform
