// Statistics over `dims` (negative from the end), which stay with size 1 if `keep`. Integers count as floats where the
// result is one.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/tensor_option.hpp"

namespace kiln {

/// 0, 1, ... to the last dimension of x: what a statistic of everything is over.
Dims all_dims(const Value& x);

/// The square root of the variance, right where the variance itself leaves the range of the type.
Value deviation(const Value& x, const Dims& dims, int correction = 1, bool keep = false);
struct VarianceAndMean {
  Value variance, mean;
};
VarianceAndMean variance_and_mean(const Value& x, const Dims& dims, int correction = 1, bool keep = false);
/// The mean squared distance from `mean`, which broadcasts to x: from one that is known, or was found before with `keep`.
Value variance_about(const Value& x, const Value& mean, const Dims& dims, int correction = 1, bool keep = false);
/// Weighted by `weights`, which broadcast to x. The gradient reaches both.
Value average(const Value& x, const Value& weights, const Dims& dims, bool keep = false);

struct Extremes {
  Value least, most;
};
Extremes aminmax(const Value& x, const Dims& dims, bool keep = false);
/// The largest magnitude.
Value max_abs(const Value& x, const Dims& dims, bool keep = false);
/// log(sum(exp(x))), without overflow. Of nothing it is -inf.
Value logsumexp(const Value& x, const Dims& dims, bool keep = false);
/// How many elements are not 0, int64. NaN is not 0.
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
  TensorOption frequencies = {};  // [observations] of integers: how often each was made ("fweights")
  TensorOption weights = {};      // [observations]: how much each counts ("aweights"); not negative
};
/// Of weighted observations. The gradient reaches the weights.
Value cov(const Value& x, const CovOptions& options);
/// Pearson's coefficients; NaN beside a variable that is constant.
Value corrcoef(const Value& x);

}  // namespace kiln
