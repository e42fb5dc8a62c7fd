// SPDX-License-Identifier: BSD-3-Clause
// Frames of a pcap or pcapng file, one after the other. Only Ethernet captures are taken.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "uroce/result.h"
#include "wire/frame.h"

struct pcap;

namespace uroce::tools {

struct CapturedFrame {
  std::uint64_t number;       // from 1, as Wireshark counts
  base::Instant time;         // since the epoch
  wire::Bytes bytes;          // valid until the next frame is read
  std::uint32_t wire_length;  // what the frame measured before a snap length cut it
  [[nodiscard]] bool cut() const noexcept { return bytes.size() < wire_length; }
};

class CaptureFile {
 public:
  // Every message names the file and what is wrong with it.
  static Result<CaptureFile> open(const std::string& path);
  // The next frame; nothing at the file's end; an error when the file is broken, after which it can't be read on.
  Result<std::optional<CapturedFrame>> next();

 private:
  struct Close {
    void operator()(pcap* p) const noexcept;
  };
  CaptureFile(std::string path, pcap* p) : path_(std::move(path)), pcap_(p) {}
  std::string path_;
  std::unique_ptr<pcap, Close> pcap_;
  std::uint64_t frames_ = 0;
};

}  // namespace uroce::tools
