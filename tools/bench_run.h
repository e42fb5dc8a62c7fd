// SPDX-License-Identifier: BSD-3-Clause
// The two sides of `uroce bench`, and what both need.
#pragma once
#include <uroce/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench_meter.h"
#include "engine/port.h"
#include "memory/memory_table.h"
#include "platform/dpdk/ethdev_port.h"
#include "transport/qp.h"

namespace uroce::tools {

inline constexpr std::size_t kBenchBatch = 64;  // the bursts of the engine's worker

struct BenchResult {
  bool transmit = false;
  std::string port;
  std::optional<std::uint32_t> size;  // payload bytes; none: of a capture
  double frame_bytes = 0;             // the mean
  std::uint64_t packets = 0;          // measured by stage
  std::vector<StageCost> stages;
  Cost total;
  std::vector<StageCost> engine;  // the engine's own loop over the same work
  Cost engine_total;
  std::vector<StageCost> limits;
  std::vector<std::pair<std::string_view, std::uint64_t>> verdicts;  // receive: what became of the packets
};

// A port for the time of the bench.
class BenchPort {
 public:
  static Result<std::unique_ptr<BenchPort>> open(std::string vdev, unsigned max_frame);
  ~BenchPort();
  [[nodiscard]] platform::EthdevPort& port() noexcept { return *port_; }
  [[nodiscard]] const std::string& vdev() const noexcept { return vdev_; }

 private:
  explicit BenchPort(std::string vdev) : vdev_(std::move(vdev)) {}
  std::string vdev_;
  std::unique_ptr<platform::EthdevPort> port_;
};

// Connections without a peer: the transport's objects and the little of a worker that they ask for.
class BenchNode final : private transport::EventSink, private transport::QpHost {
 public:
  BenchNode();
  // An RC queue pair ready to send. `inbound`: packets go the other way of the path between the two ends.
  Result<std::unique_ptr<transport::Qp>> connect(std::uint32_t qpn, bool inbound);
  static wire::Path path(bool inbound);
  Result<std::uint32_t> register_memory(std::vector<std::uint8_t>& bytes);
  [[nodiscard]] transport::Context& context() noexcept { return context_; }

 private:
  void on_event(const AsyncEvent&) override {}
  void enlist_answers(transport::Qp&) override {}
  void enlist_requests(transport::Qp&) override {}
  void set_timer(transport::Qp&, base::Instant) override {}
  void pace(transport::Qp&, base::Instant) override {}
  void on_cq_overflow(transport::CompletionLane&) override {}
  void on_published(transport::CompletionLane&, bool) override {}

  memory::MemoryTable memory_;
  transport::Counters counters_;
  transport::Context context_;
};

struct RxSource {
  std::vector<std::vector<std::uint8_t>> frames;
  std::optional<std::uint32_t> size;  // payload, of frames made here
  std::vector<std::uint32_t> qpns;    // that exist
};
RxSource make_frames(std::uint32_t size, bool write);
// At most as many frames as a port's buffers leave room for.
Result<RxSource> read_frames(const std::string& path);

// `write`: WRITE, else SEND.
Result<BenchResult> bench_transmit(BenchPort& port, const BenchPlan& plan, std::uint32_t size, bool write);
Result<BenchResult> bench_receive(const BenchPlan& plan, const RxSource& source);
// What copying and summing so many bytes takes at least: buffers side by side, a batch of them, as on a port.
class Limits {
 public:
  explicit Limits(std::size_t bytes);
  // Memory and CRC alone, each by itself.
  void measure(std::vector<Measured>& all);
  [[nodiscard]] std::vector<StageCost> costs() const;

 private:
  template <class Work>
  std::uint64_t step(Meter& m, Work work);
  std::size_t bytes_, stride_;
  std::vector<std::uint8_t> from_, to_;
  Meter memcpy_, crc_, both_;
};

}  // namespace uroce::tools
