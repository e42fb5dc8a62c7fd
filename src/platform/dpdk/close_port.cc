// SPDX-License-Identifier: BSD-3-Clause
#include "platform/dpdk/close_port.h"

#include <rte_alarm.h>
#include <rte_ethdev.h>

#include <semaphore>
#include <string_view>

namespace uroce::platform {
namespace {

struct Job {
  std::uint16_t port;
  std::binary_semaphore done{0};
};

void stop_and_close(std::uint16_t port) {
  rte_eth_dev_stop(port);
  rte_eth_dev_close(port);
}

void run_job(void* arg) {
  auto* job = static_cast<Job*>(arg);
  stop_and_close(job->port);
  job->done.release();
}

}  // namespace

// memif tears a connection down on DPDK's interrupt thread when the far end leaves, and on the calling thread when the
// port is closed, with no lock between the two: both free the same regions when two ends leave at once. Alarms run on
// the interrupt thread too, one after the other with its other work. Only memif: other drivers may wait, while they
// close, for an interrupt that then could not come.
void close_port(std::uint16_t port) {
  rte_eth_dev_info info{};
  const bool memif = rte_eth_dev_info_get(port, &info) == 0 && info.driver_name != nullptr &&
                     std::string_view(info.driver_name) == "net_memif";
  Job job{port};
  if (!memif || rte_eal_alarm_set(1, run_job, &job) != 0) return stop_and_close(port);
  job.done.acquire();
}

}  // namespace uroce::platform
