// SPDX-License-Identifier: BSD-3-Clause
// Registering and looking up, shortened for tests.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>

#include "memory/memory_table.h"

namespace uroce::memory {
inline void PrintTo(KeyFault f, std::ostream* out) {
  static constexpr const char* kNames[] = {"none", "no_such_key", "wrong_pd", "no_permission", "out_of_range"};
  *out << kNames[static_cast<unsigned>(f)];
}
}  // namespace uroce::memory

namespace uroce::memory::test {

inline constexpr AccessFlags kAll{Access::local_write, Access::remote_write, Access::remote_read,
                                  Access::remote_atomic};
inline constexpr PdNumber kPd = 5;

inline std::uint32_t add(MemoryTable& table, std::uint8_t* address, std::uint64_t length, std::uint64_t iova,
                         AccessFlags access = kAll, PdNumber pd = kPd) {
  const auto key = table.register_region({address, length, iova, access, pd});
  if (!key) {
    ADD_FAILURE() << key.error().message;
    return 0;
  }
  return *key;
}

// Where a look-up leads, and why not.
struct Looked {
  std::uint8_t* at;
  KeyFault why;
};
inline Looked look(const MemoryTable& table, std::uint32_t key, std::uint64_t address, std::uint64_t length,
                   AccessFlags needed = {}, PdNumber pd = kPd) {
  Looked l{nullptr, KeyFault::none};
  l.at = table.translate(key, pd, address, length, needed, l.why);
  return l;
}

#define UROCE_EXPECT_LEADS_TO(looked, expected) \
  do {                                          \
    const Looked looked_ = (looked);            \
    EXPECT_EQ(looked_.at, expected);            \
    EXPECT_EQ(looked_.why, KeyFault::none);     \
  } while (false)
#define UROCE_EXPECT_FAULT(looked, fault)    \
  do {                                       \
    const Looked looked_ = (looked);         \
    EXPECT_EQ(looked_.at, nullptr);          \
    EXPECT_EQ(looked_.why, KeyFault::fault); \
  } while (false)

}  // namespace uroce::memory::test
