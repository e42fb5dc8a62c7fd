// SPDX-License-Identifier: BSD-3-Clause
// Frames from net_pcap, which keeps a file's frames in memory and gives copies of them again and again.
#include <pcap/pcap.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "bench_run.h"
#include "engine/ingress.h"
#include "engine/qp_table.h"
#include "wire/icrc.h"

namespace uroce::tools {
namespace {

// A capture file that lives in memory and has a name while it is open.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("uroce-bench", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string name() const { return "/proc/self/fd/" + std::to_string(fd_); }

  Result<void> write(const std::vector<std::vector<std::uint8_t>>& frames) {
    if (fd_ < 0) return fail(ErrorCode::system, std::string("a file in memory: ") + std::strerror(errno));
    pcap_t* p = pcap_open_dead(DLT_EN10MB, 65535);
    pcap_dumper_t* d = pcap_dump_open(p, name().c_str());
    if (d == nullptr) {
      const std::string why = pcap_geterr(p);
      pcap_close(p);
      return fail(ErrorCode::system, "a file in memory: " + why);
    }
    for (const auto& f : frames) {
      pcap_pkthdr h{};
      h.caplen = h.len = static_cast<bpf_u_int32>(f.size());
      pcap_dump(reinterpret_cast<u_char*>(d), &h, f.data());
    }
    const bool written = pcap_dump_flush(d) == 0;
    pcap_dump_close(d);
    pcap_close(p);
    if (!written) return fail(ErrorCode::system, "a file in memory: no room for the frames");
    return {};
  }

 private:
  int fd_;
};

// What the ingress does for a packet that it drops or hands to a queue pair, a stage at a time, without the handing over.
class ByStage {
 public:
  ByStage(engine::Port& port, const engine::QpTable& qps) : port_(port), qps_(qps) {}

  static std::vector<Meter::Stage> stages() {
    return {{"rx_burst", "from the driver, which takes a buffer and copies a frame into it"},
            {"parse", "Ethernet to extension headers"},
            {"icrc", "ICRC of what was parsed"},
            {"lookup", "queue pair by its number, and whether it admits the packet"},
            {"release", "buffers back to the port"}};
  }

  std::uint64_t step(Meter& m) {
    m.start();
    const std::size_t n = port_.rx_burst(frames_);
    m.lap(0);
    const auto some = std::span(frames_).first(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (i + 2 < n) __builtin_prefetch(some[i + 2].bytes.data());
      wire::Drop why{};
      packets_[i] = wire::parse_frame(some[i].bytes, why);
      if (!packets_[i]) ++drops_[static_cast<std::size_t>(why)];
    }
    m.lap(1);
    for (std::size_t i = 0; i < n; ++i) {
      if (packets_[i] && !wire::icrc_matches(packets_[i]->datagram())) drop(i, wire::Drop::bad_icrc);
    }
    m.lap(2);
    for (std::size_t i = 0; i < n; ++i) {
      if (!packets_[i]) continue;
      const transport::Qp* qp = qps_.find(packets_[i]->dest_qp());
      if (qp == nullptr) {
        drop(i, wire::Drop::unknown_qp);
      } else if (const auto why = qp->admit(*packets_[i])) {
        drop(i, *why);
      } else {
        ++admitted_;
      }
    }
    m.lap(3);
    port_.rx_release(some);
    m.lap(4);
    if (m.warming_up()) drops_ = {}, admitted_ = 0;
    return n;
  }

  // Those that there were.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::uint64_t>> verdicts() const {
    std::vector<std::pair<std::string_view, std::uint64_t>> out{{"admitted", admitted_}};
    for (std::size_t i = 0; i < wire::kDropCount; ++i) {
      if (drops_[i] != 0) out.emplace_back(wire::kDropInfo[i].name, drops_[i]);
    }
    return out;
  }

 private:
  void drop(std::size_t i, wire::Drop why) {
    packets_[i].reset();
    ++drops_[static_cast<std::size_t>(why)];
  }
  engine::Port& port_;
  const engine::QpTable& qps_;
  std::array<engine::RxFrame, kBenchBatch> frames_;
  std::array<std::optional<wire::RocePacket>, kBenchBatch> packets_;
  std::array<std::uint64_t, wire::kDropCount> drops_{};
  std::uint64_t admitted_ = 0;
};

}  // namespace

Result<BenchResult> bench_receive(const BenchPlan& plan, const RxSource& source) {
  MemoryFile file;
  if (auto ok = file.write(source.frames); !ok) return tl::unexpected(ok.error());
  std::size_t longest = platform::kSoftwareFrame, bytes = 0;
  for (const auto& f : source.frames) {
    longest = std::max(longest, f.size());
    bytes += f.size();
  }
  auto port = BenchPort::open("net_pcap0,rx_pcap=" + file.name() + ",infinite_rx=1", static_cast<unsigned>(longest));
  if (!port) return tl::unexpected(port.error());

  BenchNode node;
  std::vector<std::unique_ptr<transport::Qp>> qps;
  engine::QpTable known;
  for (const std::uint32_t qpn : source.qpns) {
    auto qp = node.connect(qpn, false);
    if (!qp) return tl::unexpected(qp.error());
    known.insert(**qp);
    qps.push_back(std::move(*qp));
  }
  const auto stages = std::make_unique<ByStage>((*port)->port(), known);
  // The engine's own loop. It knows no queue pair, so that it drops every packet where it would hand it over.
  const engine::QpTable none;
  const auto ingress = std::make_unique<engine::Ingress>((*port)->port(), none);
  Meter by_stage(ByStage::stages());
  Meter by_engine(std::vector<Meter::Stage>{
      {"ingress", "all of the above stages, the packet dropped as of an unknown queue pair"}});
  Limits limits(bytes / source.frames.size());
  const auto poll = [&](Meter& m) {
    m.start();
    const int n = ingress->poll(node.context());
    m.lap(0);
    return static_cast<std::uint64_t>(n);
  };
  std::vector<Measured> all{{by_stage, [&](Meter& m) { return stages->step(m); }}, {by_engine, poll}};
  limits.measure(all);
  if (auto ok = measure_in_turn(plan, std::move(all)); !ok) return tl::unexpected(ok.error());

  BenchResult r;
  r.port = "net_pcap0,infinite_rx=1";
  r.size = source.size;
  r.frame_bytes = static_cast<double>(bytes) / static_cast<double>(source.frames.size());
  r.packets = by_stage.packets();
  r.stages = by_stage.stages();
  r.total = by_stage.total();
  r.engine = by_engine.stages();
  r.engine_total = by_engine.total();
  r.limits = limits.costs();
  r.verdicts = stages->verdicts();
  if (source.size && r.verdicts.size() != 1) {
    return fail(ErrorCode::system, "a packet made here was dropped: " + std::string(r.verdicts[1].first));
  }
  return r;
}

}  // namespace uroce::tools
