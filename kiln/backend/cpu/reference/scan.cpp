#include "kiln/ops/reduce/scan_ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/core/wrapping.hpp"

namespace kiln::cpu::reference {
namespace {

/// Calls f(i) with the offset of each line along `dim` in a row-major array of this shape.
template <class F>
void each_line(const Shape& shape, int dim, F&& f) {
  Shape beside = shape;
  beside[dim] = 1;
  if (shape[dim] == 0) return;
  const Rows<1> rows(beside, {contiguous_strides(shape)});
  rows.each([&](const auto& offsets) {
    for (std::int64_t i = 0; i < rows.length(); ++i) f(offsets[0] + i * rows.steps()[0]);
  });
}

/// Calls step(place, element) for the elements of a line in the order of the scan.
template <class F>
void run_along(const op::Scan& op, const Shape& shape, std::int64_t line, std::int64_t stride, F&& step) {
  for (std::int64_t i = 0; i < shape[op.dim]; ++i) {
    const std::int64_t place = op.reverse ? shape[op.dim] - 1 - i : i;
    step(place, line + place * stride);
  }
}

template <class C, class Join>
void fold(const op::Scan& op, const Array& array, Value& out, Accumulator<C> start, Join join) {
  const RowMajor<C> x(array);
  using Z = std::conditional_t<std::is_floating_point_v<C>, C, std::int64_t>;
  Result<Z> z(out);
  const std::int64_t stride = contiguous_strides(array.shape)[op.dim];
  each_line(array.shape, op.dim, [&](std::int64_t line) {
    Accumulator<C> so_far = start;
    run_along(op, array.shape, line, stride, [&](std::int64_t, std::int64_t at) {
      if (op.exclusive) z[at] = static_cast<Z>(so_far);
      so_far = join(so_far, static_cast<Accumulator<C>>(x[at]));
      if (!op.exclusive) z[at] = static_cast<Z>(so_far);
    });
  });
  z.store();
}

template <class C>
void extremes(const op::Scan& op, const Array& array, std::span<Value> out) {
  const RowMajor<C> x(array);
  Result<C> values(out[op::Scan::values]);
  Result<std::int64_t> indices(out[op::Scan::indices]);
  const std::int64_t stride = contiguous_strides(array.shape)[op.dim];
  each_line(array.shape, op.dim, [&](std::int64_t line) {
    std::int64_t best = -1, best_place = 0;
    run_along(op, array.shape, line, stride, [&](std::int64_t place, std::int64_t at) {
      const bool better =
          best < 0 ||
          (x[best] == x[best] && (x[at] != x[at] || (op.fn == op::ScanFn::Max ? x[at] > x[best] : x[at] < x[best])));
      if (better) {
        best = at;
        best_place = place;
      }
      values[at] = x[best];
      indices[at] = best_place;
    });
  });
  values.store();
}

/// log(exp(a) + exp(b)); the log of an empty sum is minus infinity.
double add_exps(double a, double b) {
  const double larger = a > b || a != a ? a : b, smaller = a > b || a != a ? b : a;
  if (std::isinf(larger)) return larger;
  return larger + std::log1p(std::exp(smaller - larger));
}

}  // namespace

template <>
void run(const op::Scan& op, Call call) {
  const Array x = read(call.in[0]);
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) {
    using A = Accumulator<C>;
    switch (op.fn) {
      case op::ScanFn::Sum: return fold<C>(op, x, call.out[0], A{0}, [](A a, A b) { return wrapping_add(a, b); });
      case op::ScanFn::Prod: return fold<C>(op, x, call.out[0], A{1}, [](A a, A b) { return wrapping_multiply(a, b); });
      case op::ScanFn::Max:
      case op::ScanFn::Min: return extremes<C>(op, x, call.out);
      case op::ScanFn::LogSumExp:
        if constexpr (std::is_floating_point_v<C>)
          fold<C>(op, x, call.out[0], -std::numeric_limits<double>::infinity(), add_exps);
        return;
    }
  });
}

template <>
void run(const op::Recurrence& op, Call call) {
  const Shape& shape = call.in[0].shape();
  visit_float(call.in[0].dtype(), [&]<class C>(TypeTag<C>) {
    const RowMajor<C> a(read(call.in[op::Recurrence::a])), b(read(call.in[op::Recurrence::b]));
    Result<C> y(call.out[0]);
    const std::int64_t stride = contiguous_strides(shape)[op.dim], length = shape[op.dim];
    each_line(shape, op.dim, [&](std::int64_t line) {
      double so_far = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t at = line + (op.reverse ? length - 1 - i : i) * stride;
        so_far = static_cast<double>(a[at]) * so_far + static_cast<double>(b[at]);
        y[at] = static_cast<C>(so_far);
      }
    });
    y.store();
  });
}

}  // namespace kiln::cpu::reference
