// A caching allocator. What comes back is kept for the next request of that size: giving large blocks back to the
// system means paying for every page again (1.3 us for 4 KiB on our machine, ten times the cost of writing it).
#pragma once
#include <array>
#include <mutex>
#include <vector>

#include "kiln/backend/cpu/memory.hpp"

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

  /// Null where the limit or the system does not allow it, even after trim().
  std::byte* acquire(std::size_t bytes);
  void give_back(std::byte* block, std::size_t bytes);
  /// Returns unused large blocks to the system.
  void trim();
  MemoryStatistics statistics() const;

 private:
  struct FreeBlock {
    FreeBlock* next;
  };
  static constexpr int kClasses = 320;  // up to 2^48 bytes

  std::byte* pop(int size_class);
  std::byte* cut(std::size_t size);
  std::byte* map(std::size_t size);
  void trim_locked();

  mutable std::mutex mutex_;
  const std::size_t limit_;
  std::array<FreeBlock*, kClasses> free_{};
  std::vector<std::byte*> regions_;  // of small blocks
  std::byte* cursor_ = nullptr;      // where the last of them is cut next
  std::size_t left_ = 0;
  std::size_t in_use_ = 0, reserved_ = 0, peak_ = 0;
};

}  // namespace kiln::cpu
