// Free memory of any sizes: what lies side by side is one, so that large blocks may follow small ones in the same place.
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
  /// What touches none that is here yet is a new one; may throw std::bad_alloc, and nothing has changed.
  void add(Extent range);
  /// The beginning of the smallest that has room, and of the lowest of these; null where none has.
  std::byte* take(std::size_t size);
  /// Those for which goes(range); from the lowest to the highest.
  template <class F>
  void drop_if(F&& goes) {
    std::erase_if(all_, goes);
  }

 private:
  std::vector<Extent> all_;  // by address
};

}  // namespace kiln
