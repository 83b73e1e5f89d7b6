// The effect of a write by index on the existing element.
#pragma once
#include <cstdint>

namespace kiln {

/// Computes the new element from the old one and each element written to its position, in row-major order of the
/// source. So the last of several assignments wins, and sums are the same every time.
enum class Update : std::uint8_t {
  Assign,
  Add,
  Mul,
  Min,  // NaN if any is
  Max,
};

}  // namespace kiln
