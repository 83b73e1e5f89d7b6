#include "kiln/ops/reduce/statistics.hpp"

#include <algorithm>
#include <limits>

#include "kiln/ops/elementwise/powers.hpp"
#include "kiln/ops/elementwise/precision.hpp"
#include "kiln/ops/linalg/length.hpp"
#include "kiln/ops/linalg/vector_norm.hpp"

namespace kiln {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The elements that are not NaN, with `instead` in place of NaN, and their number along `dims`, which are kept.
struct Present {
  Value missing, elements, count;
  Present(const Value& x, const Dims& dims, double instead)
      : missing(is_nan(x)), elements(where(missing, instead, x)), count(sum(logical_not(missing), dims, true)) {}

  /// The sum of `terms`, which are 0 where an element is missing, divided by the number of present elements minus
  /// `correction`.
  Value mean_of(const Value& terms, const Dims& dims, int correction = 0) const {
    return sum(terms, dims, true) / maximum(count - correction, 0);
  }
};

/// Whether sums of this type, and counts, may exceed float16.
bool is_narrow(DType dtype) { return is_float(dtype) && size_of(dtype) == 2; }

/// Drops `dims`, which a reduction kept with size 1.
Value without(const Value& kept, const Dims& dims) {
  Shape shape;
  std::uint32_t dropped = 0;
  if (kept.rank() == 0) return kept;
  for (const auto dim : dims) dropped |= 1u << wrap_dim("squeeze", dim, kept.rank());
  for (int i = 0; i < kept.rank(); ++i)
    if (!(dropped >> i & 1u)) shape.push_back(kept.shape()[i]);
  return reshape(kept, shape);
}

/// The mean of squared distances to the mean, over the elements that are not NaN.
Value nan_variance(const Value& x, const Dims& dims, int correction) {
  const Present present(x, dims, 0);
  const Value distance = present.elements - present.mean_of(present.elements, dims);
  return present.mean_of(where(present.missing, 0.0, square(distance)), dims, correction);
}

Value centered_rows(std::string_view op, const Value& x) {
  require<ShapeError>(x.rank() == 2, op, ": takes [variables, observations], got ", x);
  return as_float(x) - mean(x, {1}, true);
}

}  // namespace

Dims all_dims(const Value& x) {
  Dims dims;
  for (int i = 0; i < x.rank(); ++i) dims.push_back(i);
  return dims;
}

Value deviation(const Value& x, const Dims& dims, int correction, bool keep) {
  return root_of_variance(x, x, dims, [&](const Value& scaled) { return variance(scaled, dims, correction, keep); });
}

VarianceAndMean variance_and_mean(const Value& x, const Dims& dims, int correction, bool keep) {
  return {variance(x, dims, correction, keep), mean(x, dims, keep)};
}

Value variance_about(const Value& x, const Value& mean, const Dims& dims, int correction, bool keep) {
  const op::Precision precision("variance_about", {x});
  const Value wide = precision.enter(x);
  const Value apart = wide - mean;
  require<ShapeError>(apart.shape() == x.shape(), "variance_about: a mean ", mean.shape(), " does not broadcast to ",
                      x);
  const Value total = sum(square(apart), dims, keep);
  const double count = static_cast<double>(x.numel()) / static_cast<double>(std::max<std::int64_t>(total.numel(), 1));
  return cast(total / std::max(count - correction, 0.0), precision.outside);
}

Value average(const Value& x, const Value& any_weights, const Dims& dims, bool keep) {
  const op::Steps steps{x, any_weights};
  const Value weights = steps.enter(any_weights), weighted = steps.enter(x) * weights;
  require<ShapeError>(weighted.shape() == x.shape(), "average: weights ", weights.shape(), " do not broadcast to ", x);
  return steps.leave(sum(weighted, dims, keep) / sum(expand(weights, x.shape()), dims, keep));
}

