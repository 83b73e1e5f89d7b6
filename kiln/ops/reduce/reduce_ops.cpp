#include "kiln/ops/reduce/reduce_ops.hpp"

#include <algorithm>
#include <limits>

#include "kiln/ops/check.hpp"
#include "kiln/ops/composite.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/reduce/point.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {

std::string_view name(ReduceFn fn) {
  switch (fn) {
    case ReduceFn::Sum: return "sum";
    case ReduceFn::Mean: return "mean";
    case ReduceFn::Prod: return "prod";
    case ReduceFn::Max: return "max";
    case ReduceFn::Min: return "min";
    case ReduceFn::Any: return "any";
    case ReduceFn::All: return "all";
    case ReduceFn::Length: return "euclidean_length";
  }
  return {};
}
std::string_view name(ArgFn fn) { return fn == ArgFn::ArgMax ? "argmax" : "argmin"; }

namespace {

/// A length of 0 has the slope 0. Where the length exceeds its type, the slope is not known, rather than 0.
Value length_to_divide_by(const Value& length) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  return where(eq(length, 0), kInfinity, where(eq(length, kInfinity), kNan, length));
}

/// The type to which a tensor of `dtype` is cast before it is reduced.
DType reduced_in(ReduceFn fn, DType dtype) {
  switch (fn) {
    case ReduceFn::Mean:
    case ReduceFn::Length: return is_float(dtype) ? dtype : DType::F32;
    case ReduceFn::Any:
    case ReduceFn::All: return DType::Bool;
    default: return dtype;
  }
}

/// Sums and products of integers are wider than their terms.
DType reduced_to(ReduceFn fn, DType dtype) {
  const bool widens = (fn == ReduceFn::Sum || fn == ReduceFn::Prod) && !is_float(dtype);
  return widens ? DType::I64 : dtype;
}

/// A double, as the sizes of an empty tensor may multiply to any number.
double count(const Shape& shape, const Dims& dims) {
  double product = 1;
  for (const auto dim : dims) product *= static_cast<double>(shape[static_cast<int>(dim)]);
  return product;
}

}  // namespace

Descs Reduce::infer(Inputs in) const {
  require_count(name(fn), in, 1, 1);
  require_tensor(name(fn), in[0]);
  require<DTypeError>(reduced_in(fn, in[0].dtype()) == in[0].dtype(), name(fn), ": takes no ", in[0]);
  Shape shape = in[0].shape();
  std::int64_t before = -1;
  for (const auto dim : dims) {
    require_dim(name(fn), dim, shape.size());
    require<ArgumentError>(dim > before, name(fn), ": dimensions ", dims, " do not ascend");
    before = dim;
  }
  const double folded = count(shape, dims);
  for (const auto dim : dims) shape[static_cast<int>(dim)] = 1;
  if (fn == ReduceFn::Max || fn == ReduceFn::Min)
    require<ShapeError>(folded > 0 || numel(shape) == 0, name(fn), ": ", in[0], " has no elements along dimensions ",
                        dims);
  return one(shape, reduced_to(fn, in[0].dtype()));
}

Saves Reduce::saves(std::uint32_t) const {
  switch (fn) {
    case ReduceFn::Prod: return {.in = 1};
    case ReduceFn::Max:
    case ReduceFn::Min:
    case ReduceFn::Length: return {.in = 1, .out = true};
    default: return {};
  }
}

namespace {

/// The product of the other elements along `dims`, for each element: the product of those before it and those after it, one
/// dimension after the other. Nothing is divided, so that zeros need no special case.
Value product_of_others(const Value& x, const Dims& dims) {
  Value others = ones_like(x), left = x;
  for (const auto along : dims) {
    const int dim = static_cast<int>(along);
    const Value before = cumprod(left, dim, {.exclusive = true}),
                after = cumprod(left, dim, {.exclusive = true, .reverse = true});
    others = others * (before * after);
    left = prod(left, {along}, true);
  }
  return others;
}

}  // namespace

void Reduce::vjp(Backward& backward) const {
  const Shape& shape = backward.in_desc(0).shape;
  const Value g = backward.grad();
  backward.to(0, [&]() -> Value {
    switch (fn) {
      case ReduceFn::Sum: return kiln::expand(g, shape);
      case ReduceFn::Mean: return kiln::expand(g / count(shape, dims), shape);
      case ReduceFn::Max:
      case ReduceFn::Min: {
        // Equal extremes share the gradient.
        const Value chosen = cast(eq(backward.in(0), backward.out()), g.dtype());
        return chosen * (g / sum(chosen, dims, true));
      }
      case ReduceFn::Prod: return g * product_of_others(backward.in(0), dims);
      case ReduceFn::Length: return g * (backward.in(0) / length_to_divide_by(backward.out()));
      case ReduceFn::Any:
      case ReduceFn::All: return {};
    }
    return {};
  });
}

