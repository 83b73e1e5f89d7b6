// Running reductions along a dimension: element i of the result reduces elements 0 to i. Their gradients are exact
// beside zeros and ties, and have gradients themselves.
#pragma once
#include "kiln/ops/reduce/with_indices.hpp"

namespace kiln {

/// The elements that a running sum or product covers.
struct ScanOptions {
  bool exclusive = false;  // excludes the element itself; the first result is 0 or 1
  bool reverse = false;    // starts from the end
};
/// Integers and booleans are computed in int64, floats in double and rounded to their type.
Value cumsum(const Value& x, Dim dim, const ScanOptions& options = {});
Value cumprod(const Value& x, Dim dim, const ScanOptions& options = {});
/// The largest (smallest) element so far and its first index, int64. A NaN wins from its position on.
ValueWithIndices cummax(const Value& x, Dim dim);
ValueWithIndices cummin(const Value& x, Dim dim);
/// Running log(sum(exp(x))), without overflow.
Value logcumsumexp(const Value& x, Dim dim);
/// y[i] = a[i] * y[i - 1] + b[i] along `dim` (from the end if `reverse`), y being 0 before its first element. Operands
/// broadcast.
Value linear_recurrence(const Value& a, const Value& b, Dim dim, bool reverse = false);

}  // namespace kiln
