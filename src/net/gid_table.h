// SPDX-License-Identifier: BSD-3-Clause
// A port's GIDs in the order in which Linux shows them: the link-local address of the MAC first, whatever is
// configured, then one a configured address. Only RoCE v2 is spoken, so each address has one entry, not two.
#pragma once
#include <cstddef>
#include <optional>

#include "base/assert.h"
#include "wire/ip.h"

namespace uroce::net {

inline constexpr std::size_t kMaxAddresses = 16;  // configured ones, of one port

enum class GidType : std::uint8_t { roce_v2 };

struct GidEntry {
  wire::IpAddress gid;  // an IPv4 address is ::ffff:a.b.c.d (IBTA annex A17.4.4)
  GidType type = GidType::roce_v2;
};

class GidTable {
 public:
  void add(const wire::IpAddress& gid) noexcept {
    UROCE_ASSERT(size_ < entries_.size());
    entries_[size_++] = {gid, GidType::roce_v2};
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const GidEntry& operator[](std::size_t i) const noexcept {
    UROCE_DASSERT(i < size_);
    return entries_[i];
  }
  [[nodiscard]] std::optional<std::size_t> find(const wire::IpAddress& gid) const noexcept {
    for (std::size_t i = 0; i < size_; ++i) {
      if (entries_[i].gid == gid) return i;
    }
    return std::nullopt;
  }

 private:
  std::array<GidEntry, kMaxAddresses + 1> entries_{};
  std::size_t size_ = 0;
};

}  // namespace uroce::net
