// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "perf_end.h"
#include "platform/dpdk/clock.h"

namespace uroce::tools {
namespace {

std::uint64_t counter(Device& device, const char* name) {
  for (const auto& c : device.counters()) {
    if (c.name == name) return c.value;
  }
  return 0;
}

// Looks at the out-of-band connection now and then, so that a peer that gave up is noticed.
class Watch {
 public:
  explicit Watch(LineSocket& peer) : peer_(peer) {}
  // A line from the peer, or nothing; an error when it has gone.
  Result<std::optional<std::string>> look() {
    if (++turns_ % 16384 != 0) return std::optional<std::string>{};
    return peer_.poll();
  }

 private:
  LineSocket& peer_;
  std::uint32_t turns_ = 0;
};

class Client {
 public:
  Client(Device& device, LineSocket& peer, PerfEnd& end, bool show_progress)
      : device_(device), end_(end), watch_(peer), show_progress_(show_progress) {}

  Result<PerfResult> run() {
    const PerfTest& t = end_.test();
    const std::uint64_t again = counter(device_, "tx_retransmitted"), late = counter(device_, "ack_timeouts");
    auto r = t.latency ? (t.op == PerfOp::send || t.op == PerfOp::write ? ping_pong() : one_by_one()) : stream();
    if (!r) return r;
    std::sort(r->samples_ns.begin(), r->samples_ns.end());
    r->retransmitted = counter(device_, "tx_retransmitted") - again;
    r->timeouts = counter(device_, "ack_timeouts") - late;
    return r;
  }

 private:
  Result<void> alive() {
    device_.progress();
    const auto said = watch_.look();
    if (!said) return tl::unexpected(said.error());
    if (*said) return fail(ErrorCode::system, "the server gave up: " + **said);
    return {};
  }
  void tick(std::uint64_t done, std::uint64_t all) {
    if (!show_progress_ || (done & 1023) != 0) return;
    const auto now = clock_.now();
    if (now - shown_ < base::Duration::seconds(1)) return;
    shown_ = now;
    fmt::print(stderr, "\r{} {} B: {} of {}   ", to_string(end_.test().op), end_.test().size, done, all);
    std::fflush(stderr);
  }
  Result<void> post(std::uint64_t n) {
    Sge sge;
    const SendWr wr = end_.request(n, sge);
    const PostError e = end_.qp(n).post_send(wr);
    return e == PostError::none ? Result<void>{} : fail(ErrorCode::system, std::string("post: ") + uroce::to_string(e));
  }
  Result<void> check_result(std::uint64_t n);
  // SEND or WRITE there and back; a sample is half of it.
  Result<PerfResult> ping_pong();
  // READ or ATOMIC, one at a time.
  Result<PerfResult> one_by_one();
  Result<PerfResult> stream();