Descs ArgReduce::infer(Inputs in) const {
  require_count(name(fn), in, 1, 1);
  require_tensor(name(fn), in[0]);
  Shape shape = in[0].shape();
  const int at = require_dim(name(fn), dim, shape.size());
  const std::int64_t length = shape[at];
  shape[at] = 1;
  require<ShapeError>(length > 0 || numel(shape) == 0, name(fn), ": ", in[0], " has no elements along dimension ", dim);
  return one(shape, DType::I64);
}
void ArgReduce::vjp(Backward&) const {}

/// Long sums, products and lengths may exceed half precision; the other reductions return one of the elements.
AutocastTo Reduce::autocast_to() const {
  switch (fn) {
    case ReduceFn::Sum:
    case ReduceFn::Mean:
    case ReduceFn::Prod:
    case ReduceFn::Length: return AutocastTo::Single;
    default: return AutocastTo::Same;
  }
}
bool Reduce::is_row_wise(int axis) const {
  return std::all_of(dims.begin(), dims.end(), [&](std::int64_t dim) { return dim > axis; });
}

}  // namespace op

namespace {

/// Wraps and sorts the dimensions. Those of a tensor of rank 0 are dropped: there is nothing to reduce along them.
Dims wrap_dims(std::string_view op, const Dims& dims, const Value& x) {
  Dims wrapped;
  for (const auto dim : dims) wrapped.push_back(is_point(op, x, dim) ? 0 : wrap_dim(op, dim, x.rank()));
  std::sort(wrapped.begin(), wrapped.end());
  for (int i = 1; i < wrapped.size(); ++i)
    require<ArgumentError>(wrapped[i] != wrapped[i - 1], op, ": dimension ", wrapped[i], " is named twice in ", dims);
  return x.rank() == 0 ? Dims{} : wrapped;
}

Value drop(const Value& x, const Dims& dims) {
  Shape shape;
  for (int i = 0; i < x.rank(); ++i)
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) shape.push_back(x.shape()[i]);
  return reshape(x, shape);
}

Value reduce(op::ReduceFn fn, const Value& x, const Dims& dims, bool keep) {
  const Dims wrapped = wrap_dims(op::name(fn), dims, x);
  const Value result = emit(op::Reduce{fn, wrapped}, {cast(x, op::reduced_in(fn, x.dtype()))});
  return keep ? result : drop(result, wrapped);
}

Value arg_reduce(op::ArgFn fn, const Value& x, int dim, bool keep) {
  if (is_point(op::name(fn), x, dim)) return arg_reduce(fn, line_of(x), 0, false);
  const int wrapped = wrap_dim(op::name(fn), dim, x.rank());
  const Value result = emit(op::ArgReduce{fn, wrapped}, {x});
  return keep ? result : squeeze(result, wrapped);
}

}  // namespace

#define KILN_REDUCTION(function, Name)                                                         \
  Value function(const Value& x) { return reduce(op::ReduceFn::Name, x, all_dims(x), false); } \
  Value function(const Value& x, const Dims& dims, bool keep) { return reduce(op::ReduceFn::Name, x, dims, keep); }
KILN_REDUCTION(sum, Sum)
KILN_REDUCTION(mean, Mean)
KILN_REDUCTION(prod, Prod)
KILN_REDUCTION(max, Max)
KILN_REDUCTION(min, Min)
KILN_REDUCTION(any, Any)
KILN_REDUCTION(all, All)
#undef KILN_REDUCTION
Value euclidean_length(const Value& x, const Dims& dims, bool keep) {
  return reduce(op::ReduceFn::Length, x, dims, keep);
}

Value argmax(const Value& x) { return argmax(reshape(x, {x.numel()}), 0); }
Value argmin(const Value& x) { return argmin(reshape(x, {x.numel()}), 0); }
Value argmax(const Value& x, Dim dim, bool keep) { return arg_reduce(op::ArgFn::ArgMax, x, dim, keep); }
Value argmin(const Value& x, Dim dim, bool keep) { return arg_reduce(op::ArgFn::ArgMin, x, dim, keep); }

Value variance(const Value& x, const Dims& dims, int correction, bool keep) {
  // In float16, sums and counts may be too large.
  if (is_float(x.dtype()) && size_of(x.dtype()) == 2)
    return cast(variance(cast(x, DType::F32), dims, correction, keep), x.dtype());
  const Dims wrapped = wrap_dims("variance", dims, x);
  const Value squares = square(op::centred(x, wrapped));
  return sum(squares, wrapped, keep) / std::max(0.0, op::count(x.shape(), wrapped) - correction);
}

Value sum_to(const Value& x, const Shape& shape) {
  if (x.is_scalar() || x.shape() == shape) return x;
  const int extra = x.rank() - shape.size();
  require<ShapeError>(extra >= 0, "sum_to: ", x.shape(), " cannot be summed to ", shape);
  Dims dims;
  for (int i = 0; i < x.rank(); ++i)
    if (i < extra || (shape[i - extra] == 1 && x.shape()[i] != 1)) dims.push_back(i);
  return reshape(sum(x, dims, true), shape);
}

}  // namespace kiln
