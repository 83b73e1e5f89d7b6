// A caching allocator. What comes back is kept for the next request: giving large blocks back to the system means paying
// for every page again (1.3 us for 4 KiB on our machine, ten times the cost of writing it).
#pragma once
#include <array>
#include <mutex>
#include <vector>

#include "kiln/backend/memory/block_source.hpp"
#include "kiln/backend/memory/extents.hpp"
#include "kiln/backend/memory/ledger.hpp"
#include "kiln/core/threads/brief_mutex.hpp"

namespace kiln {

/// Never looks into its blocks, which may lie where the host cannot read. Sizes are rounded up to classes, eight to each
/// doubling, so that at most an eighth is wasted (or 63 bytes of a block below 512). Small blocks are cut from regions, of
/// 2 MiB at first and of 16 where many are held, those of whole pages from where a page begins. A free list per class, under
/// one lock. Large blocks are pages of what is free side by side, the least that has room for them: a network whose results
/// have many sizes goes round in the memory that it needs at once, and finds it in a cache. Where a source takes no parts
/// back, or the same is to be given the same, they are mapped one by one, and handed out again for their class alone.
/// What is mapped begins on 2 MiB boundaries, and huge pages are asked for.
/// Where the limit or the system gives no more, free small blocks that lie side by side are put together again, and what is
/// free in whole pages goes back: a block is refused only where pages that are partly in use leave no room for it.
class MemoryPool {
 public:
  /// Which of several free blocks is handed out: one that this thread gave back lately, whose core may still have it in its
  /// cache, or else the last one; or the one that lies lowest, so that who asks for the same again and again is given the
  /// same (CUDA graphs hold addresses).
  enum class Order : std::uint8_t { LatestFirst, LowestFirst };
  /// Holds at most `limit` bytes of `source`, which outlives it.
  explicit MemoryPool(std::size_t limit, BlockSource& source = system_pages(), Order order = Order::LatestFirst);
  /// Blocks still in use remain valid only if they are large ones.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// Null where the limit or the system does not allow it, even after release(). 20 ns where such a small block is free.
  std::byte* acquire(std::size_t bytes, const Purpose& purpose = {});
  void give_back(std::byte* block, std::size_t bytes, MemoryUse use = MemoryUse::Scratch);
  /// Returns to the source large blocks that nobody uses, and pages of regions in which nothing is used: pages of 4 KiB
  /// under a low limit, and larger ones, 2 MiB at most, under a high one, since a system counts the holes. A source that
  /// takes no parts gets back whole regions.
  void release();
  /// What is held beyond it and not in use is returned at once.
  void set_limit(std::size_t bytes);
  void reset_peak();
  MemoryStatistics statistics() const;
  std::string report() const;

 private:
  struct Free {
    std::byte* block;
    int giver;  // the thread
  };
  static constexpr int kClasses = 320;  // up to 2^48 bytes

  std::byte* pop(int size_class);
  void push(int size_class, std::byte* block) noexcept;
  void join(Extent range) noexcept;
  std::byte* take_large(std::size_t size);
  std::byte* cut(int size_class, std::size_t size);
  static std::byte* take(Extent& range, std::size_t size);
  std::byte* split(int size_class, std::size_t size);
  void chop(Extent range);
  bool add_region(std::size_t size);
  std::byte* map(std::size_t size);
  void release_locked();
  void release_pages();
  bool unmap(Extent range);

  BlockSource& source_;
  const Order order_;
  const bool joins_;  // large blocks
  mutable BriefMutex mutex_;
  std::size_t limit_;
  std::array<std::vector<Free>, kClasses> free_;  // stacks, or heaps of the lowest
  std::vector<Extent> regions_;                   // what small blocks are cut from
  Extent uncut_{};                                // the end of the last region
  Extents extents_;                               // what large blocks are taken from
  std::size_t reserved_ = 0, in_regions_ = 0;
  Ledger ledger_;
};

}  // namespace kiln
