// SPDX-License-Identifier: BSD-3-Clause
// A TCP connection that carries lines: how two `uroce perf` find each other, as perftest's do.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "uroce/result.h"

namespace uroce::tools {

class LineSocket {
 public:
  // Waits for one client, for ever; or until `seconds` have passed when that is not 0.
  static Result<LineSocket> accept_one(const std::string& address, unsigned port, unsigned seconds);
  // Tries again for up to `seconds`: the server may be starting.
  static Result<LineSocket> connect(const std::string& host, unsigned port, unsigned seconds);
  LineSocket(LineSocket&& o) noexcept : fd_(std::exchange(o.fd_, -1)), pending_(std::move(o.pending_)) {}
  LineSocket& operator=(LineSocket&& o) noexcept {
    std::swap(fd_, o.fd_);
    std::swap(pending_, o.pending_);
    return *this;
  }
  ~LineSocket();

  Result<void> send(const std::string& line);
  // Blocks up to 60 s. Errors: system, also when the other side has closed.
  Result<std::string> receive();
  // A line if one is there.
  Result<std::optional<std::string>> poll();

 private:
  explicit LineSocket(int fd) : fd_(fd) {}
  std::optional<std::string> take_line();
  Result<bool> fill(int timeout_ms);
  int fd_;
  std::string pending_;
};

}  // namespace uroce::tools
