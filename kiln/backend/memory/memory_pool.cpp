#include "kiln/backend/memory/memory_pool.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <new>
#include <utility>

namespace kiln {
namespace {

constexpr std::size_t kPage = std::size_t{4} << 10, kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLargestRegion = std::size_t{16} << 20;
constexpr std::size_t kLargestSmall = std::size_t{1} << 20;
constexpr std::size_t kLargest = std::size_t{1} << (sizeof(std::size_t) > 4 ? 48 : 31);

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

struct SizeClass {
  int index;
  std::size_t size;
};

// The sizes of classes are 64, 128, ..., 512, then 576, 640, ..., 1024, then 1152, ...
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

/// The class of blocks that consist of merged free memory, and of those that the source gives one by one.
constexpr int kJoined = -1, kExact = -2;

int this_thread() {
  static std::atomic<int> threads = 0;
  thread_local const int number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

constexpr auto kLowerFirst = [](const auto& a, const auto& b) { return std::greater<>()(a.block, b.block); };

}  // namespace

MemoryPool::MemoryPool(std::size_t limit, BlockSource& source, Order order)
    : source_(source),
      strategy_(MemoryStrategy::Pool),
      arena_bytes_(0),
      order_(order),
      joins_(order == Order::LatestFirst && source.returns_parts()),
      limit_(std::min(limit, kLargest)) {}

MemoryPool::MemoryPool(std::size_t limit, const MemoryOptions& options)
    : source_(options.source ? *options.source : system_pages()),
      strategy_(options.strategy),
      arena_bytes_(options.bytes),
      order_(Order::LatestFirst),
      joins_(options.strategy != MemoryStrategy::Pool || source_.returns_parts()),
      limit_(std::min(limit, kLargest)) {}

MemoryPool::~MemoryPool() {
  release_locked();
  extents_.drop_if([&](const Extent& range) { return range.size == arena_.size && unmap(range); });
  for (const Extent& region : regions_) unmap(region);
}

std::byte* MemoryPool::acquire(std::size_t bytes, const Purpose& purpose) {
  if (bytes > kLargest) return nullptr;
  const auto [index, size] = block_for(bytes);
  const std::lock_guard lock(mutex_);
  std::byte* block = nullptr;
  if (index == kExact) block = map(size);
  else if (index == kJoined) block = strategy_ == MemoryStrategy::Arena ? take_from_arena(size) : take_large(size);
  else if (block = pop(index); !block) block = size > kLargestSmall ? map(size) : allocate_small(index, size);
  if (block) accounting_.record_acquire(block, size, purpose);
  return block;
}

void MemoryPool::release(std::byte* block, std::size_t bytes, MemoryUse use) {
  const auto [index, size] = block_for(bytes);
  const std::lock_guard lock(mutex_);
  accounting_.record_release(block, size, use);
  if (index == kExact) give_up({block, size});
  else if (index == kJoined) join({block, size});
  else push(index, block);
}

MemoryPool::SizeClass MemoryPool::block_for(std::size_t bytes) const {
  const std::size_t wanted = std::max(bytes, std::size_t{1});
  if (strategy_ == MemoryStrategy::Exact) return {kExact, round_up(wanted, kPage)};
  if (strategy_ == MemoryStrategy::Arena) return {kJoined, round_up(wanted, kAlignment)};
  if (joins_ && bytes > kLargestSmall) return {kJoined, round_up(bytes, kPage)};
  const auto [index, size] = size_class(bytes);
  return {index, size};
}

std::byte* MemoryPool::take_from_arena(std::size_t size) {
  if (!arena_.start) {
    const std::size_t all = round_up(arena_bytes_, kPage);
    std::byte* const start = map(all);
    if (!start) return nullptr;
    arena_ = {start, all};
    join(arena_);
  }
  return extents_.take(size);
}

// The memory stays reserved if the source refuses: it is offered again with what else is unused.
void MemoryPool::give_up(Extent range) noexcept {
  if (!unmap(range)) join(range);
}

// Where the host has no memory for a longer list, the block is not reused: it stays allocated, without a user, until
// its region is freed.
void MemoryPool::push(int size_class, std::byte* block) noexcept {
  try {
    std::vector<Free>& free = free_[static_cast<std::size_t>(size_class)];
    free.push_back({block, this_thread()});
    if (order_ == Order::LowestFirst) std::push_heap(free.begin(), free.end(), kLowerFirst);
  } catch (const std::bad_alloc&) {}
}
void MemoryPool::join(Extent range) noexcept {
  try {
    extents_.add(range);
  } catch (const std::bad_alloc&) {}
}

std::byte* MemoryPool::pop(int size_class) {
  std::vector<Free>& free = free_[static_cast<std::size_t>(size_class)];
  if (free.empty()) return nullptr;
  auto chosen = free.end() - 1;
  if (order_ == Order::LowestFirst) {
    std::pop_heap(free.begin(), free.end(), kLowerFirst);
  } else {
    constexpr std::ptrdiff_t kLately = 64;
    const auto last = free.rbegin(), oldest = last + std::min(kLately, free.end() - free.begin());
    const auto own = std::find_if(last, oldest, [me = this_thread()](const Free& each) { return each.giver == me; });
    if (own != oldest) chosen = own.base() - 1;
  }
  std::byte* const block = chosen->block;
  free.erase(chosen);
  return block;
}

std::byte* MemoryPool::allocate_small(int size_class, std::size_t size) {
  if (region_rest_.size < size) {
    split_free(std::exchange(region_rest_, {}));
    if (reserved_ + round_up(size, kPage) > limit_)
      if (std::byte* block = split(size_class, size)) return block;
    if (!add_region(size)) return split(size_class, size);
  }
  return take(region_rest_, size);
}

// Takes whole pages from the beginning of a range, and smaller blocks from its end, so that blocks of pages begin at a
// page boundary. If a result starts one or two cache lines after an operand, modulo the page size, processors mistake
// reads of the operand for reads of data just written, and stall.
std::byte* MemoryPool::take(Extent& range, std::size_t size) {
  const bool first = size % kPage == 0;
  std::byte* const block = first ? range.start : range.end() - size;
  range = {first ? block + size : range.start, range.size - size};
  return block;
}

// A region grows with the total of all regions; near the limit it is as large as the limit allows.
bool MemoryPool::add_region(std::size_t size) {
  const std::size_t least = round_up(size, kPage);
  if (reserved_ + least > limit_) release_locked();
  regions_.reserve(regions_.size() + 1);
  std::size_t region = std::clamp(std::bit_floor(in_regions_), kHugePage, kLargestRegion);
  while (region > least && reserved_ + region > limit_) region = std::max(least, region / 2);
  std::byte* start = map(region);
  if (!start) return false;
  region_rest_ = {start, region};
  regions_.push_back(region_rest_);
  in_regions_ += region;
  return true;
}

// Takes part of a free block of a larger class; the rest stays free.
std::byte* MemoryPool::split(int size_class, std::size_t size) {
  for (int index = size_class; index < kSmallClasses; ++index)
    if (std::byte* block = pop(index)) {
      Extent range{block, size_of_class(index)};
      std::byte* const part = take(range, size);
      split_free(range);
      return part;
    }
  return nullptr;
}

// Splits a range into free blocks, the largest first from each page boundary; every class is a multiple of the
// smallest.
void MemoryPool::split_free(Extent range) {
  while (range.size) {
    const std::size_t in_page = reinterpret_cast<std::uintptr_t>(range.start) % kPage;
    const std::size_t most = std::min(range.size, in_page ? kPage - in_page : kLargestSmall);
    auto [index, size] = size_class(most);
    if (size > most) size = size_of_class(--index);
    push(index, range.start);
    range = {range.start + size, range.size - size};
  }
}

// Maps huge pages, which the next mapping may adjoin; where the limit does not allow them, it maps only the requested
// size.
std::byte* MemoryPool::take_large(std::size_t size) {
  if (std::byte* block = extents_.take(size)) return block;
  std::size_t mapped = round_up(size, kHugePage);
  if (reserved_ + mapped > limit_) {
    release_locked();
    if (reserved_ + mapped > limit_) mapped = size;
  }
  std::byte* const start = map(mapped);
  if (!start) return nullptr;
  join({start, mapped});
  return extents_.take(size);
}

std::byte* MemoryPool::map(std::size_t size) {
  if (size > limit_) return nullptr;
  if (reserved_ + size > limit_) release_locked();
  if (reserved_ + size > limit_) return nullptr;
  std::byte* start = source_.map(size);
  if (!start) {
    release_locked();
    start = source_.map(size);
    if (!start) return nullptr;
  }
  reserved_ += size;
  accounting_.count_system_request();
  return start;
}

// Returns false where the source keeps it.
bool MemoryPool::unmap(Extent range) {
  if (!source_.unmap(range.start, range.size)) return false;
  reserved_ -= range.size;
  return true;
}

void MemoryPool::release_unused() {
  const std::lock_guard lock(mutex_);
  release_locked();
}

void MemoryPool::release_locked() {
  if (strategy_ == MemoryStrategy::Arena) return;  // it stays whole
  for (int index = kSmallClasses; index < kClasses; ++index)
    while (std::byte* block = pop(index)) unmap({block, size_of_class(index)});
  extents_.drop_if([&](const Extent& range) { return unmap(range); });
  release_pages();
}

// Everything that may throw std::bad_alloc is prepared before the first change.
void MemoryPool::release_pages() {
  std::vector<Extent> free;
  if (region_rest_.size) free.push_back(region_rest_);
  for (int index = 0; index < kSmallClasses; ++index)
    for (const Free& each : free_[static_cast<std::size_t>(index)]) free.push_back({each.block, size_of_class(index)});
  const auto by_address = [](const Extent& a, const Extent& b) { return std::less<>()(a.start, b.start); };
  std::sort(free.begin(), free.end(), by_address);
  std::sort(regions_.begin(), regions_.end(), by_address);

  const std::size_t page = std::clamp(std::bit_ceil(limit_ / 8192), kPage, kHugePage);
  std::vector<Extent> whole, rest, kept;  // pages to return; free ranges between them; the regions afterwards
  auto block = free.begin();
  for (const Extent& region : regions_) {
    std::byte* kept_from = region.start;
    // Blocks before a region belong to no region: the system refused to take them back.
    for (; block != free.end() && std::less<>()(block->start, region.start); ++block) rest.push_back(*block);
    while (block != free.end() && std::less<>()(block->start, region.end())) {
      Extent together = *block;
      for (++block; block != free.end() && block->start == together.end() && block->start != region.end(); ++block)
        together.size += block->size;
      const auto first = reinterpret_cast<std::uintptr_t>(together.start), last = first + together.size;
      const std::size_t before = together.start == region.start ? 0 : std::min(round_up(first, page), last) - first;
      const std::size_t after = together.end() == region.end() ? 0 : last % page;
      std::size_t returned = before + after < together.size ? together.size - before - after : 0;
      if (!source_.returns_parts() && returned != region.size) returned = 0;
      const Extent hole{together.start + before, returned};
      if (!returned) {
        rest.push_back(together);
        continue;
      }
      rest.push_back({together.start, before});
      rest.push_back({hole.end(), together.size - before - returned});
      whole.push_back(hole);
      if (kept_from != hole.start) kept.push_back({kept_from, static_cast<std::size_t>(hole.start - kept_from)});
      kept_from = hole.end();
    }
    if (kept_from != region.end()) kept.push_back({kept_from, static_cast<std::size_t>(region.end() - kept_from)});
  }
  rest.insert(rest.end(), block, free.end());
  kept.reserve(kept.size() + whole.size() + 1);  // including the one that add_region() adds

  region_rest_ = {};
  for (int index = 0; index < kSmallClasses; ++index) free_[static_cast<std::size_t>(index)].clear();
  for (const Extent& range : rest) split_free(range);
  for (const Extent& hole : whole)
    if (!unmap(hole)) {
      split_free(hole);
      kept.push_back(hole);
    }
  regions_ = std::move(kept);
  in_regions_ = 0;
  for (const Extent& region : regions_) in_regions_ += region.size;
}

void MemoryPool::set_limit(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = std::min(bytes, kLargest);
  if (reserved_ > limit_) release_locked();
}

void MemoryPool::reset_peak() {
  const std::lock_guard lock(mutex_);
  accounting_.reset_peak();
}

MemoryStatistics MemoryPool::statistics() const {
  const std::lock_guard lock(mutex_);
  return accounting_.statistics(reserved_, limit_);
}

std::string MemoryPool::report() const {
  const std::lock_guard lock(mutex_);
  return accounting_.report(reserved_, limit_);
}

}  // namespace kiln
