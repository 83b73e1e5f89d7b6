// Where a pool gets its memory from: the system, a GPU's driver.
#pragma once
#include <cstddef>

namespace kiln {

class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// `bytes` of memory, a multiple of 4 KiB, at a multiple of 64, or of 2 MiB where returns_parts(); null where there is no
  /// more. The address need not be one that the host can read: a pool never looks into its blocks.
  virtual std::byte* map(std::size_t bytes) = 0;
  /// Takes back what map() gave, or part of it where returns_parts(). False where it will not, and nothing has changed.
  virtual bool unmap(std::byte* start, std::size_t bytes) = 0;
  /// May a part of what map() gave go back, in pages of 4 KiB and multiples?
  virtual bool returns_parts() const = 0;
};

/// The host's pages, in large ones where the system has them.
BlockSource& system_pages();

}  // namespace kiln