  Device& device_;
  PerfEnd& end_;
  Watch watch_;
  bool show_progress_;
  platform::TscClock clock_;
  base::Instant shown_{};
};

// What a READ or ATOMIC brought.
Result<void> Client::check_result(std::uint64_t n) {
  const PerfTest& t = end_.test();
  if (!t.verify) return {};
  if (t.op == PerfOp::read && !end_.holds(end_.local(n), n % end_.slots())) {
    return fail(ErrorCode::system, fmt::format("READ {} brought wrong data", n));
  }
  if (t.op == PerfOp::fetch_add || t.op == PerfOp::cmp_swap) {
    std::uint64_t found = 0;
    std::memcpy(&found, end_.local(n), 8);
    if (found != n / end_.qp_count()) return fail(ErrorCode::system, fmt::format("{} {} found {}", to_string(t.op), n, found));
  }
  return {};
}

Result<PerfResult> Client::ping_pong() {
  const PerfTest& t = end_.test();
  PerfResult r;
  r.samples_ns.reserve(t.iterations);
  std::array<Completion, 4> done;
  const auto start = clock_.now();
  for (std::uint64_t n = 0; n < t.iterations; ++n) {
    if (t.op == PerfOp::send && end_.qp(0).post_recv(RecvWr{n, std::array{end_.inbox_sge(0)}}) != PostError::none) {
      return fail(ErrorCode::system, "receive could not be posted");
    }
    std::uint8_t* out = end_.local(0);
    if (t.verify) {
      end_.fill(out, n);
    } else if (t.size != 0) {
      out[t.size - 1] = static_cast<std::uint8_t>(n + 1);
    }
    const auto before = clock_.now();
    if (auto e = post(n); !e) return tl::unexpected(e.error());
    std::size_t sent = 0, answered = 0;
    std::atomic_ref<std::uint8_t> last(end_.inbox(0)[t.size == 0 ? 0 : t.size - 1]);
    const std::uint8_t wanted = out[t.size == 0 ? 0 : t.size - 1];
    while (sent == 0 || answered == 0) {
      if (auto e = alive(); !e) return tl::unexpected(e.error());
      const auto s = end_.poll(end_.send_cq(), done);
      if (!s) return tl::unexpected(s.error());
      sent += *s;
      if (answered != 0) continue;
      if (t.op == PerfOp::write) {
        answered = last.load(std::memory_order_acquire) == wanted;
      } else {
        const auto got = end_.poll(end_.recv_cq(), done);
        if (!got) return tl::unexpected(got.error());
        answered = *got;
      }
      if (answered != 0) r.samples_ns.push_back(static_cast<std::uint32_t>((clock_.now() - before).ns / 2));
    }
    if (t.verify && !end_.holds(end_.inbox(0), n)) return fail(ErrorCode::system, fmt::format("answer {} has wrong data", n));
    tick(n, t.iterations);
  }
  r.iterations = t.iterations;
  r.seconds = static_cast<double>((clock_.now() - start).ns) / 1e9;
  r.verified = t.verify;
  return r;
}

Result<PerfResult> Client::one_by_one() {
  const PerfTest& t = end_.test();
  PerfResult r;
  r.samples_ns.reserve(t.iterations);
  std::array<Completion, 4> done;
  const auto start = clock_.now();
  for (std::uint64_t n = 0; n < t.iterations; ++n) {
    const auto before = clock_.now();
    if (auto e = post(n); !e) return tl::unexpected(e.error());
    for (std::size_t got = 0; got == 0;) {
      if (auto e = alive(); !e) return tl::unexpected(e.error());
      const auto s = end_.poll(end_.send_cq(), done);
      if (!s) return tl::unexpected(s.error());
      got = *s;
    }
    r.samples_ns.push_back(static_cast<std::uint32_t>((clock_.now() - before).ns));
    if (auto e = check_result(n); !e) return tl::unexpected(e.error());
    tick(n, t.iterations);
  }
  r.iterations = t.iterations;
  r.seconds = static_cast<double>((clock_.now() - start).ns) / 1e9;
  r.verified = t.verify;
  return r;
}

Result<PerfResult> Client::stream() {
  const PerfTest& t = end_.test();
  PerfResult r;
  std::array<Completion, 64> done;
  const std::uint64_t room = std::uint64_t{t.depth} * t.qps;
  std::uint64_t posted = 0, finished = 0;
  const auto start = clock_.now();
  const auto end_at = t.seconds == 0 ? base::kNever : start + base::Duration::seconds(t.seconds);
  bool more = true;
  while (more || finished < posted) {
    more = more && (t.seconds == 0 ? posted < t.iterations : clock_.now() < end_at);
    // A slot is used again once what used it before has completed, and all before that.
    while (more && posted < finished + room && (t.seconds != 0 || posted < t.iterations)) {
      if (t.verify && (t.op == PerfOp::send || t.op == PerfOp::write)) end_.fill(end_.local(posted), posted);
      if (auto e = post(posted); !e) return tl::unexpected(e.error());
      ++posted;
    }
    if (auto e = alive(); !e) return tl::unexpected(e.error());
    const auto s = end_.poll(end_.send_cq(), done);
    if (!s) return tl::unexpected(s.error());
    for (std::size_t i = 0; i < *s; ++i) {
      if (auto e = check_result(done[i].wr_id); !e) return tl::unexpected(e.error());
    }
    finished += *s;
    tick(finished, t.seconds == 0 ? t.iterations : posted);
  }
  r.iterations = finished;
  r.seconds = static_cast<double>((clock_.now() - start).ns) / 1e9;
  r.verified = t.verify;
  return r;
}

// --- server ------------------------------------------------------------------------------------------------------

class Server {
 public:
  Server(Device& device, LineSocket& peer, PerfEnd& end) : device_(device), end_(end), watch_(peer) {}

