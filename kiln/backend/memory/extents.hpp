// Free memory in ranges of any sizes: adjacent ranges are merged, so that large blocks can follow small ones in the
// same memory.
#pragma once
#include <cstddef>
#include <vector>

namespace kiln {

struct Extent {
  std::byte* start;
  std::size_t size;
  std::byte* end() const { return start + size; }
};

class Extents {
 public:
  /// Adds a range, merged with adjacent ones. May throw std::bad_alloc where it touches none; then nothing has changed.
  void add(Extent range);
  /// Takes memory from the smallest range that is large enough, the lowest of equal ones; null where there is none.
  std::byte* take(std::size_t size);
  /// Removes the ranges for which goes(range) is true, visiting them from the lowest address to the highest.
  template <class F>
  void drop_if(F&& goes) {
    std::erase_if(all_, goes);
  }

 private:
  std::vector<Extent> all_;  // by address
};

}  // namespace kiln
