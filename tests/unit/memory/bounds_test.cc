// SPDX-License-Identifier: BSD-3-Clause
// Which bytes a key opens. IBTA 9.7.5.2: an access outside its region, PD or permissions touches nothing.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "region.h"

namespace uroce::memory::test {
namespace {

constexpr std::uint64_t kTop = UINT64_MAX;

class Bounds : public testing::Test {
 protected:
  std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(4096);
  MemoryTable table_{16, 42};
};

TEST_F(Bounds, ExactlyTheRegionsBytes) {
  const std::uint64_t va = reinterpret_cast<std::uintptr_t>(bytes_.data());
  const std::uint32_t key = add(table_, bytes_.data(), 100, va);
  UROCE_EXPECT_LEADS_TO(look(table_, key, va, 100), bytes_.data());
  UROCE_EXPECT_LEADS_TO(look(table_, key, va, 1), bytes_.data());
  UROCE_EXPECT_LEADS_TO(look(table_, key, va + 99, 1), bytes_.data() + 99);
  UROCE_EXPECT_LEADS_TO(look(table_, key, va + 40, 60), bytes_.data() + 40);
  UROCE_EXPECT_FAULT(look(table_, key, va, 101), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, va + 1, 100), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, va + 99, 2), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, va + 100, 1), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, va - 1, 1), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, va - 1, 101), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, 0, 1), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, kTop, 1), out_of_range);
}

TEST_F(Bounds, ARangeThatWraps2To64OnARegionBasedAtZero) {
  const std::uint32_t key = add(table_, bytes_.data(), 4096, 0);
  UROCE_EXPECT_LEADS_TO(look(table_, key, 0, 4096), bytes_.data());
  UROCE_EXPECT_LEADS_TO(look(table_, key, 0xc00, 0x400), bytes_.data() + 0xc00);
  UROCE_EXPECT_FAULT(look(table_, key, 0xfffffffffffffc00, 0x400), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, 0xfffffffffffffc00, 0x401), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, 0xfffffffffffffc00, 0x500), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, 1, kTop), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, 16, kTop - 7), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, 0, kTop), out_of_range);
}

TEST_F(Bounds, ARegionThatEndsAt2To64) {
  const std::uint64_t iova = 0xfffffffffffff000;
  const std::uint32_t key = add(table_, bytes_.data(), 4096, iova);
  UROCE_EXPECT_LEADS_TO(look(table_, key, 0xfffffffffffffc00, 0x400), bytes_.data() + 0xc00);
  UROCE_EXPECT_LEADS_TO(look(table_, key, kTop, 1), bytes_.data() + 4095);
  UROCE_EXPECT_FAULT(look(table_, key, 0xfffffffffffffc00, 0x401), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, kTop, 2), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, 0, 1), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, iova - 1, 1), out_of_range);
}

// A region at page + 1, 3 pages - 2 bytes long, under several remote addresses that have other low bits.
TEST_F(Bounds, RemoteAddressOtherThanTheOwnAtPageEdges) {
  std::vector<std::uint8_t> room(5 * 4096);
  std::uint8_t* page = room.data() + (4096 - reinterpret_cast<std::uintptr_t>(room.data()) % 4096) % 4096;
  std::uint8_t* first = page + 1;
  const std::uint64_t length = 3 * 4096 - 2, va = reinterpret_cast<std::uintptr_t>(first);
  for (std::uint64_t iova : {std::uint64_t{0}, std::uint64_t{0x1001}, va + (std::uint64_t{1} << 40), va}) {
    SCOPED_TRACE(iova);
    const std::uint32_t key = add(table_, first, length, iova);
    UROCE_EXPECT_LEADS_TO(look(table_, key, iova, 1), first);
    UROCE_EXPECT_LEADS_TO(look(table_, key, iova, length), first);
    for (std::uint64_t offset : {std::uint64_t{4094}, std::uint64_t{4095}, std::uint64_t{4096}, std::uint64_t{8191}}) {
      UROCE_EXPECT_LEADS_TO(look(table_, key, iova + offset, 2), first + offset);
    }
    UROCE_EXPECT_LEADS_TO(look(table_, key, iova + length - 1, 1), first + length - 1);
    UROCE_EXPECT_FAULT(look(table_, key, iova + length, 1), out_of_range);
    UROCE_EXPECT_FAULT(look(table_, key, iova + length - 1, 2), out_of_range);
    UROCE_EXPECT_FAULT(look(table_, key, iova - 1, 1), out_of_range);
    UROCE_EXPECT_FAULT(look(table_, key, iova, length + 1), out_of_range);
    if (iova != va) {
      UROCE_EXPECT_FAULT(look(table_, key, va, 1), out_of_range);
    }
  }
}

