// What numbers an element type has, as NumPy's and PyTorch's finfo and iinfo say it.
#pragma once
#include <cstdint>

#include "kiln/core/dtype.hpp"

namespace kiln {

struct FloatLimits {
  int bits;
  double lowest, max;      // the finite numbers lie between these
  double smallest_normal;  // above 0, with all digits
  double epsilon;          // the distance from 1 to the next number
};
/// Throws DTypeError for a type that is no float.
FloatLimits finfo(DType dtype);

struct IntLimits {
  int bits;
  std::int64_t min;
  std::uint64_t max;
};
/// Throws DTypeError for a type that is no integer.
IntLimits iinfo(DType dtype);

}  // namespace kiln
