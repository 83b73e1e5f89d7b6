// A caching allocator. What comes back is kept for the next request of that size: giving large blocks back to the
// system means paying for every page again (1.3 us for 4 KiB on our machine, ten times the cost of writing it).
#pragma once
#include <array>
#include <mutex>
#include <vector>

#include "kiln/backend/cpu/ledger.hpp"

namespace kiln::cpu {

/// Sizes are rounded up to classes, eight to each doubling, so that at most an eighth is wasted (beyond 1 MiB sizes
/// are also whole huge pages). Small blocks are cut from shared regions, large ones are regions of their own; regions
/// lie on 2 MiB boundaries and ask the system for huge pages. A free list per class, under one lock.
class MemoryPool {
 public:
  /// Holds at most `limit` bytes of the system.
  explicit MemoryPool(std::size_t limit);
  /// Blocks still in use remain valid only if they are large ones.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// Null where the limit or the system does not allow it, even after release().
  std::byte* acquire(std::size_t bytes, const Purpose& purpose = {});
  void give_back(std::byte* block, std::size_t bytes, MemoryUse use = MemoryUse::Scratch);
  /// Returns to the system large blocks that nobody uses, and regions of small ones none of which is used.
  void release();
  /// What is held beyond it and not in use is returned at once.
  void set_limit(std::size_t bytes);
  void reset_peak();
  MemoryStatistics statistics() const;
  std::string report() const;

 private:
  struct FreeBlock {
    FreeBlock* next;
  };
  /// Of small blocks: what lies before `cut` has been made blocks of.
  struct Region {
    std::byte* start;
    std::size_t cut;
  };
  static constexpr int kClasses = 320;  // up to 2^48 bytes

  std::byte* pop(int size_class);
  std::byte* cut(std::size_t size);
  std::byte* map(std::size_t size);
  void release_locked();
  void release_regions();
  void unmap(std::byte* start, std::size_t size);

  mutable std::mutex mutex_;
  std::size_t limit_;
  std::array<FreeBlock*, kClasses> free_{};
  std::vector<Region> regions_;  // the last is being cut
  std::size_t reserved_ = 0;
  Ledger ledger_;
};

}  // namespace kiln::cpu