  Result<void> prepare() {
    const PerfTest& t = end_.test();
    if (t.op == PerfOp::read) {
      for (std::uint32_t i = 0; i < end_.slots(); ++i) end_.fill(end_.inbox(i), i);
    }
    if (t.op != PerfOp::send) return {};
    // In streams the n-th message goes to queue pair n mod qps, so receives are posted in that order too.
    const std::uint64_t ahead = t.latency ? 1 : std::uint64_t{t.depth} * t.qps;
    for (std::uint64_t n = 0; n < ahead; ++n) {
      if (auto r = post_receive(n); !r) return r;
    }
    return {};
  }

  // Serves until the client says that it is done, with how many iterations there were.
  Result<void> run() {
    const PerfTest& t = end_.test();
    std::array<Completion, 64> done;
    std::uint64_t received = 0, answered = 0;
    for (;;) {
      device_.progress();
      const auto said = watch_.look();
      if (!said) return tl::unexpected(said.error());
      if (*said) return finish(std::strtoull(said->value().c_str(), nullptr, 10), received);
      if (const auto s = end_.poll(end_.send_cq(), done); !s) return tl::unexpected(s.error());
      if (t.op == PerfOp::send) {
        const auto got = end_.poll(end_.recv_cq(), done);
        if (!got) return tl::unexpected(got.error());
        for (std::size_t i = 0; i < *got; ++i) {
          if (auto r = on_message(done[i].wr_id, done[i].byte_length); !r) return r;
          ++received;
        }
      } else if (t.op == PerfOp::write && t.latency && t.size != 0) {
        if (auto r = echo_write(answered); !r) return r;
      }
    }
  }

 private:
  Result<void> post_receive(std::uint64_t n) {
    const Sge sge = end_.inbox_sge(n);
    const PostError e = end_.qp(n).post_recv(RecvWr{n, std::span(&sge, sge.length == 0 ? 0u : 1u)});
    return e == PostError::none ? Result<void>{} : fail(ErrorCode::system, std::string("receive: ") + uroce::to_string(e));
  }

  Result<void> on_message(std::uint64_t n, std::uint32_t length) {
    const PerfTest& t = end_.test();
    if (t.verify && (length != t.size || !end_.holds(end_.inbox(n), n))) {
      return fail(ErrorCode::system, fmt::format("message {} has wrong data", n));
    }
    if (t.latency) std::memcpy(end_.local(0), end_.inbox(0), t.size);
    if (auto r = post_receive(n + (t.latency ? 1 : std::uint64_t{t.depth} * t.qps)); !r) return r;
    return t.latency ? answer(n) : Result<void>{};
  }

  Result<void> answer(std::uint64_t n) {
    Sge sge;
    const SendWr wr = end_.request(n, sge);
    const PostError e = end_.qp(0).post_send(wr);
    return e == PostError::none ? Result<void>{} : fail(ErrorCode::system, std::string("answer: ") + uroce::to_string(e));
  }

