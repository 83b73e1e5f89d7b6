// Distinct elements. Their number is read on the host: these wait for the device.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

struct Distinct {
  Value values;   // [count]
  Value inverse;  // of x's shape: where in `values` each element is, int64
  Value counts;   // [count]: how often each occurs, int64
};
/// The distinct elements of x in ascending order. NaNs equal one another and come last. Waits.
Distinct unique(const Value& x);
/// One element of each run of equal elements in row-major order. Waits.
Distinct unique_consecutive(const Value& x);

/// The distinct slices of x along `dim`, in the order of their first elements that differ; `inverse` and `counts` are of
/// slices [size of dim]. Slices with NaN at the same places and else equal are equal. Waits.
Distinct unique(const Value& x, Dim dim);
/// One slice of each run of equal ones. Waits.
Distinct unique_consecutive(const Value& x, Dim dim);

}  // namespace kiln
