#include "kiln/backend/memory/extents.hpp"

#include <algorithm>
#include <functional>

namespace kiln {

void Extents::add(Extent range) {
  const auto next = std::ranges::lower_bound(all_, range.start, std::less<>(), &Extent::start);
  const bool after = next != all_.begin() && (next - 1)->end() == range.start;
  const bool before = next != all_.end() && range.end() == next->start;
  if (after && before) {
    (next - 1)->size += range.size + next->size;
    all_.erase(next);
  } else if (after) {
    (next - 1)->size += range.size;
  } else if (before) {
    *next = {range.start, range.size + next->size};
  } else {
    all_.insert(next, range);
  }
}

// A linear search suffices: adjacent ranges are merged, so there are few.
std::byte* Extents::take(std::size_t size) {
  auto best = all_.end();
  for (auto each = all_.begin(); each != all_.end(); ++each)
    if (each->size >= size && (best == all_.end() || each->size < best->size)) best = each;
  if (best == all_.end()) return nullptr;
  std::byte* const start = best->start;
  if (best->size == size) all_.erase(best);
  else *best = {start + size, best->size - size};
  return start;
}

}  // namespace kiln
