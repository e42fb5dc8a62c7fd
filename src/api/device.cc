// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <sys/random.h>

#include <bit>
#include <charconv>
#include <cstring>

#include "api/state.h"
#include "platform/dpdk/eal.h"
#include "wire/print.h"

namespace uroce {
namespace {

// Headers of the longest packet: Ethernet with tag, IPv6, UDP, BTH, AETH or RETH with immediate, pad, ICRC.
constexpr std::uint32_t kFrameOverhead = wire::kMaxFrameOverhead;

Result<net::InterfaceAddress> parse_prefix(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto bad = [&](const char* why) {
    return fail(ErrorCode::invalid_argument, "address '" + text + "': " + why + "; write 10.0.0.1/24 or fd00::1/64");
  };
  const auto gid = Gid::parse(text.substr(0, slash));
  if (!gid) return bad("is no IPv4 or IPv6 address");
  net::InterfaceAddress a{detail::to_ip(*gid), 0};
  const unsigned most = a.address.is_v4() ? 32 : 128;
  if (slash == std::string::npos) return bad("has no prefix length");
  const char* end = text.data() + text.size();
  const auto [stop, ec] = std::from_chars(text.data() + slash + 1, end, a.prefix_length);
  if (ec != std::errc{} || stop != end || a.prefix_length > most) return bad("has a wrong prefix length");
  return a;
}

Result<net::InterfaceConfig> interface_config(const DeviceConfig& config, const wire::MacAddress& mac, std::size_t max_frame) {
  net::InterfaceConfig c;
  c.mac = mac;
  c.mtu = static_cast<std::uint32_t>(max_frame) - 18;
  if (config.addresses.empty()) return fail(ErrorCode::invalid_argument, "device: no address; one like 10.0.0.1/24 is needed");
  for (const auto& text : config.addresses) {
    auto a = parse_prefix(text);
    if (!a) return tl::unexpected(a.error());
    c.addresses.push_back(*a);
  }
  if (!config.gateway.empty()) {
    const auto gid = Gid::parse(config.gateway);
    if (!gid) return tl::unexpected(gid.error());
    const auto ip = detail::to_ip(*gid);
    (ip.is_v4() ? c.gateway_v4 : c.gateway_v6) = ip;
  }
  if (auto ok = net::Interface::check(c); !ok) return tl::unexpected(ok.error());
  return c;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  while (getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
  }
  return seed;
}

// Virtual ports may have no address of their own (net_ring): those get a locally administered one.
wire::MacAddress usable_mac(wire::MacAddress mac, std::uint64_t seed) {
  if (mac != wire::MacAddress{}) return mac;
  base::Rng rng(seed ^ 0x6d6163);
  for (auto& b : mac.bytes) b = static_cast<std::uint8_t>(rng.next());
  mac.bytes[0] = static_cast<std::uint8_t>((mac.bytes[0] & 0xfcu) | 2u);
  return mac;
}

Result<std::uint16_t> find_or_make_port(const DeviceConfig& config, detail::DeviceState& state) {
  if (config.port.rfind("net_", 0) != 0 || config.port.find(',') == std::string::npos) {
    if (auto existing = platform::find_port(config.port)) return existing;
  }
  auto made = platform::add_vdev(config.port);
  if (made) state.vdev = config.port;
  return made;
}

}  // namespace

Result<Gid> Gid::parse(std::string_view text) {
  const std::string copy(text);
  Gid g;
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, copy.c_str(), &v4) == 1) {
    const auto host = ntohl(v4.s_addr);
    g.bytes = wire::IpAddress::v4(static_cast<std::uint8_t>(host >> 24), static_cast<std::uint8_t>(host >> 16),
                                  static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host))
                  .bytes;
  } else if (inet_pton(AF_INET6, copy.c_str(), &v6) == 1) {
    std::memcpy(g.bytes.data(), &v6, sizeof(v6));
  } else {
    return fail(ErrorCode::invalid_argument, "address '" + copy + "' is neither IPv4 nor IPv6");
  }
  return g;
}

std::string Gid::text() const {
  char room[64];
  base::TextWriter out(room);
  wire::print_address(out, detail::to_ip(*this));
  return std::string(out.view());
}

detail::DeviceState::~DeviceState() {
  node.reset();
  faults.reset();
  ethdev.reset();
  if (!vdev.empty()) platform::remove_vdev(vdev);
}

