#include "kiln/backend/cpu/memory_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <sys/mman.h>

namespace kiln::cpu {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kRegion = std::size_t{16} << 20;
constexpr std::size_t kLargestSmall = std::size_t{1} << 20;
constexpr std::size_t kLargest = std::size_t{1} << 48;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

struct SizeClass {
  int index;
  std::size_t size;
};

// 64, 128, ..., 512, then 576, 640, ..., 1024, then 1152, ...
constexpr SizeClass size_class(std::size_t bytes) {
  constexpr std::size_t kStep = kAlignment;
  const std::size_t wanted = bytes > kLargestSmall ? round_up(bytes, kHugePage) : std::max(bytes, std::size_t{1});
  if (wanted <= 8 * kStep) {
    const std::size_t steps = (wanted + kStep - 1) / kStep;
    return {static_cast<int>(steps) - 1, steps * kStep};
  }
  const int doubling = std::bit_width(wanted - 1);  // 2^(doubling - 1) < wanted <= 2^doubling
  const std::size_t base = std::size_t{1} << (doubling - 1), step = base / 8;
  const std::size_t steps = (wanted - base + step - 1) / step;
  return {8 * (doubling - 9) + static_cast<int>(steps) - 1, base + steps * step};
}
static_assert(size_class(0).size == 64 && size_class(513).index == 8 && size_class(1024).index == 15);

}  // namespace

MemoryPool::MemoryPool(std::size_t limit) : limit_(std::min(limit, kLargest)) {}

MemoryPool::~MemoryPool() {
  trim_locked();
  for (std::byte* region : regions_) ::munmap(region, kRegion);
}

std::byte* MemoryPool::acquire(std::size_t bytes) {
  if (bytes > limit_) return nullptr;
  const auto [index, size] = size_class(bytes);
  const std::lock_guard lock(mutex_);
  std::byte* block = pop(index);
  if (!block) block = size > kLargestSmall ? map(size) : cut(size);
  if (!block) return nullptr;
  in_use_ += size;
  peak_ = std::max(peak_, in_use_);
  return block;
}

void MemoryPool::give_back(std::byte* block, std::size_t bytes) {
  const auto [index, size] = size_class(bytes);
  const std::lock_guard lock(mutex_);
  FreeBlock*& first = free_[static_cast<std::size_t>(index)];
  first = ::new (block) FreeBlock{first};
  in_use_ -= size;
}

std::byte* MemoryPool::pop(int size_class) {
  FreeBlock*& first = free_[static_cast<std::size_t>(size_class)];
  if (!first) return nullptr;
  FreeBlock* block = first;
  first = block->next;
  return reinterpret_cast<std::byte*>(block);
}

std::byte* MemoryPool::cut(std::size_t size) {
  if (left_ < size) {
    std::byte* region = map(kRegion);
    if (!region) return nullptr;
    regions_.push_back(region);
    cursor_ = region;
    left_ = kRegion;
  }
  std::byte* block = cursor_;
  cursor_ += size;
  left_ -= size;
  return block;
}

// Address space for one huge page more is asked for, and what sticks out on either side is given back.
std::byte* MemoryPool::map(std::size_t size) {
  if (reserved_ + size > limit_) trim_locked();
  if (reserved_ + size > limit_) return nullptr;
  const auto ask = [&] {
    return ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  void* address = ask();
  if (address == MAP_FAILED) {
    trim_locked();
    address = ask();
    if (address == MAP_FAILED) return nullptr;
  }
  auto* start = static_cast<std::byte*>(address);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(start) % kHugePage) % kHugePage;
  if (before) ::munmap(start, before);
  if (before < kHugePage) ::munmap(start + before + size, kHugePage - before);
  start += before;
#ifdef MADV_HUGEPAGE
  ::madvise(start, size, MADV_HUGEPAGE);  // a wish: without huge pages it is only slower
#endif
  reserved_ += size;
  return start;
}

void MemoryPool::trim() {
  const std::lock_guard lock(mutex_);
  trim_locked();
}

void MemoryPool::trim_locked() {
  for (std::size_t size = round_up(kLargestSmall + 1, kHugePage); size <= kLargest;) {
    const auto [index, block_size] = size_class(size);
    while (std::byte* block = pop(index)) {
      ::munmap(block, block_size);
      reserved_ -= block_size;
    }
    size = block_size + 1;
  }
}

MemoryStatistics MemoryPool::statistics() const {
  const std::lock_guard lock(mutex_);
  const auto signed_size = [](std::size_t bytes) { return static_cast<std::int64_t>(bytes); };
  return {.in_use = signed_size(in_use_), .reserved = signed_size(reserved_), .peak = signed_size(peak_)};
}

}  // namespace kiln::cpu
