// SPDX-License-Identifier: BSD-3-Clause
// What stands behind the public handles.
#pragma once
#include <uroce/uroce.h>

#include <memory>
#include <string>

#include "congestion/controller.h"
#include "engine/completion_queue.h"
#include "engine/fault_port.h"
#include "engine/node.h"
#include "net/interface.h"
#include "platform/dpdk/clock.h"
#include "platform/dpdk/ethdev_port.h"

namespace uroce::detail {

struct DeviceState {
  ~DeviceState();
  std::string vdev;  // made by us, and removed with the device
  platform::TscClock clock;
  std::unique_ptr<platform::EthdevPort> ethdev;
  std::unique_ptr<engine::FaultPort> faults;
  std::unique_ptr<net::Interface> interface;
  congestion::Profile congestion;
  std::unique_ptr<engine::Node> node;
  engine::Port& port() { return faults ? static_cast<engine::Port&>(*faults) : *ethdev; }
};

struct CqState {
  std::shared_ptr<DeviceState> device;
  engine::CompletionQueue queue;
};

struct MemoryState {
  std::shared_ptr<DeviceState> device;
  std::uint32_t key;
  std::uint64_t iova, length;
  ~MemoryState() { (void)device->node->deregister(key); }
};

struct QpState {
  std::shared_ptr<DeviceState> device;
  transport::Qp* qp;
  std::uint32_t first_psn;
  ~QpState() { device->node->destroy_qp(*qp); }
};

inline wire::IpAddress to_ip(const Gid& g) { return {g.bytes}; }
inline Gid to_gid(const wire::IpAddress& a) { return {a.bytes}; }

}  // namespace uroce::detail
