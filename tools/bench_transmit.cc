// SPDX-License-Identifier: BSD-3-Clause
// Frames built and sent into net_null, which frees them at once.
#include <array>
#include <cstring>

#include "bench_run.h"
#include "engine/egress.h"
#include "wire/build.h"
#include "wire/crc.h"
#include "wire/icrc.h"
#include "wire/syndrome.h"

namespace uroce::tools {
namespace {

constexpr std::uint32_t kQpn = 0x100;

// The messages that are sent, a slot each of a batch.
struct Messages {
  explicit Messages(std::uint32_t size) : stride((size + 63u) & ~63u), bytes(kBenchBatch * std::max(stride, 64u)) {}
  [[nodiscard]] std::uint8_t* at(std::size_t i) noexcept { return bytes.data() + i * stride; }
  std::uint32_t stride;
  std::vector<std::uint8_t> bytes;
};

// What the requester does for a packet, without its bookkeeping, a stage at a time.
class ByStage {
 public:
  ByStage(engine::Port& port, Messages& from, std::uint32_t size, bool write)
      : port_(port), from_(from), template_(BenchNode::path(false)), size_(size), write_(write) {}

  static std::vector<Meter::Stage> stages() {
    return {{"alloc", "buffers from the port"},
            {"headers", "Ethernet to BTH and RETH, and their CRC"},
            {"copy_crc", "payload copied and summed in one pass, pad, ICRC"},
            {"tx_burst", "to the driver, which frees the buffers"}};
  }

  std::uint64_t step(Meter& m) {
    m.start();
    if (port_.tx_alloc(frames_) != kBenchBatch) return 0;
    for (const auto& f : frames_) {  // as the engine does
      __builtin_prefetch(f.data, 1);
      __builtin_prefetch(f.data + 64, 1);
      __builtin_prefetch(f.data + 128, 1);
    }
    m.lap(0);
    for (std::size_t i = 0; i < kBenchBatch; ++i) headers(i);
    m.lap(1);
    for (std::size_t i = 0; i < kBenchBatch; ++i) {
      wire::FrameWriter& w = *writers_[i];
      frames_[i].length =
          static_cast<std::uint32_t>(w.finish(wire::copy_crc(w.payload(), from_.at(i), size_, crcs_[i])));
    }
    m.lap(2);
    const std::size_t taken = port_.tx_burst(frames_);
    m.lap(3);
    port_.tx_free(std::span(frames_).subspan(taken));
    return taken == kBenchBatch ? taken : 0;
  }

  // A frame, and whether it is what it should be: what is wrong would be quick for nothing.
  bool right(std::size_t& frame_bytes) {
    if (port_.tx_alloc(std::span(frames_).first(1)) != 1) return false;
    headers(0);
    wire::FrameWriter& w = *writers_[0];
    frame_bytes = w.finish(wire::copy_crc(w.payload(), from_.at(0), size_, crcs_[0]));
    wire::Drop why{};
    const auto p = wire::parse_frame({frames_[0].data, frame_bytes}, why);
    const bool ok = p && wire::icrc_matches(p->datagram()) && p->payload().size() == size_ &&
                    std::memcmp(p->payload().data(), from_.at(0), size_) == 0;
    port_.tx_free(std::span(frames_).first(1));
    return ok;
  }

 private:
  void headers(std::size_t i) {
    wire::FrameWriter& w = writers_[i].emplace(template_, frames_[i].data,
                                               write_ ? wire::opcode::kWriteOnly : wire::opcode::kSendOnly, size_,
                                               wire::BthNumbers{kQpn, psn_++ & 0xffffffu, true});
    if (write_) w.ext<wire::Ext::reth>() = {wire::be64(0x10000), wire::be32(0x100), wire::be32(size_)};
    crcs_[i] = w.header_crc();
  }

  engine::Port& port_;
  Messages& from_;
  wire::FrameTemplate template_;
  std::uint32_t size_;
  bool write_;
  std::uint32_t psn_ = 0;
  std::array<engine::TxFrame, kBenchBatch> frames_;
  std::array<std::optional<wire::FrameWriter>, kBenchBatch> writers_;
  std::array<std::uint32_t, kBenchBatch> crcs_{};
};

// The engine's own way: requests posted to a queue pair, sent by an egress. The acknowledgements that keep the window open
// are handed to the queue pair between batches, off the clock.
class ByEngine {
 public:
  ByEngine(engine::Port& port, Messages& from, std::uint32_t size, bool write)
      : egress_(port), from_(from), size_(size), write_(write), back_(BenchNode::path(true)) {}

