// Statistics over `dims` (negative from the end), which stay with size 1 if `keep`. Integers are computed as floats
// where the result is a float.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/tensor_option.hpp"

namespace kiln {

/// 0, 1, ... to the last dimension of x: the dims of a statistic over everything.
Dims all_dims(const Value& x);

/// The square root of the variance, correct even where the variance exceeds the range of the type.
Value deviation(const Value& x, const Dims& dims, int correction = 1, bool keep = false);
struct VarianceAndMean {
  Value variance, mean;
};
VarianceAndMean variance_and_mean(const Value& x, const Dims& dims, int correction = 1, bool keep = false);
/// The mean squared distance from `mean`, which broadcasts to x: a known mean, or one computed before with `keep`.
Value variance_about(const Value& x, const Value& mean, const Dims& dims, int correction = 1, bool keep = false);
/// The mean weighted by `weights`, which broadcast to x. Both have gradients.
Value average(const Value& x, const Value& weights, const Dims& dims, bool keep = false);

struct Extremes {
  Value least, most;
};
Extremes aminmax(const Value& x, const Dims& dims, bool keep = false);
/// The Euclidean length, the square root of the sum of squares, right wherever it lies in the range of the type. Where it
/// is 0, so is its gradient.
Value euclidean_length(const Value& x, const Dims& dims, bool keep = false);
/// The largest magnitude.
Value max_abs(const Value& x, const Dims& dims, bool keep = false);
/// log(sum(exp(x))), without overflow; -inf where there are no elements.
Value logsumexp(const Value& x, const Dims& dims, bool keep = false);
/// The number of elements that are not 0, int64. NaN is not 0.
Value count_nonzero(const Value& x, const Dims& dims, bool keep = false);

// ---- of the elements that are not NaN; of none: 0 for the sum, NaN for the others ------------------------------------
Value nansum(const Value& x, const Dims& dims, bool keep = false);
Value nanmean(const Value& x, const Dims& dims, bool keep = false);
Value nanmax(const Value& x, const Dims& dims, bool keep = false);
Value nanmin(const Value& x, const Dims& dims, bool keep = false);
Value nanvar(const Value& x, const Dims& dims, int correction = 1, bool keep = false);
Value nanstd(const Value& x, const Dims& dims, int correction = 1, bool keep = false);

// ---- of variables: x [variables, observations] -> [variables, variables] ----------------------------------------------
Value cov(const Value& x, int correction = 1);
struct CovOptions {
  int correction = 1;
  TensorOption frequencies = {};  // [observations] of integers: the number of times each was made ("fweights")
  TensorOption weights = {};      // [observations]: the weight of each ("aweights"); not negative
};
/// The covariance of weighted observations. The weights have a gradient.
Value cov(const Value& x, const CovOptions& options);
/// Pearson's coefficients; NaN for a variable that is constant.
Value corrcoef(const Value& x);

}  // namespace kiln
