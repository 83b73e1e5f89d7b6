// Reductions, scans and order.
#include "kiln/backend/libtorch/kernels.hpp"
#include "kiln/backend/libtorch/tensor.hpp"
#include "kiln/core/shape.hpp"
#include "kiln/ops/reduce/order_ops.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"
#include "kiln/ops/reduce/scan_ops.hpp"

namespace kiln::libtorch {
namespace {

/// f(x, dim) for one dimension after the other, for functions of ATen that take only one.
template <class F>
at::Tensor fold(at::Tensor x, const Dims& dims, F&& f) {
  for (const std::int64_t dim : dims) x = f(x, dim);
  return x;
}

/// The square root of the sum of squares, of numbers so scaled that no square leaves the range.
at::Tensor length(const at::Tensor& x, at::IntArrayRef dims) {
  const at::Tensor largest = at::amax(at::abs(x), dims, true);
  const at::Tensor odd = at::logical_or(at::eq(largest, 0), at::logical_not(at::isfinite(largest)));
  const at::Tensor scale = largest.masked_fill(odd, 1);
  const at::Tensor scaled = at::sqrt(at::sum(at::square(x / scale), dims, true)) * scale;
  return at::where(odd, largest, scaled);
}

at::Tensor reduce(const op::Reduce& op, const at::Tensor& x) {
  const std::vector<std::int64_t> dims = to_vector(op.dims);
  switch (op.fn) {
    case op::ReduceFn::Sum: return at::sum(x, dims, true);
    case op::ReduceFn::Mean: return at::mean(x.is_floating_point() ? x : x.to(at::kDouble), dims, true);
    case op::ReduceFn::Prod:
      return fold(x, op.dims, [](const at::Tensor& a, std::int64_t dim) { return at::prod(a, dim, true); });
    case op::ReduceFn::Max: return at::amax(x, dims, true);
    case op::ReduceFn::Min: return at::amin(x, dims, true);
    case op::ReduceFn::Any:
      return fold(x, op.dims, [](const at::Tensor& a, std::int64_t dim) { return at::any(a, dim, true); });
    case op::ReduceFn::All:
      return fold(x, op.dims, [](const at::Tensor& a, std::int64_t dim) { return at::all(a, dim, true); });
    case op::ReduceFn::Length: return length(x, dims);
  }
  __builtin_unreachable();
}

/// Returns, for each position along `dim`, where the extreme so far was first: the last position that changed it.
at::Tensor first_places(const at::Tensor& extremes, std::int64_t dim) {
  const std::int64_t size = extremes.size(dim);
  const at::Tensor before = extremes.narrow(dim, 0, size - 1), after = extremes.narrow(dim, 1, size - 1);
  const at::Tensor changed = at::logical_and(at::ne(after, before), at::logical_not(at::isnan(before)));
  std::vector<std::int64_t> along(static_cast<std::size_t>(extremes.dim()), 1);
  along[static_cast<std::size_t>(dim)] = size;
  const at::Tensor places = at::arange(size, at::kLong).view(along).expand(extremes.sizes()).clone();
  places.narrow(dim, 1, size - 1).mul_(changed);
  return std::get<0>(at::cummax(places, dim));
}

/// Returns x one place later: `first`, and then all but the last.
at::Tensor shifted(const at::Tensor& x, std::int64_t dim, double first) {
  const std::int64_t size = x.size(dim);
  const at::Tensor start = at::full_like(x.narrow(dim, 0, 1), first);
  return at::cat({start, x.narrow(dim, 0, size - 1)}, dim);
}

at::Tensor scan(const op::Scan& op, const at::Tensor& x) {
  switch (op.fn) {
    case op::ScanFn::Sum: return at::cumsum(x, op.dim);
    case op::ScanFn::Prod: return at::cumprod(x, op.dim);
    case op::ScanFn::Max: return std::get<0>(at::cummax(x, op.dim));
    case op::ScanFn::Min: return std::get<0>(at::cummin(x, op.dim));
    case op::ScanFn::LogSumExp: return at::logcumsumexp(x, op.dim);
  }
  __builtin_unreachable();
}

/// Values and indices in the total order of Kiln; a NaN is larger than any number, as in ATen.
std::tuple<at::Tensor, at::Tensor> sorted(const Value& x, std::int64_t dim, bool descending) {
  return at::sort(computed(x), /*stable=*/true, dim, descending);
}

bool has_nan(const at::Tensor& x) { return x.is_floating_point() && at::isnan(x).any().item<bool>(); }

}  // namespace

bool run(const op::Reduce& op, Call call) {
  const bool length = op.fn == op::ReduceFn::Length;
  at::Tensor x = computed(call.in[0]);
  if (op.dims.empty()) x = length ? at::abs(x) : x.clone();  // to ATen, no dimensions are all of them
  else x = reduce(op, length ? x.to(at::kDouble) : x);
  give(call.out[0], x);
  return true;
}

bool run(const op::ArgReduce& op, Call call) {
  const at::Tensor x = computed(call.in[0]);
  give(call.out[0], op.fn == op::ArgFn::ArgMax ? at::argmax(x, op.dim, true) : at::argmin(x, op.dim, true));
  return true;
}

bool run(const op::Scan& op, Call call) {
  at::Tensor x = computed(call.in[0]);
  if (op.reverse) x = x.flip(op.dim);
  if (op.exclusive) x = shifted(x, op.dim, op.fn == op::ScanFn::Prod ? 1 : 0);
  const auto turned = [&](const at::Tensor& t) { return op.reverse ? t.flip(op.dim) : t; };
  const at::Tensor values = scan(op, x);
  give(call.out[op::Scan::values], turned(values));
  if (call.out.size() == 1) return true;
  const at::Tensor places = first_places(values, op.dim);
  give(call.out[op::Scan::indices], turned(op.reverse ? x.size(op.dim) - 1 - places : places));
  return true;
}

bool run(const op::Sort& op, Call call) {
  const auto [values, indices] = sorted(call.in[0], op.dim, op.descending);
  give(call.out[op::Sort::values], values);
  give(call.out[op::Sort::indices], indices);
  return true;
}

// ATen's own topk says nothing about the order of equal elements.
bool run(const op::TopK& op, Call call) {
  const auto [values, indices] = sorted(call.in[0], op.dim, op.largest);
  give(call.out[op::TopK::values], values.narrow(op.dim, 0, op.k).clone());
  give(call.out[op::TopK::indices], indices.narrow(op.dim, 0, op.k).clone());
  return true;
}

// A NaN has no place in ATen's order of searches.
bool run(const op::SearchSorted& op, Call call) {
  using op::SearchSorted;
  const at::Tensor lines = computed(call.in[SearchSorted::sorted]).contiguous();
  const at::Tensor wanted = computed(call.in[SearchSorted::values]).contiguous();
  if (has_nan(lines) || has_nan(wanted)) return false;
  give(call.out[0], at::searchsorted(lines, wanted, false, op.right));
  return true;
}

}  // namespace kiln::libtorch
