// SPDX-License-Identifier: BSD-3-Clause
// A port's worker and everything that outlives a turn: memory, queue pairs, completion queues, events. The control
// calls take a lock and may wait for the worker; posting and polling do not.
#pragma once
#include <atomic>
#include <boost/lockfree/queue.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include <uroce/result.h>
#include <uroce/types.h>

#include "engine/clock.h"
#include "engine/completion_queue.h"
#include "engine/mailbox.h"
#include "engine/port.h"
#include "engine/qpn_pool.h"
#include "engine/worker.h"
#include "memory/memory_table.h"

namespace uroce::engine {

struct NodeConfig {
  std::uint64_t seed = 0;             // of keys, QPNs and PSNs: unpredictable outside tests
  std::uint32_t max_regions = 65536;  // 1 .. 2^20
  Threading threading = Threading::single;
  Idle idle = Idle::yield;
  int core = -1;                      // dedicated: the core it runs on; -1: any
};

class Node final : private transport::EventSink {
 public:
  // `interface`: null when queue pairs come with their destination's MAC. Everything outlives the node.
  Node(Port& port, const Clock& clock, const NodeConfig& config, net::Interface* interface = nullptr);
  ~Node();

  // One turn, unless a dedicated thread does it. Returns how much there was to do.
  int progress();

  // --- queue pairs ---------------------------------------------------------------------------------------------
  // `config.qpn` and the lanes are filled in. Errors: no_room, invalid_argument.
  Result<transport::Qp*> create_qp(transport::QpConfig config, CompletionQueue& send, CompletionQueue& recv);
  Result<void> modify_qp(transport::Qp& qp, const transport::QpAttributes& a, QpAttrMask mask);
  // Completions that wait of it vanish; the object stays a while for its peer. The pointer is dead.
  void destroy_qp(transport::Qp& qp);
  // After posts to it.
  void doorbell(transport::Qp& qp);

  // --- memory --------------------------------------------------------------------------------------------------
  [[nodiscard]] memory::PdNumber new_pd() { return ++last_pd_; }
  Result<std::uint32_t> register_region(const memory::Registration& r);
  // The key is dead when this is called; it returns when no copy under it is in progress any more.
  Result<void> deregister(std::uint32_t key);

  // --- events --------------------------------------------------------------------------------------------------
  std::optional<AsyncEvent> poll_event();
  [[nodiscard]] int event_fd() const noexcept { return event_fd_; }

  [[nodiscard]] std::uint32_t new_cq_number() noexcept { return ++last_cq_; }
  [[nodiscard]] std::uint32_t random_psn();
  [[nodiscard]] const NodeConfig& config() const noexcept { return config_; }
  [[nodiscard]] Worker& worker() noexcept { return worker_; }  // tests and counters
  // Runs f on the worker, between turns.
  void on_worker(const std::function<void(Worker&)>& f);

 private:
  void on_event(const AsyncEvent& e) override;
  void reap();
  int let_others(int work);
  void work(Port& port);
  const Clock& clock_;
  NodeConfig config_;
  std::mutex control_;  // memory table, numbers, queue pairs
  std::mutex turn_;     // shared: who works
  memory::MemoryTable memory_;
  QpnPool qpns_;
  base::Rng rng_;
  std::atomic<std::uint32_t> last_pd_{0}, last_cq_{0};
  boost::lockfree::queue<AsyncEvent, boost::lockfree::capacity<4096>> events_;
  int event_fd_ = -1;
  Mailbox mailbox_;
  Worker worker_;
  std::unordered_map<std::uint32_t, std::unique_ptr<transport::Qp>> qps_;
  int idle_turns_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace uroce::engine
