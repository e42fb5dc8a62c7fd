// SPDX-License-Identifier: BSD-3-Clause
// The functions of CrcOps, made from the including kernel's run<>(). Included once, inside its unnamed namespace.
#pragma once

#define UROCE_CRC_ENTRY __attribute__((target(UROCE_CRC_TARGET)))

UROCE_CRC_ENTRY std::uint32_t crc(const void* data, std::size_t length, std::uint32_t crc) noexcept {
  return run<Copying::no>(nullptr, static_cast<const std::uint8_t*>(data), length, crc);
}
UROCE_CRC_ENTRY std::uint32_t copy_crc(void* to, const void* from, std::size_t length, std::uint32_t crc) noexcept {
  return run<Copying::yes>(static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), length, crc);
}
UROCE_CRC_ENTRY std::uint32_t icrc_v4(const std::uint8_t* ip, std::size_t length) noexcept {
  constexpr std::size_t kHead = IcrcMask<20>::kLength;
  return run<Copying::no>(nullptr, ip + kHead, length - kHead, icrc_head(ip, kIcrcMaskV4));
}
UROCE_CRC_ENTRY std::uint32_t icrc_v6(const std::uint8_t* ip, std::size_t length) noexcept {
  constexpr std::size_t kHead = IcrcMask<40>::kLength;
  return run<Copying::no>(nullptr, ip + kHead, length - kHead, icrc_head(ip, kIcrcMaskV6));
}
