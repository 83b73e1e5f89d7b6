#include "kiln/ops/reduce/masked.hpp"

#include <limits>

#include "kiln/ops/check.hpp"
#include "kiln/ops/elementwise/powers.hpp"
#include "kiln/ops/elementwise/precision.hpp"
#include "kiln/ops/linalg/length.hpp"
#include "kiln/ops/linalg/vector_norm.hpp"
#include "kiln/ops/reduce/quantile.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/reduce/statistics.hpp"

namespace kiln {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// x with `number` where the mask is false.
Value masked(std::string_view op, const Value& x, const Value& mask, const Scalar& number) {
  op::require_tensor(op, x);
  op::require_tensor(op, mask);
  require<DTypeError>(mask.dtype() == DType::Bool, op, ": the mask must be boolean, got ", mask);
  require<ShapeError>(broadcast(op, x.shape(), mask.shape()) == x.shape(), op, ": the mask ", mask.shape(),
                      " does not broadcast to ", x);
  return where(mask, x, full({}, number, x.device(), x.dtype()));
}

/// The number of unmasked elements, in `like`'s type as a float.
Value count(const Value& x, const Value& mask, const Dims& dims, bool keep, const Value& like) {
  return cast(sum(expand(mask, x.shape()), dims, keep), like.dtype());
}

/// The least or the greatest number of a type.
Scalar limit(DType dtype, bool greatest) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> Scalar {
    if constexpr (std::is_same_v<T, bool>) return greatest;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<std::int64_t>(greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min());
    else return greatest ? kInfinity : -kInfinity;
  });
}

/// Sums and counts of halves are computed in float32; integers are too.
Value widened(const Value& x) { return size_of(as_float(x).dtype()) == 2 ? cast(x, DType::F32) : as_float(x); }
DType answered(const Value& x) { return as_float(x).dtype(); }

/// x for a softmax: where the mask is false, a number so low that its share beside others is 0, but finite, so that a
/// line without any unmasked element has a gradient.
Value scaled_down(std::string_view op, const Value& x, const Value& mask) {
  const double lowest = x.dtype() == DType::F64   ? std::numeric_limits<double>::lowest()
                        : x.dtype() == DType::F16 ? -65504.0
                                                  : -3.3e38;
  return masked(op, x, mask, lowest);
}

}  // namespace

Value masked_sum(const Value& x, const Value& mask, const Dims& dims, bool keep) {
  return sum(masked("masked_sum", x, mask, 0), dims, keep);
}
Value masked_prod(const Value& x, const Value& mask, const Dims& dims, bool keep) {
  return prod(masked("masked_prod", x, mask, 1), dims, keep);
}
Value masked_mean(const Value& x, const Value& mask, const Dims& dims, bool keep) {
  const Value total = sum(masked("masked_mean", widened(x), mask, 0), dims, keep);
  return cast(total / count(x, mask, dims, keep, total), answered(x));
}
Value masked_max(const Value& x, const Value& mask, const Dims& dims, bool keep) {
  return max(masked("masked_max", x, mask, limit(x.dtype(), false)), dims, keep);
}
Value masked_min(const Value& x, const Value& mask, const Dims& dims, bool keep) {
  return min(masked("masked_min", x, mask, limit(x.dtype(), true)), dims, keep);
}
Value masked_var(const Value& x, const Value& mask, const Dims& dims, int correction, bool keep) {
  const Value inside = masked("masked_var", widened(x), mask, 0);
  const Value centre = sum(inside, dims, true) / maximum(count(x, mask, dims, true, inside), 1);
  const Value squares = sum(where(mask, square(inside - centre), 0.0), dims, keep);
  return cast(squares / maximum(count(x, mask, dims, keep, inside) - correction, 0), answered(x));
}
Value masked_std(const Value& x, const Value& mask, const Dims& dims, int correction, bool keep) {
  const Value inside = masked("masked_std", widened(x), mask, 0);
  return cast(root_of_variance(inside, inside, dims,
                               [&](const Value& scaled) { return masked_var(scaled, mask, dims, correction, keep); }),
              answered(x));
}
Value masked_norm(const Value& x, const Value& mask, double p, const Dims& dims, bool keep) {
  const bool smallest = p < 0;  // an element of 0 would determine the result alone
  return vector_norm(masked("masked_norm", as_float(x), mask, smallest ? kInfinity : 0.0), p, dims, keep);
}
Value masked_logsumexp(const Value& x, const Value& mask, const Dims& dims, bool keep) {
  return logsumexp(masked("masked_logsumexp", as_float(x), mask, -kInfinity), dims, keep);
}
Value masked_median(const Value& x, const Value& mask, Dim dim, bool keep) {
  const Value inside = masked("masked_median", as_float(x), mask, kNan);
  // An unmasked NaN is the result; a masked NaN is left out.
  const Value spoilt = any(logical_and(is_nan(as_float(x)), mask), {dim}, keep);
  return where(spoilt, kNan, nanmedian(inside, dim, keep).values);
}
Value masked_argmax(const Value& x, const Value& mask, Dim dim, bool keep) {
  return argmax(masked("masked_argmax", x, mask, limit(x.dtype(), false)), dim, keep);
}
Value masked_argmin(const Value& x, const Value& mask, Dim dim, bool keep) {
  return argmin(masked("masked_argmin", x, mask, limit(x.dtype(), true)), dim, keep);
}

Value masked_softmax(const Value& x, const Value& mask, Dim dim) {
  return where(mask, softmax(scaled_down("masked_softmax", as_float(x), mask), dim), 0.0);
}
Value masked_softmin(const Value& x, const Value& mask, Dim dim) {
  return where(mask, softmax(scaled_down("masked_softmin", neg(as_float(x)), mask), dim), 0.0);
}
Value masked_log_softmax(const Value& x, const Value& mask, Dim dim) {
  return where(mask, log_softmax(scaled_down("masked_log_softmax", as_float(x), mask), dim), -kInfinity);
}
Value masked_normalize(const Value& x, const Value& mask, double p, Dim dim, double epsilon) {
  const Value inside = masked("masked_normalize", as_float(x), mask, 0);
  return inside / maximum(masked_norm(x, mask, p, {dim}, true), epsilon);
}
Value masked_cumsum(const Value& x, const Value& mask, Dim dim) {
  return cumsum(masked("masked_cumsum", x, mask, 0), dim);
}
Value masked_cumprod(const Value& x, const Value& mask, Dim dim) {
  return cumprod(masked("masked_cumprod", x, mask, 1), dim);
}

}  // namespace kiln
