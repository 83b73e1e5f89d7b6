// Statistics of the elements where a mask (boolean, broadcast to x) is true; the other elements are left out and have
// no gradient. They are taken over all dimensions, or over `dims`. Without elements the sum is 0, the product 1, the
// largest -inf and the smallest inf (or the limits of integers), and a mean, variance or median NaN.
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
/// int64, along `dim`; 0 where there are no elements.
Value masked_argmax(const Value& x, const Value& mask, Dim dim, bool keep = false);
Value masked_argmin(const Value& x, const Value& mask, Dim dim, bool keep = false);

// ---- with x's shape ------------------------------------------------------------------------------------------------
/// 0 where the mask is false; -inf in masked_log_softmax.
Value masked_softmax(const Value& x, const Value& mask, Dim dim);
Value masked_softmin(const Value& x, const Value& mask, Dim dim);
Value masked_log_softmax(const Value& x, const Value& mask, Dim dim);
/// x / max(masked_norm, epsilon) along `dim`, and 0 where the mask is false.
Value masked_normalize(const Value& x, const Value& mask, double p = 2, Dim dim = -1, double epsilon = 1e-12);
/// Running sums and products.
Value masked_cumsum(const Value& x, const Value& mask, Dim dim);
Value masked_cumprod(const Value& x, const Value& mask, Dim dim);

}  // namespace kiln
