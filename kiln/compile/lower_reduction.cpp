// Reductions and scans: folds whose inner dimensions are the reduced ones.
#include <algorithm>

#include "kiln/compile/lowering.hpp"
#include "kiln/ops/expression/combiner.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::compile {
namespace {

/// The view with the dimensions `dims` last.
View with_last(const View& view, const Dims& dims) {
  Dims order;
  for (int i = 0; i < view.shape.size(); ++i)
    if (std::ranges::find(dims, i) == dims.end()) order.push_back(i);
  for (const auto dim : dims) order.push_back(dim);
  return permuted(view, order);
}

Loop loop_over(const View& view, int reduced) {
  Loop loop;
  loop.sizes = Counts(view.shape.begin(), view.shape.end());
  loop.kept = view.shape.size() - reduced;
  loop.value = view.value;
  return loop;
}

/// The places of a result that has size 1 along `dims`.
Access places(const View& result, const Dims& dims) {
  Access access = whole(with_last(result, dims));
  for (int i = 0; i < dims.size(); ++i) access.strides[access.strides.size() - 1 - static_cast<std::size_t>(i)] = 0;
  return access;
}

void reduce(Lowering& to, Site& site, const op::Reduce& op) {
  const View& x = site.in[0];
  Loop loop = loop_over(with_last(x, op.dims), op.dims.size());
  loop.mode = Mode::Fold;
  loop.fn = op.fn;
  loop.accumulator = expr::accumulator(op.fn, x.dtype());
  for (const auto dim : op.dims) loop.divisor *= x.shape[static_cast<int>(dim)];
  const View result = to.buffer_for(site.result());
  loop.out = {places(result, op.dims)};
  to.add(std::move(loop));
  site.out = {result};
}

void extreme(Lowering& to, Site& site, const op::ArgReduce& op) {
  const View& x = site.in[0];
  const Dims dims{wrap_dim("argmax", op.dim, x.shape.size())};
  Loop loop = loop_over(with_last(x, dims), 1);
  loop.mode = Mode::Extreme;
  loop.extreme = op.fn;
  loop.accumulator = expr::computed_in(x.dtype());
  loop.index.strides = Counts(loop.sizes.size(), 0);
  loop.index.strides.back() = 1;
  const View result = to.buffer_for(site.result());
  loop.out = {{}, places(result, dims)};
  to.add(std::move(loop));
  site.out = {result};
}

bool scan(Lowering& to, Site& site, const op::Scan& op) {
  if (site.step.results.size() > 1) return false;  // with indices
  const View& x = site.in[0];
  const int dim = wrap_dim("cumsum", op.dim, x.shape.size());
  const View result = to.buffer_for(site.result());
  View from = with_last(x, {dim}), into = with_last(result, {dim});
  if (op.reverse) {
    Dims begin = Dims::filled(x.shape.size(), 0), step = Dims::filled(x.shape.size(), 1);
    begin.back() = std::max<std::int64_t>(from.shape.back() - 1, 0);
    step.back() = -1;
    from = sliced(from, begin, step, from.shape);
    into = sliced(into, begin, step, into.shape);
  }
  Loop loop = loop_over(from, 1);
  loop.mode = Mode::Scan;
  switch (op.fn) {
    case op::ScanFn::Sum: loop.fn = op::ReduceFn::Sum; break;
    case op::ScanFn::Prod: loop.fn = op::ReduceFn::Prod; break;
    case op::ScanFn::Max: loop.fn = op::ReduceFn::Max; break;
    case op::ScanFn::Min: loop.fn = op::ReduceFn::Min; break;
    case op::ScanFn::LogSumExp: return false;
  }
  loop.accumulator = expr::accumulator(op.fn, x.dtype());
  loop.exclusive = op.exclusive;
  loop.out = {whole(into)};
  to.add(std::move(loop));
  site.out = {result};
  return true;
}

}  // namespace

bool lower_reduction(Lowering& to, Site& site) {
  const auto& op = site.step.op.is;
  if (const auto* reduction = std::get_if<op::Reduce>(&op)) reduce(to, site, *reduction);
  else if (const auto* arg = std::get_if<op::ArgReduce>(&op)) extreme(to, site, *arg);
  else if (const auto* cumulative = std::get_if<op::Scan>(&op)) return scan(to, site, *cumulative);
  else return false;
  return true;
}

}  // namespace kiln::compile
