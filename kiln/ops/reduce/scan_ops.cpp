#include "kiln/ops/reduce/scan_ops.hpp"

#include <limits>

#include "kiln/ops/check.hpp"
#include "kiln/ops/elementwise/precision.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/reduce/point.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {

std::string_view name(ScanFn fn) {
  switch (fn) {
    case ScanFn::Sum: return "cumsum";
    case ScanFn::Prod: return "cumprod";
    case ScanFn::Max: return "cummax";
    case ScanFn::Min: return "cummin";
    case ScanFn::LogSumExp: return "logcumsumexp";
  }
  return {};
}

namespace {

/// x shifted by one position against the direction of the scan: element i is x[i + 1], and the end is `last`.
Value following(const Value& x, int dim, bool reverse, double last) {
  const std::int64_t length = x.dim(dim);
  if (length == 0) return x;
  Dims before = Dims::filled(x.rank(), 0), after = before;
  (reverse ? before : after)[dim] = 1;
  return pad(narrow(x, dim, reverse ? 0 : 1, length - 1), before, after, last);
}

}  // namespace

Descs Scan::infer(Inputs in) const {
  require_count(name(fn), in, 1, 1);
  require_tensor(name(fn), in[0]);
  require_dim(name(fn), dim, in[0].rank());
  const auto [shape, dtype] = Desc{in[0].shape(), in[0].dtype()};
  const bool extreme = fn == ScanFn::Max || fn == ScanFn::Min;
  require<ArgumentError>(!exclusive || fn == ScanFn::Sum || fn == ScanFn::Prod, name(fn),
                         ": only sums and products can leave the element itself out");
  if (extreme) return Descs{Desc{shape, dtype}, Desc{shape, DType::I64}};
  if (fn == ScanFn::LogSumExp) require_float(name(fn), in[0]);
  return one(shape, is_float(dtype) ? dtype : DType::I64);
}

Saves Scan::saves(std::uint32_t) const {
  switch (fn) {
    case ScanFn::Sum: return {};
    case ScanFn::Prod: return {.in = 1};
    case ScanFn::Max:
    case ScanFn::Min: return {.out = true};
    case ScanFn::LogSumExp: return {.in = 1, .out = true};
  }
  return {};
}

void Scan::vjp(Backward& backward) const {
  backward.to(0, [&]() -> Value {
    const Value g = backward.grad(values);
    switch (fn) {
      case ScanFn::Sum: return cumsum(g, dim, {.exclusive = exclusive, .reverse = !reverse});
      case ScanFn::Prod: {
        // The gradient of element i: the product of the elements before it, times the sum over the results j >= i of
        // g[j] and the product of the elements between. Nothing is divided, so that zeros need no special case.
        const Value& x = backward.in(0);
        const Value before = cumprod(x, dim, {.exclusive = true, .reverse = reverse});
        const Value own = exclusive ? following(g, dim, reverse, 0) : g;
        return before * linear_recurrence(following(x, dim, reverse, 0), own, dim, !reverse);
      }
      case ScanFn::Max:
      case ScanFn::Min: {
        const Desc& x = backward.in_desc(0);
        return scatter_add(zeros(x.shape, backward.device(), x.dtype), dim, backward.out(indices), g);
      }
      case ScanFn::LogSumExp: {
        // The sum over j >= i of g[j] exp(x[i] - y[j]), as exp(x[i] - y[i]) times a sum of g[j] exp(y[i] - y[j]), where
        // no exponent is positive. Before the first finite element the gradient is 0.
        constexpr double infinity = std::numeric_limits<double>::infinity();
        const Value &x = backward.in(0), y = backward.out(values);
        const Value nothing = eq(y, -infinity);
        const auto exp_of = [&](const Value& power) { return where(nothing, 0.0, exp(where(nothing, 0.0, power))); };
        return exp_of(x - y) * linear_recurrence(exp_of(y - following(y, dim, reverse, infinity)), g, dim, !reverse);
      }
    }
    return {};
  });
}

Descs Recurrence::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_float(kName, in[a]);
  require_float(kName, in[b]);
  require_same_dtype(kName, in[a], in[b]);
  require<ShapeError>(in[a].shape() == in[b].shape(), kName, ": ", in[a], " and ", in[b], " must have one shape");
  require_dim(kName, dim, in[a].rank());
  return one(in[a].shape(), in[a].dtype());
}

void Recurrence::vjp(Backward& backward) const {
  const Value reached = linear_recurrence(following(backward.in(a), dim, reverse, 0), backward.grad(), dim, !reverse);
  backward.to(b, [&] { return reached; });
  backward.to(a, [&] { return reached * following(backward.out(), dim, !reverse, 0); });
}

}  // namespace op

namespace {

Value scan(op::ScanFn fn, const Value& x, int dim, const ScanOptions& options) {
  if (is_point(op::name(fn), x, dim)) return point_of(scan(fn, line_of(x), 0, options));
  return emit(op::Scan{fn, wrap_dim(op::name(fn), dim, x.rank()), options.exclusive, options.reverse}, {x});
}
ValueWithIndices scan_extremes(op::ScanFn fn, const Value& x, int dim) {
  if (is_point(op::name(fn), x, dim)) return point_of(scan_extremes(fn, line_of(x), 0));
  const Values results = emit_all(op::Scan{fn, wrap_dim(op::name(fn), dim, x.rank())}, {x});
  return {results[op::Scan::values], results[op::Scan::indices]};
}

}  // namespace

Value cumsum(const Value& x, Dim dim, const ScanOptions& options) { return scan(op::ScanFn::Sum, x, dim, options); }
Value cumprod(const Value& x, Dim dim, const ScanOptions& options) { return scan(op::ScanFn::Prod, x, dim, options); }
ValueWithIndices cummax(const Value& x, Dim dim) { return scan_extremes(op::ScanFn::Max, x, dim); }
ValueWithIndices cummin(const Value& x, Dim dim) { return scan_extremes(op::ScanFn::Min, x, dim); }
Value logcumsumexp(const Value& x, Dim dim) { return scan(op::ScanFn::LogSumExp, as_float(x), dim, {}); }

Value linear_recurrence(const Value& a, const Value& b, Dim dim, bool reverse) {
  const Shape shape = broadcast(op::Recurrence::kName, a.shape(), b.shape());
  const DType dtype = a.is_scalar()   ? promote_scalar(b.dtype(), kind_of(a.dtype()))
                      : b.is_scalar() ? promote_scalar(a.dtype(), kind_of(b.dtype()))
                                      : promote(a.dtype(), b.dtype());
  const Device device = a.is_scalar() ? b.device() : a.device();
  const auto shaped = [&](const Value& x) {
    return x.is_scalar() ? full(shape, x.scalar(), device, dtype) : expand(cast(x, dtype), shape);
  };
  return emit(op::Recurrence{wrap_dim(op::Recurrence::kName, dim, shape.size()), reverse}, {shaped(a), shaped(b)});
}

}  // namespace kiln
