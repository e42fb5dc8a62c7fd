// SPDX-License-Identifier: BSD-3-Clause
// Completion queues, memory regions and queue pairs.
#include "api/state.h"
#include "transport/qp_state.h"

namespace uroce {
namespace {

// Linux's rule for the UDP source port of a connection: a flow label, given or made from the two QPNs, folded into
// 0xc000 .. 0xffff.
std::uint32_t flow_label_of(std::uint32_t given, std::uint32_t local, std::uint32_t remote) {
  if (given != 0) return given & 0xfffff;
  std::uint64_t v = std::uint64_t{local} * remote;
  v ^= v >> 20;
  v ^= v >> 40;
  return static_cast<std::uint32_t>(v) & 0xfffff;
}

std::uint16_t udp_port_of(std::uint32_t flow_label) {
  return static_cast<std::uint16_t>(((flow_label & 0x3fff) ^ (flow_label >> 14)) | 0xc000);
}

}  // namespace

Cq::Cq(std::unique_ptr<detail::CqState> s) : state_(std::move(s)) {}
Cq::Cq(Cq&&) noexcept = default;
Cq& Cq::operator=(Cq&&) noexcept = default;
Cq::~Cq() = default;
std::size_t Cq::poll(std::span<Completion> out) noexcept { return state_->queue.poll(out); }
void Cq::arm(bool solicited_only) noexcept { state_->queue.arm(solicited_only); }
int Cq::event_fd() const noexcept { return state_->queue.event_fd(); }
std::uint32_t Cq::number() const noexcept { return state_->queue.number(); }

MemoryRegion::MemoryRegion(std::unique_ptr<detail::MemoryState> s) : state_(std::move(s)) {}
MemoryRegion::MemoryRegion(MemoryRegion&&) noexcept = default;
MemoryRegion& MemoryRegion::operator=(MemoryRegion&&) noexcept = default;
MemoryRegion::~MemoryRegion() = default;
std::uint32_t MemoryRegion::key() const noexcept { return state_->key; }
std::uint64_t MemoryRegion::iova() const noexcept { return state_->iova; }
std::uint64_t MemoryRegion::length() const noexcept { return state_->length; }
Sge MemoryRegion::sge(std::uint64_t offset, std::uint32_t length) const noexcept {
  return {state_->iova + offset, length, state_->key};
}

Result<MemoryRegion> Pd::register_memory(void* address, std::size_t length, AccessFlags access,
                                         std::optional<std::uint64_t> iova) {
  const std::uint64_t start = access.has(Access::zero_based) ? 0 : iova.value_or(reinterpret_cast<std::uintptr_t>(address));
  const auto key = device_->node->register_region({static_cast<std::uint8_t*>(address), length, start, access, number_});
  if (!key) return tl::unexpected(key.error());
  return MemoryRegion(std::unique_ptr<detail::MemoryState>(new detail::MemoryState{device_, *key, start, length}));
}

Result<QueuePair> Pd::create_qp(const QpConfig& config) {
  if (config.send_cq == nullptr || config.recv_cq == nullptr) {
    return fail(ErrorCode::invalid_argument, "queue pair: send_cq and recv_cq must both be given (they may be the same)");
  }
  transport::QpConfig c;
  c.pd = number_;
  c.send_depth = config.send_depth;
  c.recv_depth = config.recv_depth;
  c.max_sges = config.max_sges;
  c.max_inline = config.max_inline;
  c.signal_all = config.signal_all;
  c.window_packets = config.window_packets;
  c.send_credits = config.send_credits;
  c.congestion = &device_->congestion;
  const auto qp = device_->node->create_qp(c, config.send_cq->state_->queue, config.recv_cq->state_->queue);
  if (!qp) return tl::unexpected(qp.error());
  return QueuePair(std::unique_ptr<detail::QpState>(new detail::QpState{device_, *qp, device_->node->random_psn()}));
}

QueuePair::QueuePair(std::unique_ptr<detail::QpState> s) : state_(std::move(s)) {}
QueuePair::QueuePair(QueuePair&&) noexcept = default;
QueuePair& QueuePair::operator=(QueuePair&&) noexcept = default;
QueuePair::~QueuePair() = default;
std::uint32_t QueuePair::qpn() const noexcept { return state_->qp->qpn(); }
std::uint32_t QueuePair::first_psn() const noexcept { return state_->first_psn; }
QpState QueuePair::state() const noexcept { return state_->qp->state(); }

Result<void> QueuePair::modify(const QpAttr& attr, QpAttrMask mask) {
  detail::DeviceState& device = *state_->device;
  transport::QpAttributes a;
  a.state = attr.state;
  a.access = attr.access;
  a.path_mtu = attr.path_mtu;
  a.dest_qpn = attr.dest_qpn;
  a.rq_psn = attr.rq_psn;
  a.sq_psn = attr.sq_psn;
  a.timeout = attr.timeout;
  a.retry_cnt = attr.retry_cnt;
  a.rnr_retry = attr.rnr_retry;
  a.min_rnr_timer = attr.min_rnr_timer;
  a.max_rd_atomic = attr.max_rd_atomic;
  a.max_dest_rd_atomic = attr.max_dest_rd_atomic;
  a.sqd_notify = attr.sqd_notify;
  if (mask.has(QpAttrBit::av)) {
    const net::GidTable& gids = device.interface->gids();
    if (attr.source_gid_index >= gids.size()) {
      return fail(ErrorCode::not_found, "qp " + std::to_string(qpn()) + ": GID index " +
                                            std::to_string(attr.source_gid_index) + "; the device has 0 .. " +
                                            std::to_string(gids.size() - 1));
    }
    a.path.source = gids[attr.source_gid_index].gid;
    a.path.destination = detail::to_ip(attr.destination);
    a.path.source_mac = device.interface->mac();
    a.path.traffic_class = attr.traffic_class;
    a.path.hop_limit = attr.hop_limit;
    a.path.flow_label = flow_label_of(attr.flow_label, qpn(), attr.dest_qpn);
    a.path.udp_source_port = udp_port_of(a.path.flow_label);
    a.loopback = device.interface->owns(a.path.destination);
  }
  if (mask.has(QpAttrBit::path_mtu) && mtu_bytes(attr.path_mtu) + wire::kMaxFrameOverhead > device.ethdev->max_frame_bytes()) {
    return fail(ErrorCode::invalid_argument, "qp " + std::to_string(qpn()) + ": path MTU " +
                                                 std::to_string(mtu_bytes(attr.path_mtu)) + " does not fit frames of " +
                                                 std::to_string(device.ethdev->max_frame_bytes()) + " bytes");
  }
  return device.node->modify_qp(*state_->qp, a, mask);
}

Result<void> QueuePair::connect(const PeerInfo& peer, QpAttr a) {
  using B = QpAttrBit;
  a.destination = peer.gid;
  a.dest_qpn = peer.qpn;
  a.rq_psn = peer.psn;
  a.sq_psn = first_psn();
  a.state = QpState::init;
  if (auto r = modify(a, {B::state, B::pkey_index, B::port, B::access_flags}); !r) return r;
  a.state = QpState::rtr;
  if (auto r = modify(a, {B::state, B::av, B::path_mtu, B::dest_qpn, B::rq_psn, B::max_dest_rd_atomic, B::min_rnr_timer}); !r) {
    return r;
  }
  a.state = QpState::rts;
  return modify(a, {B::state, B::timeout, B::retry_cnt, B::rnr_retry, B::sq_psn, B::max_rd_atomic});
}

PostError QueuePair::post_send(std::span<const SendWr> wrs, std::size_t* posted) noexcept {
  transport::Qp& qp = *state_->qp;
  PostError error = PostError::none;
  std::size_t n = 0;
  if (!transport::may_post_send(qp.state())) {
    error = PostError::bad_state;
  } else {
    for (; n < wrs.size(); ++n) {
      if (error = qp.sq().post(wrs[n]); error != PostError::none) break;
    }
  }
  if (n != 0) state_->device->node->doorbell(qp);
  if (posted != nullptr) *posted = n;
  return error;
}

PostError QueuePair::post_recv(std::span<const RecvWr> wrs, std::size_t* posted) noexcept {
  transport::Qp& qp = *state_->qp;
  PostError error = PostError::none;
  std::size_t n = 0;
  if (!transport::may_post_recv(qp.state())) {
    error = PostError::bad_state;
  } else {
    for (; n < wrs.size(); ++n) {
      if (error = qp.rq().post(wrs[n]); error != PostError::none) break;
    }
  }
  // The worker looks at the ring itself; only a queue pair in error must be told, to flush. The fence pairs with the one
  // in Qp::enter_error(): either its flush sees what was posted here, or the error is seen here.
  if (n != 0 && state_->device->node->config().threading != Threading::single) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  if (n != 0 && qp.state() == uroce::QpState::err) state_->device->node->doorbell(qp);
  if (posted != nullptr) *posted = n;
  return error;
}

}  // namespace uroce
