// SPDX-License-Identifier: BSD-3-Clause
// The frames of a stored capture. Classic pcap only: little-endian, Ethernet, nothing cut by a snap length.
#pragma once
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace uroce::wire::test {

using Buffer = std::vector<std::uint8_t>;

inline Buffer read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("can't open " + path);
  return Buffer(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

inline std::uint32_t little_endian32(const Buffer& b, std::size_t at) {
  if (at + 4 > b.size()) throw std::runtime_error("capture ends inside a header");
  return b[at] | std::uint32_t{b[at + 1]} << 8 | std::uint32_t{b[at + 2]} << 16 | std::uint32_t{b[at + 3]} << 24;
}

// `name` is a file of tests/data. Frame k of the result is packet k + 1 of the usual listings.
inline std::vector<Buffer> read_capture(const std::string& name) {
  constexpr std::uint32_t kMagic = 0xa1b2c3d4, kEthernet = 1;
  constexpr std::size_t kFileHeader = 24, kRecordHeader = 16;
  const Buffer file = read_file(std::string(UROCE_TEST_DATA) + "/" + name);
  if (little_endian32(file, 0) != kMagic || little_endian32(file, 20) != kEthernet) {
    throw std::runtime_error(name + " is no little-endian Ethernet pcap");
  }
  std::vector<Buffer> frames;
  for (std::size_t at = kFileHeader; at < file.size();) {
    const std::size_t stored = little_endian32(file, at + 8);
    if (stored != little_endian32(file, at + 12)) throw std::runtime_error(name + " holds a cut frame");
    at += kRecordHeader;
    if (at + stored > file.size()) throw std::runtime_error(name + " ends inside a frame");
    const auto first = file.begin() + static_cast<std::ptrdiff_t>(at);
    frames.emplace_back(first, first + static_cast<std::ptrdiff_t>(stored));
    at += stored;
  }
  return frames;
}

}  // namespace uroce::wire::test
