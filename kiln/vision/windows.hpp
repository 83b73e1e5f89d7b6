// Sliding windows along one dimension of a picture: sums, minima and maxima of their elements, computed from views of
// the whole picture. The result is shorter by the window's size minus 1.
#pragma once
#include <span>

#include "kiln/ops/functions.hpp"

namespace kiln::vision {

/// Returns the sum of weights[i] x[p + i], for floats. Throws ShapeError if the dimension is shorter than the window.
Value correlated(const Value& x, int dim, std::span<const double> weights);
/// Returns the sum of `size` elements, in about log2(size) passes.
Value window_sums(const Value& x, int dim, std::int64_t size);
/// Returns the largest or the smallest of `size` elements, in about log2(size) passes.
Value window_maxima(const Value& x, int dim, std::int64_t size);
Value window_minima(const Value& x, int dim, std::int64_t size);

}  // namespace kiln::vision
