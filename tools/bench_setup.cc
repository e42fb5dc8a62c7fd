// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <numeric>

#include "bench_run.h"
#include "capture_file.h"
#include "platform/dpdk/eal.h"
#include "wire/build.h"

namespace uroce::tools {
namespace {

constexpr std::uint32_t kQps = 16, kFirstQpn = 0x100;
constexpr std::size_t kMadeFrames = 256;
constexpr std::size_t kMostFrames = 4096;  // half of a port's buffers
constexpr std::size_t kLongestFrame = 9216;

// Any bytes but equal ones: neither copy nor CRC looks at values.
void fill(std::vector<std::uint8_t>& bytes) {
  std::uint32_t x = 1;
  for (auto& b : bytes) b = static_cast<std::uint8_t>((x = x * 1664525u + 1013904223u) >> 24);
}

}  // namespace

Result<std::unique_ptr<BenchPort>> BenchPort::open(std::string vdev, unsigned max_frame) {
  const auto number = platform::add_vdev(vdev);
  if (!number) return tl::unexpected(number.error());
  std::unique_ptr<BenchPort> p(new BenchPort(std::move(vdev)));
  auto port = platform::EthdevPort::open({.port = *number, .max_frame_bytes = max_frame});
  if (!port) return tl::unexpected(port.error());
  p->port_ = std::move(*port);
  return p;
}

BenchPort::~BenchPort() {
  port_.reset();
  platform::remove_vdev(vdev_);
}

BenchNode::BenchNode()
    : memory_(16, 1),
      context_(base::Instant{}, memory_, static_cast<transport::EventSink&>(*this), static_cast<transport::QpHost&>(*this),
               counters_) {}

wire::Path BenchNode::path(bool inbound) {
  wire::Path p;
  p.source_mac = {{2, 0, 0, 0, 0, 1}};
  p.destination_mac = {{2, 0, 0, 0, 0, 2}};
  p.source = wire::IpAddress::v4({10, 99, 0, 1});
  p.destination = wire::IpAddress::v4({10, 99, 0, 2});
  if (inbound) {
    std::swap(p.source_mac, p.destination_mac);
    std::swap(p.source, p.destination);
  }
  return p;
}

Result<std::unique_ptr<transport::Qp>> BenchNode::connect(std::uint32_t qpn, bool inbound) {
  transport::QpConfig config;
  config.qpn = qpn;
  config.pd = 1;
  config.send_depth = 2 * kBenchBatch;
  config.window_packets = 4 * kBenchBatch;
  auto qp = std::make_unique<transport::Qp>(config);
  transport::QpAttributes a;
  a.path = path(inbound);
  a.path_mtu = PathMtu::mtu4096;
  a.dest_qpn = qpn;
  a.timeout = 0;  // no timer: acknowledgements are made here
  using B = QpAttrBit;
  const std::pair<QpState, QpAttrMask> way[] = {
      {QpState::init, {B::pkey_index, B::port, B::access_flags}},
      {QpState::rtr, {B::av, B::path_mtu, B::dest_qpn, B::rq_psn, B::max_dest_rd_atomic, B::min_rnr_timer}},
      {QpState::rts, {B::timeout, B::retry_cnt, B::rnr_retry, B::sq_psn, B::max_rd_atomic}}};
  for (const auto& [to, mask] : way) {
    a.state = to;
    if (auto r = qp->modify(a, mask | B::state, context_); !r) return tl::unexpected(r.error());
  }
  return qp;
}

Result<std::uint32_t> BenchNode::register_memory(std::vector<std::uint8_t>& bytes) {
  fill(bytes);
  return memory_.register_region({bytes.data(), bytes.size(), reinterpret_cast<std::uintptr_t>(bytes.data()), {}, 1});
}

RxSource make_frames(std::uint32_t size, bool write) {
  RxSource s;
  s.size = size;
  s.qpns.resize(kQps);
  std::iota(s.qpns.begin(), s.qpns.end(), kFirstQpn);
  const wire::FrameTemplate to_us(BenchNode::path(true));
  std::vector<std::uint8_t> payload(size);
  fill(payload);
  for (std::uint32_t i = 0; i < kMadeFrames; ++i) {
    auto& frame = s.frames.emplace_back(wire::kMaxFrameOverhead + size);
    wire::FrameWriter w(to_us, frame.data(), write ? wire::opcode::kWriteOnly : wire::opcode::kSendOnly, size,
                        {s.qpns[i % kQps], i / kQps, true});
    if (write) w.ext<wire::Ext::reth>() = {wire::be64(0x10000), wire::be32(0x100), wire::be32(size)};
    std::copy(payload.begin(), payload.end(), w.payload());
    frame.resize(w.finish());
  }
  return s;
}

Result<RxSource> read_frames(const std::string& path) {
  auto file = CaptureFile::open(path);
  if (!file) return tl::unexpected(file.error());
  RxSource s;
  while (s.frames.size() < kMostFrames) {
    const auto frame = file->next();
    if (!frame) return tl::unexpected(frame.error());
    if (!*frame) break;
    const auto& f = **frame;
    if (f.bytes.size() > kLongestFrame) {
      return fail(ErrorCode::unsupported, path + ": frame " + std::to_string(f.number) + " has " +
                                              std::to_string(f.bytes.size()) + " bytes; at most " +
                                              std::to_string(kLongestFrame) + " fit a buffer");
    }
    s.frames.emplace_back(f.bytes.begin(), f.bytes.end());
  }
  if (s.frames.empty()) return fail(ErrorCode::invalid_argument, path + ": no frame in it");
  return s;
}

}  // namespace uroce::tools
