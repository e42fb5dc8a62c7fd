// SPDX-License-Identifier: BSD-3-Clause
// The Internet checksum (RFC 1071): the one's complement of the one's complement sum of 16-bit words.
#pragma once
#include <span>

#include "wire/ip.h"

namespace uroce::net {

using Bytes = std::span<const std::uint8_t>;

// An unfolded sum; sums of parts add up as long as each part but the last has an even length.
constexpr std::uint64_t word_sum(Bytes b) noexcept {
  std::uint64_t sum = 0;
  std::size_t i = 0;
  for (; i + 1 < b.size(); i += 2) sum += static_cast<std::uint32_t>(b[i] << 8 | b[i + 1]);
  if (i < b.size()) sum += static_cast<std::uint32_t>(b[i] << 8);
  return sum;
}

constexpr std::uint16_t fold(std::uint64_t sum) noexcept {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

// The pseudo header before an upper-layer message (RFC 8200 section 8.1).
constexpr std::uint64_t pseudo_header_sum(const wire::Ipv6& ip, std::size_t length, std::uint8_t protocol) noexcept {
  return word_sum(ip.source) + word_sum(ip.destination) + length + protocol;
}

}  // namespace uroce::net
