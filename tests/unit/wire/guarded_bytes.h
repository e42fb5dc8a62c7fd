// SPDX-License-Identifier: BSD-3-Clause
// Bytes whose end is the end of mapped memory: the first access past them is a fault, with or without a sanitizer.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <span>

namespace uroce::wire::test {

class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t size) : size_(size) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t room = (size + page - 1) / page * page;
    mapped_ = room + page;
    void* base = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::uint8_t*>(base);
    if (mprotect(base_ + room, page, PROT_NONE) != 0) throw std::bad_alloc();
    data_ = base_ + room - size;
  }
  explicit GuardedBytes(std::span<const std::uint8_t> from) : GuardedBytes(from.size()) {
    if (!from.empty()) std::memcpy(data_, from.data(), from.size());
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { munmap(base_, mapped_); }

  [[nodiscard]] std::uint8_t* data() noexcept { return data_; }
  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept { return {data_, size_}; }
  // Copies `from`, which is no longer than this, to the end: the same guard behind other bytes, without a new mapping.
  std::span<std::uint8_t> assign(std::span<const std::uint8_t> from) noexcept {
    std::uint8_t* at = data_ + size_ - from.size();
    if (!from.empty()) std::memcpy(at, from.data(), from.size());
    return {at, from.size()};
  }

 private:
  std::uint8_t* base_ = nullptr;
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;
};

}  // namespace uroce::wire::test
