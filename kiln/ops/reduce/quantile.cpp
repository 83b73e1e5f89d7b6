#include "kiln/ops/reduce/quantile.hpp"

#include <limits>

#include "kiln/ops/elementwise/precision.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/point.hpp"

namespace kiln {
namespace {

/// The number of elements of each line that are not NaN, int64; `dim` is kept.
Value count_present(const Value& x, int dim) {
  if (is_float(x.dtype())) return sum(logical_not(is_nan(x)), {dim}, true);
  Shape shape = x.shape();
  shape[dim] = 1;
  return full(shape, x.dim(dim), x.device(), DType::I64);
}

int require_line(std::string_view op, const Value& x, int dim) {
  const int wrapped = wrap_dim(op, dim, x.rank());
  require<ShapeError>(x.dim(wrapped) > 0, op, ": ", x, " has no elements along dimension ", wrapped);
  return wrapped;
}

Value between_places(const Value& sorted, int dim, const Value& place, Between between) {
  const auto elements = [&](const Value& at) { return gather(sorted, dim, cast(at, DType::I64)); };
  switch (between) {
    case Between::Lower: return elements(floor(place));
    case Between::Higher: return elements(ceil(place));
    case Between::Nearest: return elements(round(place));
    case Between::Midpoint:
    case Between::Linear: break;
  }
  const Value low = elements(floor(place)), high = elements(ceil(place));
  const Value share = between == Between::Midpoint ? Value(0.5) : cast(place - floor(place), sorted.dtype());
  // Between two equal infinities no fraction of the distance can be computed.
  return where(eq(low, high), low, low + (high - low) * share);
}

/// [qs, ...]: the quantiles of each line; if `keep`, at the position of `dim`.
Value quantiles(std::string_view op, const Value& any, std::span<const double> qs, int dim, Between between, bool keep,
                bool without_nan) {
  for (const double q : qs) require<ArgumentError>(q >= 0 && q <= 1, op, ": ", q, " is not between 0 and 1");
  if (is_point(op, any, dim)) return reshape(quantiles(op, line_of(any), qs, 0, between, false, without_nan), {-1});
  dim = require_line(op, any, dim);
  const op::Steps steps{any};
  const Value x = steps.enter(any);
  const Value sorted = sort(x, dim).values, count = count_present(x.detach(), dim);
  const auto several = static_cast<std::int64_t>(qs.size());

  // The quantiles as positions along `dim`, one for each q.
  Shape along = Shape::filled(x.rank(), 1);
  along[dim] = several;
  const Value shares = from_data(TensorData::of<double>(along, qs), x.device());
  const Value last = without_nan ? maximum(count - 1, 0) : full({}, x.dim(dim) - 1, x.device(), DType::I64);
  Shape shape = x.shape();
  shape[dim] = several;
  Value result = between_places(sorted, dim, expand(shares * cast(last, DType::F64), shape), between);
  if (!without_nan) result = where(lt(count, x.dim(dim)), std::numeric_limits<double>::quiet_NaN(), result);

  Dims order{dim};
  for (int i = 0; i < x.rank(); ++i)
    if (i != dim) order.push_back(i);
  result = permute(result, order);
  result = steps.leave(result);
  return keep ? unsqueeze(result, dim + 1) : result;
}

ValueWithIndices middle(std::string_view op, const Value& x, int dim, bool keep, bool without_nan) {
  if (is_point(op, x, dim)) return middle(op, line_of(x), 0, false, without_nan);
  dim = require_line(op, x, dim);
  const Value count = count_present(x.detach(), dim);
  // NaNs come last, so that the first of them is at position `count`.
  const Value lower = maximum(floor_divide(count - 1, 2), 0);
  const Value place = without_nan ? lower : where(lt(count, x.dim(dim)), count, lower);
  const Value index = gather(argsort(x.detach(), dim), dim, place), value = gather(x, dim, index);
  return keep ? ValueWithIndices{value, index} : ValueWithIndices{squeeze(value, dim), squeeze(index, dim)};
}

Value in_one_line(const Value& x) { return reshape(x, {x.numel()}); }

}  // namespace

Value quantile(const Value& x, std::span<const double> qs, Dim dim, Between between, bool keep) {
  return quantiles("quantile", x, qs, dim, between, keep, false);
}
Value nanquantile(const Value& x, std::span<const double> qs, Dim dim, Between between, bool keep) {
  return quantiles("nanquantile", x, qs, dim, between, keep, true);
}
Value quantile(const Value& x, double q, Dim dim, Between between, bool keep) {
  return squeeze(quantile(x, {&q, 1}, dim, between, keep), 0);
}
Value nanquantile(const Value& x, double q, Dim dim, Between between, bool keep) {
  return squeeze(nanquantile(x, {&q, 1}, dim, between, keep), 0);
}

ValueWithIndices median(const Value& x, Dim dim, bool keep) { return middle("median", x, dim, keep, false); }
ValueWithIndices nanmedian(const Value& x, Dim dim, bool keep) { return middle("nanmedian", x, dim, keep, true); }
Value median(const Value& x) { return median(in_one_line(x), 0).values; }
Value nanmedian(const Value& x) { return nanmedian(in_one_line(x), 0).values; }

}  // namespace kiln
