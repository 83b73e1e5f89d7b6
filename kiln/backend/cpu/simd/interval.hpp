// A range of indices along a dimension.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// [begin, end)
struct Interval {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

}  // namespace kiln::cpu::simd