  static std::vector<Meter::Stage> stages() {
    return {{"post", "work requests written to the send queue"},
            {"egress", "requester and egress: all of the above stages, and the connection's state"}};
  }

  Result<void> connect() {
    const auto key = node_.register_memory(from_.bytes);
    if (!key) return tl::unexpected(key.error());
    key_ = *key;
    auto qp = node_.connect(kQpn, false);
    if (!qp) return tl::unexpected(qp.error());
    qp_ = std::move(*qp);
    return {};
  }

  std::uint64_t step(Meter& m) {
    m.start();
    for (std::size_t i = 0; i < kBenchBatch; ++i) {
      const Sge sge{reinterpret_cast<std::uintptr_t>(from_.at(i)), size_, key_};
      SendWr wr;
      wr.opcode = write_ ? WrOpcode::rdma_write : WrOpcode::send;
      wr.sges = {&sge, 1};
      wr.remote_address = 0x10000;
      wr.rkey = 0x100;
      if (qp_->sq().post(wr) != PostError::none) return 0;
    }
    m.lap(0);
    egress_.enlist_requests(*qp_);
    std::size_t sent = 0;
    while (!egress_.idle()) {
      const int n = egress_.poll(node_.context());
      if (n <= 0) return 0;
      sent += static_cast<std::size_t>(n);
    }
    m.lap(1);
    return acknowledge() && sent == kBenchBatch ? sent : 0;
  }

 private:
  // Of all that was sent.
  bool acknowledge() {
    const transport::Psn last = qp_->requester().next() - 1;
    wire::FrameWriter w(back_, ack_.data(), wire::opcode::kAcknowledge, 0, {kQpn, last.value()});
    w.ext<wire::Ext::aeth>() = {wire::kNoCredits, wire::be24(0)};
    wire::Drop why{};
    const auto p = wire::parse_frame({ack_.data(), w.finish()}, why);
    if (!p || qp_->admit(*p)) return false;
    qp_->on_packet(*p, node_.context());
    return qp_->requester().idle() && qp_->state() == QpState::rts;
  }

  BenchNode node_;
  engine::Egress egress_;
  Messages& from_;
  std::uint32_t size_;
  bool write_;
  wire::FrameTemplate back_;
  std::uint32_t key_ = 0;
  std::unique_ptr<transport::Qp> qp_;
  std::array<std::uint8_t, 256> ack_{};
};

}  // namespace

Result<BenchResult> bench_transmit(BenchPort& port, const BenchPlan& plan, std::uint32_t size, bool write) {
  BenchResult r;
  r.transmit = true;
  r.port = port.vdev();
  r.size = size;
  Messages from(size);
  auto engine = std::make_unique<ByEngine>(port.port(), from, size, write);
  if (auto ok = engine->connect(); !ok) return tl::unexpected(ok.error());

  const auto stages = std::make_unique<ByStage>(port.port(), from, size, write);
  std::size_t frame_bytes = 0;
  if (!stages->right(frame_bytes)) return fail(ErrorCode::system, "a frame was built wrong, or there was no buffer for it");
  r.frame_bytes = static_cast<double>(frame_bytes);
  Meter by_stage(ByStage::stages()), by_engine(ByEngine::stages());
  Limits limits(size);
  std::vector<Measured> all{{by_stage, [&](Meter& m) { return stages->step(m); }},
                            {by_engine, [&](Meter& m) { return engine->step(m); }}};
  limits.measure(all);
  if (auto ok = measure_in_turn(plan, std::move(all)); !ok) return tl::unexpected(ok.error());
  r.packets = by_stage.packets();
  r.stages = by_stage.stages();
  r.total = by_stage.total();
  r.engine = by_engine.stages();
  r.engine_total = by_engine.total();
  r.limits = limits.costs();
  return r;
}

}  // namespace uroce::tools