Extremes aminmax(const Value& x, const Dims& dims, bool keep) { return {min(x, dims, keep), max(x, dims, keep)}; }
Value max_abs(const Value& x, const Dims& dims, bool keep) { return max(abs(x), dims, keep); }
Value logsumexp(const Value& x, const Dims& dims, bool keep) {
  const Value values = as_float(x);
  if (x.numel() == 0) return log(sum(values, dims, keep));
  // The result does not depend on the shift, nor does the gradient.
  const Value most = max(values, dims, true).detach(), shift = where(is_finite(most), most, 0.0);
  const Value total = sum(exp(values - shift), dims, true), none = eq(total, 0);
  const Value result = where(none, -kInfinity, log(where(none, 1.0, total))) + shift;
  return keep ? result : without(result, dims);
}
Value count_nonzero(const Value& x, const Dims& dims, bool keep) {
  return sum(x.dtype() == DType::Bool ? x : ne(x, 0), dims, keep);
}

Value nansum(const Value& x, const Dims& dims, bool keep) {
  return is_float(x.dtype()) ? sum(where(is_nan(x), 0.0, x), dims, keep) : sum(x, dims, keep);
}

Value nanmean(const Value& x, const Dims& dims, bool keep) {
  if (!is_float(x.dtype())) return mean(x, dims, keep);
  if (is_narrow(x.dtype())) return cast(nanmean(cast(x, DType::F32), dims, keep), x.dtype());
  const Present present(x, dims, 0);
  const Value result = present.mean_of(present.elements, dims);
  return keep ? result : without(result, dims);
}

Value nanmax(const Value& x, const Dims& dims, bool keep) {
  if (!is_float(x.dtype())) return max(x, dims, keep);
  const Present present(x, dims, -kInfinity);
  const Value result = where(eq(present.count, 0), kNan, max(present.elements, dims, true));
  return keep ? result : without(result, dims);
}
Value nanmin(const Value& x, const Dims& dims, bool keep) {
  return is_float(x.dtype()) ? neg(nanmax(neg(x), dims, keep)) : min(x, dims, keep);
}

Value nanvar(const Value& x, const Dims& dims, int correction, bool keep) {
  if (!is_float(x.dtype())) return variance(x, dims, correction, keep);
  if (is_narrow(x.dtype())) return cast(nanvar(cast(x, DType::F32), dims, correction, keep), x.dtype());
  const Value result = nan_variance(x, dims, correction);
  return keep ? result : without(result, dims);
}
Value nanstd(const Value& x, const Dims& dims, int correction, bool keep) {
  return root_of_variance(x, is_float(x.dtype()) ? where(is_nan(x), 0.0, x) : x, dims,
                          [&](const Value& scaled) { return nanvar(scaled, dims, correction, keep); });
}

Value cov(const Value& x, int correction) {
  if (is_narrow(x.dtype())) return cast(cov(cast(x, DType::F32), correction), x.dtype());
  const Value centered = centered_rows("cov", x);
  return matmul(centered, transpose(centered)) / std::max<double>(0, static_cast<double>(x.dim(1) - correction));
}

Value cov(const Value& x, const CovOptions& options) {
  const auto& [correction, frequencies, weights] = options;
  if (!frequencies && !weights) return cov(x, correction);
  require<ShapeError>(x.rank() == 2, "cov: takes [variables, observations], got ", x);
  for (const Value& each : {frequencies, weights})
    require<ShapeError>(!each || each.shape() == Shape{x.dim(1)}, "cov: the weights ", each,
                        " are not one for each of the ", x.dim(1), " observations of ", x);
  require<DTypeError>(!frequencies || is_integer(frequencies.dtype()), "cov: frequencies must be integers, got ",
                      frequencies);
  if (is_narrow(x.dtype())) return cast(cov(cast(x, DType::F32), options), x.dtype());
  const Value data = as_float(x);
  const auto in_type = [&](const Value& each) { return cast(each, data.dtype()); };
  const Value share = !frequencies ? in_type(weights)
                      : !weights   ? in_type(frequencies)
                                   : in_type(weights) * in_type(frequencies);
  const Value total = sum(share);
  const Value centered = data - sum(data * share, {1}, true) / total;
  // `correction` is in units of an observation of average weight.
  const Value unit = weights ? sum(share * in_type(weights)) / total : Value(1.0);
  return matmul(centered * share, transpose(centered)) / maximum(total - unit * correction, 0);
}

Value corrcoef(const Value& x) {
  if (is_narrow(x.dtype())) return cast(corrcoef(cast(x, DType::F32)), x.dtype());
  const Value centered = centered_rows("corrcoef", x);
  const Value normalised = centered / vector_norm(centered, 2, {1}, true);
  return matmul(normalised, transpose(normalised));
}

}  // namespace kiln
