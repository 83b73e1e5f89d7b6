// Statistics of the elements where a mask (boolean, broadcast to x) is true, as if the others were not there: over all
// dimensions, or over `dims`. Of no element the sum is 0, the product 1, the largest -inf and the smallest inf (or the
// limits of integers), and a mean, variance or median NaN. The others have no gradient.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

Value masked_sum(const Value& x, const Value& mask, const Dims& dims, bool keep = false);
Value masked_prod(const Value& x, const Value& mask, const Dims& dims, bool keep = false);
Value masked_mean(const Value& x, const Value& mask, const Dims& dims, bool keep = false);
Value masked_max(const Value& x, const Value& mask, const Dims& dims, bool keep = false);
Value masked_min(const Value& x, const Value& mask, const Dims& dims, bool keep = false);
Value masked_var(const Value& x, const Value& mask, const Dims& dims, int correction = 1, bool keep = false);
Value masked_std(const Value& x, const Value& mask, const Dims& dims, int correction = 1, bool keep = false);
Value masked_norm(const Value& x, const Value& mask, double p, const Dims& dims, bool keep = false);
Value masked_logsumexp(const Value& x, const Value& mask, const Dims& dims, bool keep = false);
Value masked_median(const Value& x, const Value& mask, Dim dim, bool keep = false);
/// int64, along `dim`; 0 of no element.
Value masked_argmax(const Value& x, const Value& mask, Dim dim, bool keep = false);
Value masked_argmin(const Value& x, const Value& mask, Dim dim, bool keep = false);

// ---- of x's shape ------------------------------------------------------------------------------------------------------
/// 0 where the mask is false; masked_log_softmax -inf.
Value masked_softmax(const Value& x, const Value& mask, Dim dim);
Value masked_softmin(const Value& x, const Value& mask, Dim dim);
Value masked_log_softmax(const Value& x, const Value& mask, Dim dim);
/// x / max(masked_norm, epsilon) along `dim`, and 0 where the mask is false.
Value masked_normalize(const Value& x, const Value& mask, double p = 2, Dim dim = -1, double epsilon = 1e-12);
/// Sums and products so far.
Value masked_cumsum(const Value& x, const Value& mask, Dim dim);
Value masked_cumprod(const Value& x, const Value& mask, Dim dim);

}  // namespace kiln
