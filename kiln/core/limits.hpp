// The range and precision of element types, like NumPy's and PyTorch's finfo and iinfo.
#pragma once
#include <cstdint>

#include "kiln/core/dtype.hpp"

namespace kiln {

struct FloatLimits {
  int bits;
  double lowest, max;      // the smallest and the largest finite number
  double smallest_normal;  // the smallest positive number with all its digits
  double epsilon;          // the distance from 1 to the next number
};
/// Throws DTypeError for a type that is not a float.
FloatLimits finfo(DType dtype);

struct IntLimits {
  int bits;
  std::int64_t min;
  std::uint64_t max;
};
/// Throws DTypeError for a type that is not an integer.
IntLimits iinfo(DType dtype);

}  // namespace kiln
