// Distinct elements. Their number is read on the host, so these functions wait for the device.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

struct Distinct {
  Value values;   // [count]
  Value inverse;  // of x's shape: the index in `values` of each element, int64
  Value counts;   // [count]: the number of occurrences of each, int64
};
/// The distinct elements of x in ascending order. NaNs equal one another and come last. Waits.
Distinct unique(const Value& x);
/// One element of each run of equal elements in row-major order. Waits.
Distinct unique_consecutive(const Value& x);

/// The distinct slices of x along `dim`, in lexicographic order; `inverse` and `counts` are about slices [size of dim].
/// NaNs at equal positions are equal. Waits.
Distinct unique(const Value& x, Dim dim);
/// One slice of each run of equal slices. Waits.
Distinct unique_consecutive(const Value& x, Dim dim);

}  // namespace kiln
