// SPDX-License-Identifier: BSD-3-Clause
#include "capture_file.h"

#include <fmt/format.h>
#include <pcap/pcap.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace uroce::tools {
namespace {

// Timestamps come from the file: kept where neither they nor their differences overflow 64 bits of nanoseconds.
base::Instant instant(const timeval& ts) {
  constexpr std::int64_t kLatestSecond = 4'500'000'000;
  constexpr std::int64_t kBillion = 1'000'000'000;
  const auto s = std::clamp<std::int64_t>(ts.tv_sec, 0, kLatestSecond);
  const auto ns = std::clamp<std::int64_t>(ts.tv_usec, 0, kBillion);  // nanoseconds: asked for in open()
  return {s * kBillion + ns};
}

std::string link_name(int link_type) {
  const char* name = pcap_datalink_val_to_name(link_type);
  return name != nullptr ? name : fmt::format("number {}", link_type);
}

}  // namespace

void CaptureFile::Close::operator()(pcap* p) const noexcept {
  pcap_close(p);
}

Result<CaptureFile> CaptureFile::open(const std::string& path) {
  if (path.empty()) return fail(ErrorCode::invalid_argument, "'': an empty file name");
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    return fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::system,
                fmt::format("{}: {}", path, std::strerror(errno)));
  }
  if (S_ISDIR(st.st_mode))
    return fail(ErrorCode::invalid_argument, fmt::format("{}: a directory, not a capture file", path));
  if (S_ISREG(st.st_mode) && st.st_size == 0)
    return fail(ErrorCode::invalid_argument, fmt::format("{}: an empty file", path));

  // Opened here, not by libpcap, which takes "-" for standard input.
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return fail(ErrorCode::system, fmt::format("{}: {}", path, std::strerror(errno)));
  char why[PCAP_ERRBUF_SIZE] = "";
  pcap* p = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, why);
  if (p == nullptr) {
    std::fclose(file);
    return fail(ErrorCode::invalid_argument, fmt::format("{}: not a readable pcap or pcapng file: {}", path, why));
  }
  CaptureFile capture(path, p);
  if (const int link = pcap_datalink(p); link != DLT_EN10MB) {
    return fail(ErrorCode::unsupported, fmt::format("{}: link type {} is not supported; only Ethernet ({}) is", path,
                                                    link_name(link), link_name(DLT_EN10MB)));
  }
  return capture;
}

Result<std::optional<CapturedFrame>> CaptureFile::next() {
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  const int got = pcap_next_ex(pcap_.get(), &header, &data);
  if (got == PCAP_ERROR_BREAK) return std::optional<CapturedFrame>{};  // the end
  if (got != 1) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: broken at frame {}: {}", path_, frames_ + 1, pcap_geterr(pcap_.get())));
  }
  return CapturedFrame{++frames_, instant(header->ts), {data, header->caplen}, header->len};
}

}  // namespace uroce::tools
