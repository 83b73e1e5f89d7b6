// A caching allocator. Returned blocks are kept for the next request: after returning large blocks to the system, every
// new page has to be paid for again (1.3 us for 4 KiB on our machine, ten times the cost of writing it).
#pragma once
#include <array>
#include <mutex>
#include <vector>

#include "kiln/backend/memory/accounting.hpp"
#include "kiln/backend/memory/block_source.hpp"
#include "kiln/backend/memory/extents.hpp"
#include "kiln/backend/memory/memory_options.hpp"
#include "kiln/core/threads/brief_mutex.hpp"

namespace kiln {

/// The pool never accesses its blocks, which the host may not be able to read. Sizes are rounded up to classes, eight
/// per doubling, so that at most an eighth is wasted (or 63 bytes of a block below 512). Small blocks are cut from
/// regions of 2 MiB at first, and of up to 16 MiB where many are held; blocks of whole pages begin at a page boundary.
/// Each class has a free list; one lock guards all. Large blocks come from merged free pages, the smallest range that
/// is large enough: a network whose results have many sizes reuses just the memory that it needs at once, and finds it
/// in a cache. Where a source takes no parts back, or equal requests must get equal addresses, large blocks are mapped
/// one by one, and reused for their class alone. Mappings begin on 2 MiB boundaries, and huge pages are requested.
/// Where the limit or the system gives no more, adjacent free small blocks are merged again, and free whole pages are
/// returned: a request fails only where partly used pages leave no room for it.
class MemoryPool {
 public:
  /// Which of several free blocks is reused. LatestFirst: a block that this thread returned lately, which its core may
  /// still have in its cache, or else the last one returned. LowestFirst: the block with the lowest address, so that
  /// equal sequences of requests get equal addresses (CUDA graphs store addresses).
  enum class Order : std::uint8_t { LatestFirst, LowestFirst };
  /// Holds at most `limit` bytes of `source`, which must outlive it.
  explicit MemoryPool(std::size_t limit, BlockSource& source = system_pages(), Order order = Order::LatestFirst);
  /// A pool by other rules than the usual ones; see MemoryOptions.
  MemoryPool(std::size_t limit, const MemoryOptions& options);
  /// Large blocks still in use remain valid; other blocks do not.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// Returns null where the limit or the system does not allow it, even after release_unused(). Takes 20 ns if a small
  /// block of the size is free.
  std::byte* acquire(std::size_t bytes, const Purpose& purpose = {});
  void release(std::byte* block, std::size_t bytes, MemoryUse use = MemoryUse::Scratch);
  /// Returns unused large blocks to the source, and unused pages of regions: pages of 4 KiB under a low limit, and
  /// larger ones, 2 MiB at most, under a high one, since a system limits the number of holes. A source that takes no
  /// parts gets back whole regions.
  void release_unused();
  /// Memory beyond the limit that is not in use is returned at once.
  void set_limit(std::size_t bytes);
  void reset_peak();
  MemoryStatistics statistics() const;
  std::string report() const;

 private:
  struct Free {
    std::byte* block;
    int giver;  // the thread that returned it
  };
  static constexpr int kClasses = 320;  // up to 2^48 bytes

  struct SizeClass {
    int index;
    std::size_t size;
  };
  SizeClass block_for(std::size_t bytes) const;
  std::byte* take_from_arena(std::size_t size);
  void give_up(Extent range) noexcept;
  std::byte* pop(int size_class);
  void push(int size_class, std::byte* block) noexcept;
  void join(Extent range) noexcept;
  std::byte* take_large(std::size_t size);
  std::byte* allocate_small(int size_class, std::size_t size);
  static std::byte* take(Extent& range, std::size_t size);
  std::byte* split(int size_class, std::size_t size);
  void split_free(Extent range);
  bool add_region(std::size_t size);
  std::byte* map(std::size_t size);
  void release_locked();
  void release_pages();
  bool unmap(Extent range);

  BlockSource& source_;
  const MemoryStrategy strategy_;
  const std::size_t arena_bytes_;
  const Order order_;
  const bool joins_;  // merge large blocks
  mutable BriefMutex mutex_;
  std::size_t limit_;
  std::array<std::vector<Free>, kClasses> free_;  // stacks, or heaps with the lowest address on top
  std::vector<Extent> regions_;                   // the regions from which small blocks are cut
  Extent region_rest_{};                          // the rest of the last region
  Extents extents_;                               // the free memory for large blocks
  std::size_t reserved_ = 0, in_regions_ = 0;
  Extent arena_{};  // all of it, once it is there
  MemoryAccounting accounting_;
};

}  // namespace kiln
