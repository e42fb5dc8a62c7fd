// SPDX-License-Identifier: BSD-3-Clause
#include "platform/dpdk/port_details.h"

#include <net/if.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_version.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "wire/build.h"
#include "wire/print.h"

namespace uroce::platform {
namespace {

// An IP packet leaves out the Ethernet header and its tag.
constexpr std::size_t kIpOverhead = wire::kMaxFrameOverhead - 18;

// Drivers that copy whole buffers between processes or rings and never look at the MTU.
bool enforces_mtu(const std::string& driver) {
  return driver != "net_memif" && driver != "net_ring" && driver != "net_null" && driver != "net_pcap";
}

std::string mac_text(std::uint16_t port) {
  rte_ether_addr a{};
  rte_eth_macaddr_get(port, &a);
  wire::MacAddress m;
  std::copy(std::begin(a.addr_bytes), std::end(a.addr_bytes), m.bytes.begin());
  std::array<char, 32> room;
  base::TextWriter out(room);
  wire::print_mac(out, m);
  return std::string(out.view());
}

// The interface's own: DPDK's drivers of kernel interfaces say 1500 whatever it is. 0: not known.
unsigned kernel_mtu(const std::string& interface) {
  const int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (s < 0) return 0;
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  const bool answered = ioctl(s, SIOCGIFMTU, &request) == 0;
  close(s);
  return answered && request.ifr_mtu > 0 ? static_cast<unsigned>(request.ifr_mtu) : 0;
}

// af_packet cuts what does not fit a frame of the ring that it shares with the kernel.
unsigned af_packet_ring_mtu(const rte_device* device) {
  constexpr unsigned kDefaultFrame = 2048,
                     kRingHead = 66;  // TPACKET2_HDRLEN and alignment; then Ethernet header and tag
  const rte_devargs* devargs = device != nullptr ? rte_dev_devargs(device) : nullptr;
  const std::string args = devargs != nullptr && devargs->args != nullptr ? devargs->args : "";
  unsigned frame = kDefaultFrame;
  if (const auto at = args.find("framesz="); at != std::string::npos) {
    std::from_chars(args.data() + at + 8, args.data() + args.size(), frame);
  }
  return frame > kRingHead + 18 ? frame - kRingHead - 18 : 0;
}

}  // namespace

unsigned path_mtu_within(unsigned mtu) noexcept {
  unsigned best = 0;
  for (unsigned m = 256; m <= 4096 && m + kIpOverhead <= mtu; m *= 2) best = m;
  return best;
}

std::vector<std::uint16_t> all_ports() {
  std::vector<std::uint16_t> out;
  for (std::uint16_t p = 0; p < RTE_MAX_ETHPORTS; ++p) {
    if (rte_eth_dev_is_valid_port(p) != 0) out.push_back(p);
  }
  return out;
}

std::string dpdk_version() {
  return rte_version();
}

Result<PortDetails> port_details(std::uint16_t port) {
  PortDetails d;
  std::array<char, RTE_ETH_NAME_MAX_LEN> name{};
  rte_eth_dev_info info{};
  int e = rte_eth_dev_get_name_by_port(port, name.data());
  if (e == 0) e = rte_eth_dev_info_get(port, &info);
  if (e != 0) return fail(ErrorCode::system, "port " + std::to_string(port) + ": query: " + rte_strerror(-e));
  d.name = name.data();
  d.driver = info.driver_name != nullptr ? info.driver_name : "?";
  if (info.device != nullptr) {
    const rte_bus* bus = rte_bus_find_by_device(info.device);
    d.bus = bus != nullptr ? rte_bus_name(bus) : "";
  }
  std::array<char, IF_NAMESIZE> interface {};
  if (info.if_index != 0 && if_indextoname(info.if_index, interface.data()) != nullptr)
    d.kernel_interface = interface.data();
  d.mac = mac_text(port);
  std::uint16_t mtu = 0;
  if (rte_eth_dev_get_mtu(port, &mtu) == 0) d.mtu = mtu;
  d.max_mtu = info.max_mtu;
  if (!d.kernel_interface.empty()) {
    if (const unsigned kernels = kernel_mtu(d.kernel_interface); kernels != 0) d.mtu = kernels;
  }
  if (d.driver == "net_af_packet") d.ring_mtu = af_packet_ring_mtu(info.device);
  d.mtu_enforced = enforces_mtu(d.driver);
  d.path_mtu = d.mtu_enforced ? path_mtu_within(d.ring_mtu != 0 ? std::min(d.mtu, d.ring_mtu) : d.mtu) : 4096;
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(port, &link) == 0) {
    d.link_up = link.link_status == RTE_ETH_LINK_UP;
    if (link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN) d.speed_mbps = link.link_speed;
  }
  d.max_rx_queues = info.max_rx_queues;
  d.max_tx_queues = info.max_tx_queues;
  d.rss = (info.flow_type_rss_offloads & RTE_ETH_RSS_UDP) != 0;
  d.rx_ip_checksum = (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) != 0;
  d.rx_udp_checksum = (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) != 0;
  d.tx_ip_checksum = (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) != 0;
  d.tx_udp_checksum = (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0;
  d.vlan_strip = (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
  d.vlan_insert = (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_VLAN_INSERT) != 0;
  d.numa_node = rte_eth_dev_socket_id(port);
  return d;
}

}  // namespace uroce::platform
