// SPDX-License-Identifier: BSD-3-Clause
// What DPDK says of a port that need not be open: for people who choose one.
#pragma once
#include <uroce/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace uroce::platform {

struct PortDetails {
  std::string name;              // PCI address, or a virtual device's name
  std::string bus;               // "pci", "vdev"
  std::string driver;            // DPDK's: "net_memif"
  std::string kernel_interface;  // of drivers that share the NIC with the kernel; else empty
  std::string mac;
  unsigned mtu = 0;       // bytes of IP packet the device, or the kernel's interface, is set to
  unsigned max_mtu = 0;   // and could be set to
  unsigned ring_mtu = 0;  // what the frames of af_packet's ring have room for; 0: no such limit
  // Shared-memory ports carry what the buffers hold, whatever they say their MTU is.
  bool mtu_enforced = true;
  unsigned path_mtu = 0;  // largest RoCE path MTU whose packets fit; 0: not even 256
  bool link_up = false;
  std::uint32_t speed_mbps = 0;  // 0: not known
  unsigned max_rx_queues = 0, max_tx_queues = 0;
  bool rss = false;  // spreads over receive queues by a hash of addresses and UDP ports
  bool rx_ip_checksum = false, rx_udp_checksum = false, tx_ip_checksum = false, tx_udp_checksum = false;
  bool vlan_strip = false, vlan_insert = false;
  int numa_node = -1;  // -1: none or not known
};

// Errors: system, when DPDK does not answer for the port.
Result<PortDetails> port_details(std::uint16_t port);

// Every port DPDK has, in its order.
std::vector<std::uint16_t> all_ports();

// The largest path MTU (256 .. 4096) whose longest packet, with IPv6 and every extension header, is an IP packet of at
// most `mtu` bytes; 0 when none is.
unsigned path_mtu_within(unsigned mtu) noexcept;

// "DPDK 22.11.4"
std::string dpdk_version();

}  // namespace uroce::platform
