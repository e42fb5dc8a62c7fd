// SPDX-License-Identifier: BSD-3-Clause
#include "engine/qp_table.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "base/rng.h"
#include "connection.h"

namespace uroce::engine::test {
namespace {

class QpTableTest : public testing::Test {
 protected:
  std::unique_ptr<Qp> make(std::uint32_t qpn) {
    return std::make_unique<Qp>(config_of(qpn, lane_.lane, lane_.lane, 1));
  }
  std::set<const Qp*> visited() const {
    std::set<const Qp*> out;
    table_->for_each([&](Qp& qp) { EXPECT_TRUE(out.insert(&qp).second) << "visited twice"; });
    return out;
  }
  Lane<2> lane_{1};
  std::unique_ptr<QpTable> table_ = std::make_unique<QpTable>();
};

TEST_F(QpTableTest, FindsNothingInAnEmptyTable) {
  for (std::uint32_t qpn : {0u, 1u, 2u, 0xfffu, 0x1000u, 0x800000u, 0xffffffu}) EXPECT_EQ(table_->find(qpn), nullptr);
  EXPECT_EQ(table_->size(), 0u);
  EXPECT_TRUE(visited().empty());
}

TEST_F(QpTableTest, FindsEachByItsOwnNumberOnly) {
  std::map<std::uint32_t, std::unique_ptr<Qp>> qps;
  for (std::uint32_t qpn :
       {0u, 2u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu, 0x2000u, 0x7fffffu, 0x800000u, 0xfff000u, 0xffffffu}) {
    qps[qpn] = make(qpn);
    table_->insert(*qps[qpn]);
    EXPECT_EQ(table_->size(), qps.size());
  }
  for (std::uint32_t qpn : {0u, 0xfffu, 0x1000u, 0x800000u, 0xffffffu}) {
    EXPECT_EQ(table_->find(qpn), qps.at(qpn).get()) << qpn;
    for (unsigned bit = 0; bit < 24; ++bit) {
      const std::uint32_t near = qpn ^ (1u << bit);
      EXPECT_EQ(table_->find(near), qps.contains(near) ? qps.at(near).get() : nullptr) << near;
    }
  }
  EXPECT_EQ(visited().size(), qps.size());
}

TEST_F(QpTableTest, AgreesWithAMapOverRandomCalls) {
  base::Rng rng(12);
  std::map<std::uint32_t, std::unique_ptr<Qp>> model;
  // Few pages and few slots, so that numbers come again.
  const auto some_number = [&] { return (rng.below(8) * 0x234u << 12 | rng.below(40) * 0x65u) & 0xffffff; };
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t qpn = some_number();
    const auto known = model.find(qpn);
    ASSERT_EQ(table_->find(qpn), known == model.end() ? nullptr : known->second.get());
    if (known == model.end() && model.size() < 100) {
      Qp& qp = *(model[qpn] = make(qpn));
      table_->insert(qp);
    } else if (known != model.end()) {
      table_->erase(qpn);
      model.erase(known);
    }
    ASSERT_EQ(table_->size(), model.size());
  }
  std::set<const Qp*> expected;
  for (const auto& [qpn, qp] : model) expected.insert(qp.get());
  EXPECT_EQ(visited(), expected);
}

}  // namespace
}  // namespace uroce::engine::test
