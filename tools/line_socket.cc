// SPDX-License-Identifier: BSD-3-Clause
#include "line_socket.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

namespace uroce::tools {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;

tl::unexpected<Error> system_error(const std::string& what) {
  return fail(ErrorCode::system, what + ": " + std::strerror(errno));
}

struct FreeAddresses {
  void operator()(addrinfo* a) const { freeaddrinfo(a); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> look_up(const std::string& host, unsigned port, bool passive) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = passive ? AI_PASSIVE : 0;
  const int e = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (e != 0) return fail(ErrorCode::invalid_argument, "host '" + host + "': " + gai_strerror(e));
  return Addresses(found);
}

// Some DPDK drivers (tap) raise signals whenever a frame comes: a system call that one cut short is made again.
template <class Call>
auto again_if_interrupted(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

// Whether there is something to read before `ms` milliseconds have passed; for ever when negative.
Result<bool> wait_readable(int fd, int ms) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(ms);
  for (;;) {
    pollfd p{fd, POLLIN, 0};
    const int n = ::poll(&p, 1, ms);
    if (n >= 0) return n != 0;
    if (errno != EINTR) return system_error("poll");
    if (ms > 0) ms = static_cast<int>(std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count()));
  }
}

}  // namespace

Result<LineSocket> LineSocket::accept_one(const std::string& address, unsigned port, unsigned seconds) {
  const auto where = look_up(address, port, true);
  if (!where) return tl::unexpected(where.error());
  const int listener = socket((*where)->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return system_error("socket");
  LineSocket guard(listener);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(listener, (*where)->ai_addr, (*where)->ai_addrlen) != 0 || listen(listener, 1) != 0) {
    const bool taken = errno == EADDRINUSE;
    auto error = system_error("TCP port " + std::to_string(port) + " of " + address);
    if (taken) error.value().message += "; does another server run? --oob-port N, on both sides, takes another one";
    return error;
  }
  const auto came = wait_readable(listener, seconds == 0 ? -1 : static_cast<int>(seconds * 1000));
  if (!came) return tl::unexpected(came.error());
  if (!*came) {
    return fail(ErrorCode::system, "no client came within " + std::to_string(seconds) + " s; --wait N waits longer");
  }
  const int fd = again_if_interrupted([&] { return accept4(listener, nullptr, nullptr, SOCK_CLOEXEC); });
  if (fd < 0) return system_error("accept");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  return LineSocket(fd);
}

Result<LineSocket> LineSocket::connect(const std::string& host, unsigned port, unsigned seconds) {
  const auto where = look_up(host, port, false);
  if (!where) return tl::unexpected(where.error());
  for (unsigned tries = 0;; ++tries) {
    for (const addrinfo* a = where->get(); a != nullptr; a = a->ai_next) {
      const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (fd < 0) continue;
      if (::connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
        const int yes = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        return LineSocket(fd);
      }
      const int why = errno;
      close(fd);
      errno = why;
    }
    if (tries >= seconds * 10) {
      auto error = system_error("no server at " + host + ", TCP port " + std::to_string(port));
      error.value().message += "; start it first (the same command without HOST), with the same --oob-port";
      return error;
    }
    usleep(100'000);
  }
}

LineSocket::~LineSocket() {
  if (fd_ >= 0) close(fd_);
}

Result<void> LineSocket::send(const std::string& line) {
  const std::string bytes = line + "\n";
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = again_if_interrupted([&] { return ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL); });
    if (n <= 0) return system_error("out-of-band connection");
    sent += static_cast<std::size_t>(n);
  }
  return {};
}

std::optional<std::string> LineSocket::take_line() {
  const std::size_t end = pending_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return line;
}

// Whether anything came.
Result<bool> LineSocket::fill(int timeout_ms) {
  const auto came = wait_readable(fd_, timeout_ms);
  if (!came || !*came) return came;
  char buffer[4096];
  const ssize_t n = again_if_interrupted([&] { return recv(fd_, buffer, sizeof(buffer), 0); });
  if (n == 0) return fail(ErrorCode::system, "the other side has closed the out-of-band connection");
  if (n < 0) return system_error("out-of-band connection");
  pending_.append(buffer, static_cast<std::size_t>(n));
  if (pending_.size() > kLongestLine) return fail(ErrorCode::system, "the other side speaks something else than uroce perf");
  return true;
}

Result<std::string> LineSocket::receive() {
  for (;;) {
    if (auto line = take_line()) return std::move(*line);
    const auto more = fill(60'000);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return fail(ErrorCode::system, "the other side has said nothing for 60 s");
  }
}

Result<std::optional<std::string>> LineSocket::poll() {
  if (auto line = take_line()) return line;
  const auto more = fill(0);
  if (!more) return tl::unexpected(more.error());
  return take_line();
}

}  // namespace uroce::tools
