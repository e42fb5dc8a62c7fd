// SPDX-License-Identifier: BSD-3-Clause
#include "connected_pair.h"

#include "platform/dpdk/eal.h"

namespace uroce::bench {
namespace {

template <class T>
Result<void> put(std::optional<T>& to, Result<T>&& made) {
  if (!made) return tl::unexpected(made.error());
  to.emplace(std::move(*made));
  return {};
}

Result<void> open(End& end, const PairConfig& config, const std::string& port, const char* address) {
  DeviceConfig d;
  d.port = port;
  d.addresses = {address};
  d.threading = config.threading;
  d.idle = Idle::spin;
  d.hugepages = config.hugepages;
  if (auto r = put(end.device, Device::open(d)); !r) return r;
  end.pd.emplace(end.device->alloc_pd());
  end.bytes.resize(config.bytes);
  for (std::size_t i = 0; i < end.bytes.size(); ++i) end.bytes[i] = static_cast<std::uint8_t>(i * 167);
  auto region = end.pd->register_memory(end.bytes.data(), end.bytes.size(),
                                        {Access::local_write, Access::remote_write, Access::remote_read});
  if (auto r = put(end.region, std::move(region)); !r) return r;
  CqConfig cq;
  cq.capacity = config.depth;
  cq.single_threaded = true;
  if (auto r = put(end.send_cq, end.device->create_cq(cq)); !r) return r;
  if (auto r = put(end.recv_cq, end.device->create_cq(cq)); !r) return r;
  QpConfig q;
  q.send_cq = &*end.send_cq;
  q.recv_cq = &*end.recv_cq;
  q.send_depth = q.recv_depth = config.depth;
  return put(end.qp, end.pd->create_qp(q));
}

Result<void> connect(End& from, const End& to, PathMtu mtu) {
  QpAttr a;
  a.access = {Access::remote_write, Access::remote_read};
  a.path_mtu = mtu;
  a.timeout = 18;  // a second: a measuring thread that is put aside is not a lost packet
  return from.qp->connect({to.device->gids()[1], to.qp->qpn(), to.qp->first_psn()}, a);
}

}  // namespace

Result<ConnectedPair> ConnectedPair::make(const PairConfig& config) {
  platform::EalConfig eal{.hugepages = config.hugepages};
  if (const auto cores = platform::usable_cores(); !cores.empty()) eal.main_core = cores.front();
  if (auto r = platform::eal_start(eal); !r) return tl::unexpected(r.error());
  auto ports = RingPorts::make(config.name);
  if (!ports) return tl::unexpected(ports.error());
  const std::string names[] = {ports->name(0), ports->name(1)};
  ConnectedPair p(std::move(*ports));
  if (auto r = open(p.a, config, names[0], "10.0.0.1/24"); !r) return tl::unexpected(r.error());
  if (auto r = open(p.b, config, names[1], "10.0.0.2/24"); !r) return tl::unexpected(r.error());
  if (auto r = connect(p.a, p.b, config.path_mtu); !r) return tl::unexpected(r.error());
  if (auto r = connect(p.b, p.a, config.path_mtu); !r) return tl::unexpected(r.error());
  return p;
}

}  // namespace uroce::bench
