#include "kiln/backend/cpu/memory/memory_pool.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace kiln::cpu {
namespace {

constexpr std::size_t kPage = std::size_t{4} << 10, kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLargestRegion = std::size_t{16} << 20;
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
  const std::size_t wanted = std::max(bytes, std::size_t{1});
  if (wanted <= 8 * kStep) {
    const std::size_t steps = (wanted + kStep - 1) / kStep;
    return {static_cast<int>(steps) - 1, steps * kStep};
  }
  const int doubling = std::bit_width(wanted - 1);  // 2^(doubling - 1) < wanted <= 2^doubling
  const std::size_t base = std::size_t{1} << (doubling - 1), step = base / 8;
  const std::size_t steps = (wanted - base + step - 1) / step;
  return {8 * (doubling - 9) + static_cast<int>(steps) - 1, base + steps * step};
}
constexpr std::size_t size_of_class(int index) {
  if (index < 8) return (static_cast<std::size_t>(index) + 1) * kAlignment;
  const std::size_t base = std::size_t{256} << (index / 8);
  return base + (static_cast<std::size_t>(index % 8) + 1) * (base / 8);
}
static_assert(size_class(0).size == 64 && size_class(513).index == 8 && size_class(1024).index == 15);
static_assert(size_of_class(8) == 576 && size_of_class(size_class(kLargestSmall).index) == kLargestSmall);

constexpr int kSmallClasses = size_class(kLargestSmall).index + 1;

}  // namespace

MemoryPool::MemoryPool(std::size_t limit) : limit_(std::min(limit, kLargest)) {}

MemoryPool::~MemoryPool() {
  release_locked();
  for (const Range& region : regions_) unmap(region);
}

std::byte* MemoryPool::acquire(std::size_t bytes, const Purpose& purpose) {
  if (bytes > kLargest) return nullptr;
  const auto [index, size] = size_class(bytes);
  const std::lock_guard lock(mutex_);
  std::byte* block = pop(index);
  if (!block) block = size > kLargestSmall ? map(size) : cut(index, size);
  if (block) ledger_.hand_out(block, size, purpose);
  return block;
}

void MemoryPool::give_back(std::byte* block, std::size_t bytes, MemoryUse use) {
  const auto [index, size] = size_class(bytes);
  const std::lock_guard lock(mutex_);
  ledger_.take_back(block, size, use);
  push(index, block);
}

void MemoryPool::push(int size_class, std::byte* block) {
  FreeBlock*& first = free_[static_cast<std::size_t>(size_class)];
  first = ::new (block) FreeBlock{first};
}

std::byte* MemoryPool::pop(int size_class) {
  FreeBlock*& first = free_[static_cast<std::size_t>(size_class)];
  if (!first) return nullptr;
  FreeBlock* block = first;
  first = block->next;
  return reinterpret_cast<std::byte*>(block);
}

std::byte* MemoryPool::cut(int size_class, std::size_t size) {
  if (uncut_.size < size) {
    chop(std::exchange(uncut_, {}));
    if (reserved_ + round_up(size, kPage) > limit_)
      if (std::byte* block = split(size_class, size)) return block;
    if (!add_region(size)) return split(size_class, size);
  }
  std::byte* block = uncut_.start;
  uncut_ = {block + size, uncut_.size - size};
  return block;
}

// Regions grow with what they hold together; where the limit is near, the next is as large as it leaves room for.
bool MemoryPool::add_region(std::size_t size) {
  const std::size_t least = round_up(size, kPage);
  if (reserved_ + least > limit_) release_locked();
  regions_.reserve(regions_.size() + 1);
  std::size_t region = std::clamp(std::bit_floor(in_regions_), kHugePage, kLargestRegion);
  while (region > least && reserved_ + region > limit_) region = std::max(least, region / 2);
  std::byte* start = map(region);
  if (!start) return false;
  uncut_ = {start, region};
  regions_.push_back(uncut_);
  in_regions_ += region;
  return true;
}

