// Reductions, extremes and running sums.
#include <algorithm>
#include <limits>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/reduce/statistics.hpp"

namespace kiln::onnx {
namespace {

struct Axes {
  Dims dims;
  bool keep;
};

// The dimensions to reduce: an attribute, or from version `since` on an input.
Axes axes_of(const Call& c, int since) {
  const Value& x = c[0];
  const Ints listed = c.version() >= since ? c.ints(1) : c.ints("axes");
  Axes axes{{}, c.i("keepdims", 1) != 0};
  for (const std::int64_t axis : listed) axes.dims.push_back(c.dim(axis, x.rank()));
  const bool none = listed.empty() && c.i("noop_with_empty_axes", 0) != 0;
  if (listed.empty() && !none)
    for (int d = 0; d < x.rank(); ++d) axes.dims.push_back(d);
  return axes;
}

using ReduceFunction = Value (*)(const Value& x, const Dims& dims, bool keep);

// A reduction over no dimension changes no element, but what is done to elements before and after it is done.
Value over(const Value& x, const Axes& axes, ReduceFunction reduce) {
  return axes.dims.empty() ? x : reduce(x, axes.dims, axes.keep);
}
Value sum_over(const Value& x, const Axes& axes) { return over(x, axes, sum); }

Shape reduced_shape(const Value& x, const Axes& axes) {
  Shape shape;
  for (int d = 0; d < x.rank(); ++d) {
    const bool gone = std::find(axes.dims.begin(), axes.dims.end(), d) != axes.dims.end();
    if (!gone) shape.push_back(x.dim(d));
    else if (axes.keep) shape.push_back(1);
  }
  return shape;
}

template <bool largest>
Results extreme(Call& c) {
  const Axes axes = axes_of(c, 18);
  const Value& x = c[0];
  if (axes.dims.empty()) return x;
  if (x.dtype() == DType::Bool) return largest ? any(x, axes.dims, axes.keep) : all(x, axes.dims, axes.keep);
  if (x.numel() == 0) {  // no elements: the limit that every element would replace
    Scalar limit = largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    if (is_integer(x.dtype()))
      visit_dtype(x.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>)
          limit = Scalar(largest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
      });
    return full(reduced_shape(x, axes), limit, c.device(), x.dtype());
  }
  return largest ? max(x, axes.dims, axes.keep) : min(x, axes.dims, axes.keep);
}

template <ReduceFunction reduce, int since = 18>
Results reduced(Call& c) {
  return of_type(over(c[0], axes_of(c, since), reduce), c[0].dtype());
}
// Half types are summed in float32, so that sums do not overflow before the last rounding.
Value widened(const Value& x) { return x.dtype() == DType::F16 || x.dtype() == DType::BF16 ? cast(x, DType::F32) : x; }

Results reduce_l1(Call& c) { return of_type(sum_over(abs(c[0]), axes_of(c, 18)), c[0].dtype()); }
Results reduce_l2(Call& c) {
  const Axes axes = axes_of(c, 18);
  if (is_float(c[0].dtype())) return axes.dims.empty() ? abs(c[0]) : euclidean_length(c[0], axes.dims, axes.keep);
  return of_type(sqrt(sum_over(square(c[0]), axes)), c[0].dtype());
}
Results reduce_sum_square(Call& c) { return of_type(sum_over(square(widened(c[0])), axes_of(c, 18)), c[0].dtype()); }
Results reduce_log_sum(Call& c) { return of_type(log(sum_over(widened(c[0]), axes_of(c, 18))), c[0].dtype()); }
Results reduce_log_sum_exp(Call& c) {
  const Axes axes = axes_of(c, 18);
  const Value x = is_float(c[0].dtype()) ? c[0] : cast(c[0], DType::F64);
  return of_type(over(x, axes, logsumexp), c[0].dtype());
}

template <bool largest>
Results arg_extreme(Call& c) {
  const Value& x = c[0];
  const int axis = c.dim(c.i("axis", 0), x.rank());
  const bool keep = c.i("keepdims", 1) != 0, last = c.i("select_last_index", 0) != 0;
  const Value from = last ? flip(x, {axis}) : x;
  const Value index = largest ? argmax(from, axis, keep) : argmin(from, axis, keep);
  return last ? x.dim(axis) - 1 - index : index;
}

template <bool product>
Results running(Call& c) {
  const Value& x = c[0];
  const int axis = c.dim(c.integer(1), x.rank());
  const ScanOptions options{c.i("exclusive", 0) != 0, c.i("reverse", 0) != 0};
  return of_type(product ? cumprod(x, axis, options) : cumsum(x, axis, options), x.dtype());
}

Results top_k(Call& c) {
  const Value& x = c[0];
  const int axis = c.dim(c.i("axis", -1), x.rank());
  const std::int64_t k = c.version() < 10 ? c.i("k", 0) : c.integer(1);
  const ValueWithIndices found = topk(x, k, axis, c.i("largest", 1) != 0);
  return {found.values, found.indices};
}

using op::ReduceFn;
constexpr OperatorRow kReduceRows[] = {
    {"ArgMax", 1, arg_extreme<true>},
    {"ArgMin", 1, arg_extreme<false>},
    {"CumProd", 26, running<true>, {.kind = OperatorKind::SameShape}},
    {"CumSum", 11, running<false>, {.kind = OperatorKind::SameShape}},
    {"ReduceL1", 1, reduce_l1, {.kind = OperatorKind::Reduction}},
    {"ReduceL2", 1, reduce_l2, traits_of(ReduceFn::Length)},
    {"ReduceLogSum", 1, reduce_log_sum, {.kind = OperatorKind::Reduction}},
    {"ReduceLogSumExp", 1, reduce_log_sum_exp, {.kind = OperatorKind::Reduction}},
    {"ReduceMax", 1, extreme<true>, traits_of(ReduceFn::Max)},
    {"ReduceMean", 1, reduced<mean>, traits_of(ReduceFn::Mean)},
    {"ReduceMin", 1, extreme<false>, traits_of(ReduceFn::Min)},
    {"ReduceProd", 1, reduced<prod>, traits_of(ReduceFn::Prod)},
    {"ReduceSum", 1, reduced<sum, 13>, traits_of(ReduceFn::Sum)},
    {"ReduceSumSquare", 1, reduce_sum_square, {.kind = OperatorKind::Reduction}},
    {"TopK", 1, top_k},
};

}  // namespace

std::span<const OperatorRow> reduce_rows() { return kReduceRows; }

}  // namespace kiln::onnx
