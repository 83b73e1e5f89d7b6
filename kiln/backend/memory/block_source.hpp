// The source of a pool's memory: the system, a GPU's driver, or one's own (memory_options.hpp).
#pragma once
#include <cstddef>

namespace kiln {

/// Called by one thread at a time.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// Returns `bytes` of memory, a multiple of 4 KiB, aligned to 64, or to 2 MiB if returns_parts(); null where there is
  /// no more. Where it knows a better reason, as of a device that is lost, it may throw that, and has changed nothing. The
  /// address need not be readable by the host: a pool never accesses its blocks.
  virtual std::byte* map(std::size_t bytes) = 0;
  /// Takes back a result of map(), or part of it if returns_parts(). Returns false where it refuses; then nothing has
  /// changed. It may not throw: destructors call it.
  virtual bool unmap(std::byte* start, std::size_t bytes) = 0;
  /// Whether parts of a result of map() can be returned, in multiples of pages of 4 KiB.
  virtual bool returns_parts() const = 0;
};

/// The host's pages, in huge ones where the system has them.
BlockSource& system_pages();

}  // namespace kiln
