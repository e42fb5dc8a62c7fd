// SPDX-License-Identifier: BSD-3-Clause
// Writes into the memory of a connected queue pair. Both ends are in this program, so nothing needs to be set up: the
// port goes nowhere, and what a device sends to its own address it gives back to itself. With two hosts each has a
// device (on a NIC's PCI address, say) and one queue pair, and they tell each other PeerInfo, address and key over TCP.
//
//   g++ -std=c++20 hello_write.cc $(pkg-config --cflags --libs uroce) -o hello_write && ./hello_write
#include <uroce/uroce.h>

#include <cstdio>
#include <cstdlib>
#include <string>

template <class T>
T must(uroce::Result<T> r) {
  if (!r) std::fprintf(stderr, "%s\n", r.error().message.c_str()), std::exit(1);
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

int main() {
  std::string from = "hello, remote memory", to(from.size(), '-');
  auto device = must(uroce::Device::open({.port = "net_null0", .addresses = {"10.0.0.1/24"}}));
  auto pd = device.alloc_pd();
  auto source = must(pd.register_memory(from.data(), from.size(), uroce::Access::local_write));
  auto target =
      must(pd.register_memory(to.data(), to.size(), {uroce::Access::local_write, uroce::Access::remote_write}));
  auto cq = must(device.create_cq({}));
  auto writer = must(pd.create_qp({.send_cq = &cq, .recv_cq = &cq}));
  auto peer = must(pd.create_qp({.send_cq = &cq, .recv_cq = &cq}));
  const uroce::Gid gid = device.gids()[1];  // of the configured address
  must(writer.connect({gid, peer.qpn(), peer.first_psn()}));
  must(peer.connect({gid, writer.qpn(), writer.first_psn()}, {.access = uroce::Access::remote_write}));

  const uroce::Sge piece = source.sge(0, static_cast<std::uint32_t>(from.size()));
  const auto posted = writer.post_send({.wr_id = 1,
                                        .opcode = uroce::WrOpcode::rdma_write,
                                        .flags = uroce::SendFlag::signaled,
                                        .sges = {&piece, 1},
                                        .remote_address = target.iova(),
                                        .rkey = target.key()});
  if (posted != uroce::PostError::none) return std::fprintf(stderr, "post: %s\n", to_string(posted)), 1;
  uroce::Completion done;
  while (cq.poll({&done, 1}) == 0) device.progress();
  std::printf("request %d: %s; the target's memory: %s\n", static_cast<int>(done.wr_id), to_string(done.status),
              to.c_str());
  return done.status == uroce::WcStatus::success ? 0 : 1;
}
