// SPDX-License-Identifier: BSD-3-Clause
#include "replay_device.h"

#include <pcap/pcap.h>

#include <bit>
#include <cstring>

#include "capture_file.h"
#include "platform/dpdk/eal.h"

namespace uroce::tools {
namespace {

constexpr unsigned kMaxFrame = 4096 + 256;
constexpr std::uint64_t kScratchIova = 0x10000;

Result<void> write_pcap(const std::string& path, const std::vector<ReplayFrame>& frames) {
  pcap_t* p = pcap_open_dead(DLT_EN10MB, 65535);
  pcap_dumper_t* d = pcap_dump_open(p, path.c_str());
  if (d == nullptr) {
    const std::string why = pcap_geterr(p);
    pcap_close(p);
    return fail(ErrorCode::system, path + ": " + why);
  }
  for (const ReplayFrame& f : frames) {
    pcap_pkthdr h{};
    h.caplen = h.len = static_cast<bpf_u_int32>(f.bytes.size());
    pcap_dump(reinterpret_cast<u_char*>(d), &h, f.bytes.data());
  }
  pcap_dump_close(d);
  pcap_close(p);
  return {};
}

}  // namespace

Result<std::unique_ptr<ReplayDevice>> ReplayDevice::open(const Flow& flow, const ReplayEnd& end,
                                                         const std::vector<ReplayFrame>& input) {
  std::unique_ptr<ReplayDevice> d(new ReplayDevice);
  if (auto r = d->start(flow, end, input); !r) return tl::unexpected(r.error());
  return d;
}

Result<void> ReplayDevice::start(const Flow& flow, const ReplayEnd& end, const std::vector<ReplayFrame>& input) {
  if (auto r = platform::eal_start({}); !r) return r;
  std::string name = (std::filesystem::temp_directory_path() / "uroce-replay-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return fail(ErrorCode::system, name + ": " + std::strerror(errno));
  folder_ = name;
  const std::string in = folder_ / "in.pcap", out = folder_ / "out.pcap";
  if (auto r = write_pcap(in, input); !r) return r;
  static unsigned devices = 0;
  vdev_ = "net_pcap" + std::to_string(devices++) + ",rx_pcap=" + in + ",tx_pcap=" + out;
  const auto number = platform::add_vdev(vdev_);
  if (!number) return tl::unexpected(number.error());
  auto port = platform::EthdevPort::open({.port = *number, .max_frame_bytes = kMaxFrame, .mbufs = 2047});
  if (!port) return tl::unexpected(port.error());
  port_ = std::move(*port);
  gate_ = std::make_unique<GatedPort>(*port_);
  if (auto r = make_memory(flow, end); !r) return r;
  transport::EventSink& events = *this;
  worker_ = std::make_unique<engine::Worker>(*gate_, *memory_, events, now_);
  return connect(flow, end);
}

Result<void> ReplayDevice::make_memory(const Flow& flow, const ReplayEnd& end) {
  std::uint32_t slots = 1;
  for (const auto& [key, hull] : flow.keys) slots = std::max(slots, (key >> 8) + 1);
  constexpr std::uint32_t kMaxSlots = 1u << 20;
  if (slots >= kMaxSlots) return fail(ErrorCode::unsupported, "a key over " + std::to_string(kMaxSlots << 8) + " in the capture");
  memory_ = std::make_unique<memory::MemoryTable>(slots + 1, memory::MemoryTable::Dictated{});

  using A = Access;
  if (!end.requester) {
    for (const auto& [key, hull] : flow.keys) {
      const std::uint64_t length = hull.end == 0 ? 0 : hull.end - hull.begin;
      if (length > (std::uint64_t{1} << 32)) return fail(ErrorCode::unsupported, "accesses that span over 4 GiB");
      // Placed so that an aligned remote address is an aligned local one.
      const std::uint64_t skew = length == 0 ? 0 : hull.begin % 8;
      Region& region = regions_.emplace_back(Region{hull.begin - skew, std::vector<std::uint64_t>((length + skew) / 8 + 1)});
      auto* bytes = reinterpret_cast<std::uint8_t*>(region.words.data()) + skew;
      AccessFlags access{A::local_write, A::remote_write, A::remote_read, A::remote_atomic};
      if (hull.invalidated) access |= A::remote_invalidate;
      const auto r = memory_->register_dictated(key, {bytes, length, length == 0 ? 0 : hull.begin, access, 1});
      if (!r) return r;
    }
    for (const auto& [va, content] : flow.atomic_seed) std::memcpy(target(va), &content, sizeof(content));
  }
  scratch_.resize(std::max<std::uint32_t>(flow.longest_message, 8));
  const std::uint32_t scratch_key = slots << 8 | 1;
  scratch_sge_ = {kScratchIova, static_cast<std::uint32_t>(scratch_.size()), scratch_key};
  return memory_->register_dictated(scratch_key, {scratch_.data(), scratch_.size(), kScratchIova, A::local_write, 1});
}

std::uint8_t* ReplayDevice::target(std::uint64_t va) {
  for (Region& r : regions_) {
    if (va >= r.begin && va + 8 <= r.begin + r.words.size() * 8) {
      return reinterpret_cast<std::uint8_t*>(r.words.data()) + (va - r.begin);
    }
  }
  return nullptr;
}

Result<void> ReplayDevice::connect(const Flow& flow, const ReplayEnd& end) {
  const std::uint32_t slots = std::bit_ceil(std::max(1024u, 2 * end.send_depth));
  send_slots_.resize(slots);
  recv_slots_.resize(slots);
  send_lane_.init(send_slots_.data(), slots, slots, 1);
  recv_lane_.init(recv_slots_.data(), slots, slots, 2);
  transport::QpConfig c;
  c.qpn = end.requester ? flow.requester_qpn : flow.responder_qpn;
  c.pd = 1;
  c.send_lane = &send_lane_;
  c.recv_lane = &recv_lane_;
  c.send_depth = end.send_depth;
  c.window_packets = transport::kMaxWindow;
  qp_ = std::make_unique<transport::Qp>(c);
  worker_->add(*qp_);

  const auto first = flow.requests.front().packet();
  const wire::Ethernet& eth = first.datagram().ethernet();
  transport::QpAttributes a;
  a.access = {Access::remote_write, Access::remote_read, Access::remote_atomic};
  a.path.source_mac = end.requester ? eth.source : eth.destination;
  a.path.destination_mac = end.requester ? eth.destination : eth.source;
  a.path.source = end.requester ? flow.requester : flow.responder;
  a.path.destination = end.requester ? flow.responder : flow.requester;
  a.path_mtu = static_cast<PathMtu>(std::bit_width(flow.path_mtu / 256));
  a.dest_qpn = end.requester ? flow.responder_qpn : flow.requester_qpn;
  a.rq_psn = a.sq_psn = first.psn();
  a.timeout = 0;  // time is the capture's: nothing is lost that it does not show
  a.min_rnr_timer = flow.rnr_timer;
  a.max_rd_atomic = a.max_dest_rd_atomic = 128;
  const auto go = [&](QpState to, QpAttrMask mask) {
    a.state = to;
    return worker_->modify(*qp_, a, mask | QpAttrBit::state, now_);
  };
  using B = QpAttrBit;
  if (auto r = go(QpState::init, {B::pkey_index, B::port, B::access_flags}); !r) return r;
  if (auto r = go(QpState::rtr, {B::av, B::path_mtu, B::dest_qpn, B::rq_psn, B::max_dest_rd_atomic, B::min_rnr_timer}); !r) {
    return r;
  }
  return go(QpState::rts, {B::timeout, B::retry_cnt, B::rnr_retry, B::sq_psn, B::max_rd_atomic});
}

ReplayDevice::~ReplayDevice() {
  (void)close();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void ReplayDevice::run() {
  now_ = now_ + base::Duration::micros(1);
  transport::LaneEntry received;
  while (worker_->do_work(now_) != 0) {
  }
  while (recv_lane_.pop(received)) {
  }
}

void ReplayDevice::feed() {
  gate_->release(1);
  run();
}

bool ReplayDevice::post_receive() {
  return qp_->rq().post({0, std::span(&scratch_sge_, 1)}) == transport::PostError::none;
}

Result<std::vector<ReplayFrame>> ReplayDevice::close() {
  worker_.reset();
  gate_.reset();
  if (port_ == nullptr) return std::vector<ReplayFrame>{};
  port_.reset();  // flushes the output file
  platform::remove_vdev(vdev_);
  auto file = CaptureFile::open(folder_ / "out.pcap");
  if (!file) return tl::unexpected(file.error());
  std::vector<ReplayFrame> frames;
  for (;;) {
    auto frame = file->next();
    if (!frame) return tl::unexpected(frame.error());
    if (!*frame) return frames;
    frames.push_back({(*frame)->number, {(*frame)->bytes.begin(), (*frame)->bytes.end()}});
  }
}

}  // namespace uroce::tools
