// What a write by index does to the element that is there.
#pragma once
#include <cstdint>

namespace kiln {

/// The new element from the old one and each element written to its place, in row-major order of the source. So the last
/// of several assignments wins, and sums come out the same every time.
enum class Update : std::uint8_t {
  Assign,
  Add,
  Mul,
  Min,  // NaN if any is
  Max,
};

}  // namespace kiln
