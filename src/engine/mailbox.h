// SPDX-License-Identifier: BSD-3-Clause
// How other threads speak to a worker: doorbells, and control commands that the worker runs between two bursts. Many
// producers, one consumer.
#pragma once
#include <boost/lockfree/queue.hpp>
#include <cstdint>

namespace uroce::engine {

class Worker;

// Lives with whoever waits for it.
struct Command {
  void (*run)(Command&, Worker&);
};

struct Message {
  Command* command = nullptr;  // else a doorbell
  std::uint32_t qpn = 0;
};

// A queue pair rings at most once before it is looked at, so the mailbox holds a doorbell for each and some commands;
// push() fails when it is full, and the producer tries again.
using Mailbox = boost::lockfree::queue<Message, boost::lockfree::capacity<16384>>;

}  // namespace uroce::engine