// The beginning of a free block of a larger class; what is left of it is free.
std::byte* MemoryPool::split(int size_class, std::size_t size) {
  for (int index = size_class; index < kSmallClasses; ++index)
    if (std::byte* block = pop(index)) {
      chop({block + size, size_of_class(index) - size});
      return block;
    }
  return nullptr;
}

// Makes free blocks of a range, the largest first; every class is a multiple of the smallest.
void MemoryPool::chop(Range range) {
  while (range.size) {
    auto [index, size] = size_class(std::min(range.size, kLargestSmall));
    if (size > range.size) size = size_of_class(--index);
    push(index, range.start);
    range = {range.start + size, range.size - size};
  }
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

// False where the system wants to count no more holes.
bool MemoryPool::unmap(Range range) {
  if (::munmap(range.start, range.size) != 0) return false;
  reserved_ -= range.size;
  return true;
}

void MemoryPool::release() {
  const std::lock_guard lock(mutex_);
  release_locked();
}

void MemoryPool::release_locked() {
  for (int index = kSmallClasses; index < kClasses; ++index)
    while (std::byte* block = pop(index)) unmap({block, size_of_class(index)});
  release_pages();
}

// All that is prepared before the first change may throw std::bad_alloc.
void MemoryPool::release_pages() {
  std::vector<Range> free;
  if (uncut_.size) free.push_back(uncut_);
  for (int index = 0; index < kSmallClasses; ++index)
    for (FreeBlock* block = free_[static_cast<std::size_t>(index)]; block; block = block->next)
      free.push_back({reinterpret_cast<std::byte*>(block), size_of_class(index)});
  const auto by_address = [](const Range& a, const Range& b) { return std::less<>()(a.start, b.start); };
  std::sort(free.begin(), free.end(), by_address);
  std::sort(regions_.begin(), regions_.end(), by_address);

  const std::size_t page = std::clamp(std::bit_ceil(limit_ / 8192), kPage, kHugePage);
  std::vector<Range> whole, rest, kept;  // pages to return, what is free between them, what regions are then
  auto block = free.begin();
  for (const Range& region : regions_) {
    std::byte* kept_from = region.start;
    // What lies before a region lies in none: the system would not take it.
    for (; block != free.end() && std::less<>()(block->start, region.start); ++block) rest.push_back(*block);
    while (block != free.end() && std::less<>()(block->start, region.end())) {
      Range together = *block;
      while (++block != free.end() && block->start == together.end() && block->start != region.end())
        together.size += block->size;
      const auto first = reinterpret_cast<std::uintptr_t>(together.start), last = first + together.size;
      const std::size_t before = together.start == region.start ? 0 : std::min(round_up(first, page), last) - first;
      const std::size_t after = together.end() == region.end() ? 0 : last % page;
      const std::size_t returned = before + after < together.size ? together.size - before - after : 0;
      const Range hole{together.start + before, returned};
      rest.push_back({together.start, before});
      rest.push_back({hole.end(), together.size - before - returned});
      if (!returned) continue;
      whole.push_back(hole);
      if (kept_from != hole.start) kept.push_back({kept_from, static_cast<std::size_t>(hole.start - kept_from)});
      kept_from = hole.end();
    }
    if (kept_from != region.end()) kept.push_back({kept_from, static_cast<std::size_t>(region.end() - kept_from)});
  }
  rest.insert(rest.end(), block, free.end());
  kept.reserve(kept.size() + whole.size() + 1);  // and what add_region() adds

  uncut_ = {};
  std::fill_n(free_.begin(), kSmallClasses, nullptr);
  for (const Range& range : rest) chop(range);
  for (const Range& hole : whole)
    if (!unmap(hole)) {
      chop(hole);
      kept.push_back(hole);
    }
  regions_ = std::move(kept);
  in_regions_ = 0;
  for (const Range& region : regions_) in_regions_ += region.size;
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
