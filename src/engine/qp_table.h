// SPDX-License-Identifier: BSD-3-Clause
// QPN to queue pair: two levels of 4096, pages made on demand by the control path. No scan, no hash.
#pragma once
#include <array>
#include <cstdint>
#include <memory>

#include "transport/qp.h"

namespace uroce::engine {

class QpTable {
 public:
  [[nodiscard]] transport::Qp* find(std::uint32_t qpn) const noexcept {
    const Page* page = pages_[(qpn >> kBits) & kMask].get();
    return page == nullptr ? nullptr : (*page)[qpn & kMask];
  }
  void insert(transport::Qp& qp) {
    auto& page = pages_[(qp.qpn() >> kBits) & kMask];
    if (page == nullptr) page = std::make_unique<Page>();
    (*page)[qp.qpn() & kMask] = &qp;
    ++size_;
  }
  void erase(std::uint32_t qpn) noexcept {
    (*pages_[(qpn >> kBits) & kMask])[qpn & kMask] = nullptr;
    --size_;
  }
  template <class F>
  void for_each(F&& f) const {
    for (const auto& page : pages_) {
      if (page == nullptr) continue;
      for (transport::Qp* qp : *page) {
        if (qp != nullptr) f(*qp);
      }
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr unsigned kBits = 12, kMask = (1u << kBits) - 1;
  using Page = std::array<transport::Qp*, 1u << kBits>;
  std::array<std::unique_ptr<Page>, 1u << kBits> pages_;
  std::size_t size_ = 0;
};

}  // namespace uroce::engine
