// Sorting and what follows from it.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

struct ValueWithIndices {
  Value values, indices;
};

/// The extreme elements along `dim` and where they stand; the gradient goes to the first of equals.
ValueWithIndices max_with_index(const Value& x, int dim);
ValueWithIndices min_with_index(const Value& x, int dim);

/// The k largest (or smallest) along `dim`, the most extreme first. NaN counts as larger than any number.
ValueWithIndices topk(const Value& x, std::int64_t k, int dim, bool largest = true);
/// All elements along `dim` in ascending (or descending) order; equal ones keep theirs. NaN counts as largest.
ValueWithIndices sort(const Value& x, int dim, bool descending = false);

}  // namespace kiln