TEST_F(Bounds, AnotherProtectionDomain) {
  const std::uint32_t key = add(table_, bytes_.data(), 100, 0, kAll, 5);
  UROCE_EXPECT_LEADS_TO(look(table_, key, 0, 1, {}, 5), bytes_.data());
  UROCE_EXPECT_FAULT(look(table_, key, 0, 1, {}, 6), wrong_pd);
  UROCE_EXPECT_FAULT(look(table_, key, 0, 1, {}, 0), wrong_pd);
}

TEST_F(Bounds, EachPermissionOpensItselfOnly) {
  const Access each[] = {Access::local_write, Access::remote_write, Access::remote_read, Access::remote_atomic};
  for (unsigned given = 0; given < 16; ++given) {
    const AccessFlags access = AccessFlags::from_bits(given);
    const bool remote_change = access.has(Access::remote_write) || access.has(Access::remote_atomic);
    const auto key = table_.register_region({bytes_.data(), 64, 0, access, kPd});
    if (remote_change && !access.has(Access::local_write)) {
      ASSERT_FALSE(key) << given;
      EXPECT_EQ(key.error().code, ErrorCode::invalid_argument);
      EXPECT_NE(key.error().message.find("local_write"), std::string::npos) << key.error().message;
      continue;
    }
    ASSERT_TRUE(key) << given;
    UROCE_EXPECT_LEADS_TO(look(table_, *key, 0, 64), bytes_.data());  // reading locally needs no flag
    for (Access a : each) {
      if (access.has(a)) {
        UROCE_EXPECT_LEADS_TO(look(table_, *key, 0, 64, a), bytes_.data());
      } else {
        UROCE_EXPECT_FAULT(look(table_, *key, 0, 64, a), no_permission);
      }
    }
    const AccessFlags both{Access::remote_write, Access::remote_read};
    EXPECT_EQ(look(table_, *key, 0, 64, both).at != nullptr, (given & 6u) == 6u);
    ASSERT_TRUE(table_.kill(*key));
    table_.release(*key);
  }
}

TEST_F(Bounds, RegistrationsThatWrapAreRefusedByName) {
  const auto iova = table_.register_region({bytes_.data(), 4096, 0xfffffffffffff001, kAll, kPd});
  ASSERT_FALSE(iova);
  EXPECT_EQ(iova.error().code, ErrorCode::invalid_argument);
  for (const char* part : {"memory region", "iova", "18446744073709547521", "4096"}) {
    EXPECT_NE(iova.error().message.find(part), std::string::npos) << part << " in: " << iova.error().message;
  }
  const auto address = table_.register_region({bytes_.data(), kTop, 0, kAll, kPd});
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code, ErrorCode::invalid_argument);
  for (const char* part : {"memory region", "address", "18446744073709551615"}) {
    EXPECT_NE(address.error().message.find(part), std::string::npos) << part << " in: " << address.error().message;
  }
  EXPECT_EQ(table_.live(), 0u);
}

TEST_F(Bounds, AnEmptyRegionOpensNothing) {
  const std::uint32_t key = add(table_, bytes_.data(), 0, 0x1000);
  UROCE_EXPECT_FAULT(look(table_, key, 0x1000, 1), out_of_range);
  UROCE_EXPECT_FAULT(look(table_, key, 0xfff, 1), out_of_range);
}

}  // namespace
}  // namespace uroce::memory::test
