#include "kiln/backend/cpu/memory_pool.hpp"

#include <algorithm>
#include <bit>
#include <functional>
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
  release_locked();
  for (const Region& region : regions_) unmap(region.start, kRegion);
}

std::byte* MemoryPool::acquire(std::size_t bytes, const Purpose& purpose) {
  if (bytes > kLargest) return nullptr;
  const auto [index, size] = size_class(bytes);
  const std::lock_guard lock(mutex_);
  std::byte* block = pop(index);
  if (!block) block = size > kLargestSmall ? map(size) : cut(size);
  if (block) ledger_.hand_out(block, size, purpose);
  return block;
}

void MemoryPool::give_back(std::byte* block, std::size_t bytes, MemoryUse use) {
  const auto [index, size] = size_class(bytes);
  const std::lock_guard lock(mutex_);
  ledger_.take_back(block, size, use);
  FreeBlock*& first = free_[static_cast<std::size_t>(index)];
  first = ::new (block) FreeBlock{first};
}

std::byte* MemoryPool::pop(int size_class) {
  FreeBlock*& first = free_[static_cast<std::size_t>(size_class)];
  if (!first) return nullptr;
  FreeBlock* block = first;
  first = block->next;
  return reinterpret_cast<std::byte*>(block);
}

std::byte* MemoryPool::cut(std::size_t size) {
  if (regions_.empty() || kRegion - regions_.back().cut < size) {
    std::byte* region = map(kRegion);
    if (!region) return nullptr;
    regions_.push_back({region, 0});
  }
  Region& region = regions_.back();
  std::byte* block = region.start + region.cut;
  region.cut += size;
  return block;
}

// Address space for one huge page more is asked for, and what sticks out on either side is given back.
std::byte* MemoryPool::map(std::size_t size) {
  if (size > limit_) return nullptr;
  if (reserved_ + size > limit_) release_locked();
  if (reserved_ + size > limit_) return nullptr;
  const auto ask = [&] {
    return ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  void* address = ask();
  if (address == MAP_FAILED) {
    release_locked();
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
  ledger_.ask_system();
  return start;
}

void MemoryPool::unmap(std::byte* start, std::size_t size) {
  ::munmap(start, size);
  reserved_ -= size;
}

void MemoryPool::release() {
  const std::lock_guard lock(mutex_);
  release_locked();
}

void MemoryPool::release_locked() {
  for (std::size_t size = round_up(kLargestSmall + 1, kHugePage); size <= kLargest;) {
    const auto [index, block_size] = size_class(size);
    while (std::byte* block = pop(index)) unmap(block, block_size);
    size = block_size + 1;
  }
  release_regions();
}

// A region can go when all that was cut from it is free again; its blocks leave their lists with it.
void MemoryPool::release_regions() {
  if (regions_.empty()) return;
  const Region current = regions_.back();
  std::sort(regions_.begin(), regions_.end(),
            [](const Region& a, const Region& b) { return std::less<>()(a.start, b.start); });
  const auto region_of = [&](FreeBlock* block) {
    auto* at = reinterpret_cast<std::byte*>(block);
    return static_cast<std::size_t>(
        std::upper_bound(regions_.begin(), regions_.end(), at,
                         [](std::byte* a, const Region& b) { return std::less<>()(a, b.start); }) -
        regions_.begin() - 1);
  };
  const int small_classes = size_class(kLargestSmall).index + 1;
  std::vector<std::size_t> free(regions_.size());
  for (std::size_t size = 1; size <= kLargestSmall;) {
    const auto [index, block_size] = size_class(size);
    for (FreeBlock* block = free_[static_cast<std::size_t>(index)]; block; block = block->next)
      free[region_of(block)] += block_size;
    size = block_size + 1;
  }
  const auto goes = [&](std::size_t region) { return free[region] == regions_[region].cut; };
  for (int index = 0; index < small_classes; ++index) {
    FreeBlock** link = &free_[static_cast<std::size_t>(index)];
    while (FreeBlock* block = *link) {
      if (goes(region_of(block))) *link = block->next;
      else link = &block->next;
    }
  }
  std::vector<Region> kept;
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if (goes(i)) unmap(regions_[i].start, kRegion);
    else kept.push_back(regions_[i]);
  }
  regions_ = std::move(kept);
  const auto last = std::find_if(regions_.begin(), regions_.end(),
                                 [&](const Region& region) { return region.start == current.start; });
  if (last != regions_.end()) std::iter_swap(last, std::prev(regions_.end()));
}

void MemoryPool::set_limit(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = std::min(bytes, kLargest);
  if (reserved_ > limit_) release_locked();
}

void MemoryPool::reset_peak() {
  const std::lock_guard lock(mutex_);
  ledger_.reset_peak();
}

MemoryStatistics MemoryPool::statistics() const {
  const std::lock_guard lock(mutex_);
  return ledger_.statistics(reserved_, limit_);
}

std::string MemoryPool::report() const {
  const std::lock_guard lock(mutex_);
  return ledger_.report(reserved_, limit_);
}

}  // namespace kiln::cpu
