// Running folds along a dimension: element i of the result folds elements 0 to i. Their gradients are right beside
// zeros and ties, and have gradients themselves.
#pragma once
#include "kiln/ops/reduce/with_indices.hpp"

namespace kiln {

/// What a sum or a product along a dimension runs over.
struct ScanOptions {
  bool exclusive = false;  // up to, but without, the element itself; the first result is 0 or 1
  bool reverse = false;    // from the end
};
/// Of integers and booleans in int64; of floats in double, rounded to their type.
Value cumsum(const Value& x, Dim dim, const ScanOptions& options = {});
Value cumprod(const Value& x, Dim dim, const ScanOptions& options = {});
/// The largest (smallest) element so far and where it was first met, int64. A NaN wins from its place on.
ValueWithIndices cummax(const Value& x, Dim dim);
ValueWithIndices cummin(const Value& x, Dim dim);
/// log(sum(exp(x))) so far, without overflow.
Value logcumsumexp(const Value& x, Dim dim);
/// y[i] = a[i] * y[i - 1] + b[i] along `dim` (from the end if `reverse`), y being 0 before its first element. Operands
/// broadcast.
Value linear_recurrence(const Value& a, const Value& b, Dim dim, bool reverse = false);

}  // namespace kiln