Result<Device> Device::open(const DeviceConfig& config) {
  constexpr std::uint32_t kLeastFrame = 256 + kFrameOverhead, kMostFrame = 9216;
  if (config.max_frame != 0 && (config.max_frame < kLeastFrame || config.max_frame > kMostFrame)) {
    return fail(ErrorCode::invalid_argument, "device: max_frame " + std::to_string(config.max_frame) + " is not in " +
                                                 std::to_string(kLeastFrame) + " .. " + std::to_string(kMostFrame) +
                                                 ", nor 0 for the port's own");
  }
  if (config.port.empty()) {
    return fail(ErrorCode::invalid_argument,
                "device: no port; name one such as net_memif0,role=server,socket=/tmp/uroce.sock, or a PCI address");
  }
  std::uint64_t fault_seed = 1;
  const auto faults = engine::FaultRates::parse(config.faults, fault_seed);
  if (!faults) return tl::unexpected(faults.error());
  const auto congestion = congestion::make_profile(config.congestion, std::uint64_t{config.line_rate} * 1'000'000);
  if (!congestion) return tl::unexpected(congestion.error());

  const bool pci = config.port.rfind("net_", 0) != 0;
  platform::EalConfig eal{.hugepages = config.hugepages, .pci = pci};
  if (pci) eal.allow.push_back(config.port);
  const auto cores = platform::usable_cores();
  eal.main_core = config.core >= 0 ? config.core : cores.empty() ? 0 : cores.front();
  if (auto r = platform::eal_start(eal); !r) return tl::unexpected(r.error());

  auto state = std::make_shared<detail::DeviceState>();
  state->congestion = *congestion;
  const auto number = find_or_make_port(config, *state);
  if (!number) return tl::unexpected(number.error());
  auto ethdev = platform::EthdevPort::open({.port = *number, .max_frame_bytes = config.max_frame});
  if (!ethdev) return tl::unexpected(ethdev.error());
  state->ethdev = std::move(*ethdev);
  if (faults->any()) state->faults = std::make_unique<engine::FaultPort>(*state->ethdev, *faults, fault_seed);

  const std::uint64_t seed = config.seed != 0 ? config.seed : random_seed();
  auto interface = interface_config(config, usable_mac(state->ethdev->mac(), seed), state->ethdev->max_frame_bytes());
  if (!interface) return tl::unexpected(interface.error());
  state->interface = std::make_unique<net::Interface>(*interface, seed, state->clock.now());
  engine::NodeConfig node;
  node.seed = seed;
  node.threading = config.threading;
  node.idle = config.idle;
  node.core = config.core;
  state->node = std::make_unique<engine::Node>(state->port(), state->clock, node, state->interface.get());
  return Device(std::move(state));
}

Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;
Device::~Device() = default;

int Device::progress() { return state_->node->progress(); }
bool Device::wait_for_link(unsigned milliseconds) const { return state_->ethdev->wait_for_link(milliseconds); }
std::optional<AsyncEvent> Device::poll_event() { return state_->node->poll_event(); }
int Device::event_fd() const noexcept { return state_->node->event_fd(); }
Pd Device::alloc_pd() { return {state_, state_->node->new_pd()}; }

std::vector<Gid> Device::gids() const {
  std::vector<Gid> out;
  const net::GidTable& table = state_->interface->gids();
  for (std::size_t i = 0; i < table.size(); ++i) out.push_back(detail::to_gid(table[i].gid));
  return out;
}

PathMtu Device::max_path_mtu() const noexcept {
  const std::size_t room = state_->ethdev->max_frame_bytes() - kFrameOverhead;
  auto mtu = PathMtu::mtu256;
  while (mtu < PathMtu::mtu4096 && mtu_bytes(static_cast<PathMtu>(static_cast<int>(mtu) + 1)) <= room) {
    mtu = static_cast<PathMtu>(static_cast<int>(mtu) + 1);
  }
  return mtu;
}

std::string Device::mac() const {
  char room[32];
  base::TextWriter out(room);
  wire::print_mac(out, state_->interface->mac());
  return std::string(out.view());
}

Result<Cq> Device::create_cq(const CqConfig& config) {
  if (config.capacity < 1 || config.capacity > engine::CompletionQueue::kMaxCapacity) {
    return fail(ErrorCode::invalid_argument, "completion queue: capacity " + std::to_string(config.capacity) +
                                                 " is not in 1 .. " + std::to_string(engine::CompletionQueue::kMaxCapacity));
  }
  engine::CompletionQueueConfig c;
  c.number = state_->node->new_cq_number();
  c.capacity = config.capacity;
  c.single_threaded = config.single_threaded || state_->node->config().threading == Threading::single;
  c.events = config.events;
  return Cq(std::unique_ptr<detail::CqState>(new detail::CqState{state_, engine::CompletionQueue(c)}));
}

std::vector<NamedCount> Device::counters() {
  std::vector<NamedCount> out;
  state_->node->on_worker([&](engine::Worker& w) {
    for (std::size_t i = 0; i < transport::kCounterCount; ++i) {
      const auto& info = transport::kCounterInfo[i];
      out.push_back({std::string(info.name), std::string(info.doc), w.counters()[static_cast<transport::Counter>(i)]});
    }
    for (std::size_t i = 0; i < wire::kDropCount; ++i) {
      const auto& info = wire::kDropInfo[i];
      out.push_back({"drop_" + std::string(info.name), std::string(info.doc), w.ingress().drops(static_cast<wire::Drop>(i))});
    }
    if (state_->faults) {
      out.push_back({"fault_dropped", "frames that the fault decorator dropped", state_->faults->dropped()});
    }
  });
  out.push_back({"device_drops", "frames that the device lost", state_->ethdev->device_drops()});
  return out;
}

}  // namespace uroce
