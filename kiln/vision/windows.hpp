// Windows that slide along one dimension of a picture: sums, minima and maxima of what each holds, by views of the whole. The
// result is shorter by the window's size less 1.
#pragma once
#include <span>

#include "kiln/ops/functions.hpp"

namespace kiln::vision {

/// sum of weights[i] x[p + i], of floats. Throws ShapeError where the dimension is shorter than the window.
Value correlated(const Value& x, int dim, std::span<const double> weights);
/// The sum of `size` elements, in about log2(size) passes.
Value window_sums(const Value& x, int dim, std::int64_t size);
/// The largest or smallest of `size` elements, in about log2(size) passes.
Value window_maxima(const Value& x, int dim, std::int64_t size);
Value window_minima(const Value& x, int dim, std::int64_t size);

}  // namespace kiln::vision
