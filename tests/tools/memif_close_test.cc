// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a memif connection closed one right after the other, over and over: its driver tears the connection down
// on two threads. Before ports were closed on the thread that does the other half, 6 of 100 such pairs ended in a
// crash.
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "uroce/uroce.h"

namespace uroce {
namespace {

struct End {
  End(const std::string& port, const std::string& address)
      : device(Device::open({.port = port, .addresses = {address}}).value()) {
    region.emplace(pd.register_memory(data.data(), data.size(), {Access::local_write, Access::remote_write}).value());
    cq.emplace(device.create_cq({}).value());
    qp.emplace(pd.create_qp({.send_cq = &*cq, .recv_cq = &*cq}).value());
  }
  [[nodiscard]] PeerInfo info() const { return {device.gids()[1], qp->qpn(), qp->first_psn()}; }

  std::string data = std::string(64, '.');
  Device device;
  Pd pd = device.alloc_pd();
  std::optional<MemoryRegion> region;
  std::optional<Cq> cq;
  std::optional<QueuePair> qp;
};

TEST(MemifClose, BothEndsAtOnce) {
  const std::string path = testing::TempDir() + "/uroce_close" + std::to_string(getpid()) + ".sock";
  const std::string memif = ",id=0,socket=" + path + ",socket-abstract=no,bsize=4608";
  for (int i = 0; i < 60; ++i) {
    End target("net_memif0,role=server" + memif, "10.0.0.1/24"),
        writer("net_memif1,role=client" + memif, "10.0.0.2/24");
    ASSERT_TRUE(writer.device.wait_for_link(5000));
    ASSERT_TRUE(target.qp->connect(writer.info(), {.access = Access::remote_write}));
    ASSERT_TRUE(writer.qp->connect(target.info()));
    writer.data[0] = 'w';
    const Sge from = writer.region->sge(0, 64);
    ASSERT_EQ(writer.qp->post_send({.opcode = WrOpcode::rdma_write,
                                    .flags = SendFlag::signaled,
                                    .sges = {&from, 1},
                                    .remote_address = target.region->iova(),
                                    .rkey = target.region->key()}),
              PostError::none);
    Completion done;
    while (writer.cq->poll({&done, 1}) == 0) {
      writer.device.progress();
      target.device.progress();
    }
    ASSERT_EQ(done.status, WcStatus::success);
    ASSERT_EQ(target.data[0], 'w');
  }
  unlink(path.c_str());
}

}  // namespace
}  // namespace uroce