  // A WRITE has come when its last byte has.
  Result<void> echo_write(std::uint64_t& answered) {
    const PerfTest& t = end_.test();
    std::uint8_t* in = end_.inbox(0);
    const auto wanted = [&](std::uint64_t n) {
      const std::uint32_t i = t.size - 1;
      return t.verify ? static_cast<std::uint8_t>(n * 31 + i + (i >> 8) * 7 + 1) : static_cast<std::uint8_t>(n + 1);
    };
    if (std::atomic_ref<std::uint8_t>(in[t.size - 1]).load(std::memory_order_acquire) != wanted(answered)) return {};
    if (t.verify && !end_.holds(in, answered)) return fail(ErrorCode::system, fmt::format("WRITE {} has wrong data", answered));
    std::memcpy(end_.local(0), in, t.size);
    return answer(answered++);
  }

  Result<void> finish(std::uint64_t iterations, std::uint64_t received) {
    const PerfTest& t = end_.test();
    if (t.op == PerfOp::send && received != iterations) {
      return fail(ErrorCode::system, fmt::format("{} messages came, the client sent {}", received, iterations));
    }
    if (!t.verify || t.latency || t.op != PerfOp::write) return {};
    for (std::uint64_t n = iterations - std::min<std::uint64_t>(iterations, end_.slots()); n < iterations; ++n) {
      if (!end_.holds(end_.inbox(n), n)) return fail(ErrorCode::system, fmt::format("WRITE {} has wrong data", n));
    }
    return {};
  }

  Device& device_;
  PerfEnd& end_;
  Watch watch_;
};

Result<Json> parse_line(const Result<std::string>& line) {
  if (!line) return tl::unexpected(line.error());
  Json j = Json::parse(*line, nullptr, false);
  if (j.is_discarded()) return fail(ErrorCode::system, "the other side says: " + *line);
  return j;
}

Result<void> serve_one(Device& device, LineSocket& peer, const Json& asked) {
  const auto test = parse_test(asked.value("test", Json::object()));
  if (!test) return tl::unexpected(test.error());
  auto end = PerfEnd::make(device, *test);
  if (!end) return tl::unexpected(end.error());
  if (auto r = (*end)->connect(asked.value("end", Json::object())); !r) return r;
  Server server(device, peer, **end);
  if (auto r = server.prepare(); !r) return r;
  if (auto r = peer.send((*end)->describe(device).dump()); !r) return r;
  return server.run();
}

}  // namespace

Result<PerfResult> run_client(Device& device, LineSocket& peer, const PerfTest& test, bool show_progress) {
  auto end = PerfEnd::make(device, test);
  if (!end) return tl::unexpected(end.error());
  const Json hello{{"test", to_json(test)}, {"end", (*end)->describe(device)}};
  if (auto r = peer.send(hello.dump()); !r) return tl::unexpected(r.error());
  const auto answer = parse_line(peer.receive());
  if (!answer) return tl::unexpected(answer.error());
  if (auto r = (*end)->connect(*answer); !r) return tl::unexpected(r.error());
  auto result = Client(device, peer, **end, show_progress).run();
  if (!result) return result;
  if (auto r = peer.send(std::to_string(result->iterations)); !r) return tl::unexpected(r.error());
  // The server may still wait for something of ours: keep the wire alive until it has judged.
  for (;;) {
    device.progress();
    const auto verdict = peer.poll();
    if (!verdict) return tl::unexpected(verdict.error());
    if (!*verdict) continue;
    if (**verdict != "ok") return fail(ErrorCode::system, "the server says: " + **verdict);
    return result;
  }
}

Result<unsigned> run_server(Device& device, LineSocket& peer) {
  unsigned tests = 0;
  for (;;) {
    // Between tests the port is served too: ARP, duplicates of the last one.
    std::string line;
    while (line.empty()) {
      device.progress();
      auto l = peer.poll();
      if (!l && tests == 0) return tl::unexpected(l.error());
      if (!l) return tests;  // the client has closed: that is the end
      if (*l) line = std::move(**l);
    }
    const auto asked = parse_line(line);
    const auto served = asked ? serve_one(device, peer, *asked) : Result<void>(tl::unexpected(asked.error()));
    if (auto r = peer.send(served ? "ok" : served.error().message); !r) return tl::unexpected(r.error());
    if (!served) return tl::unexpected(served.error());
    ++tests;
  }
}

}  // namespace uroce::tools
