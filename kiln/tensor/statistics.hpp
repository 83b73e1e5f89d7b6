// Statistics that are not methods of Tensor: of two tensors, of variables, with several results, or of another length.
#pragma once
#include "kiln/ops/reduce/calculus.hpp"
#include "kiln/ops/reduce/histogram.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// auto [variance, mean] = var_mean(x, biased, 1);
template <int D>
struct TensorVarianceAndMean {
  Tensor<D> variance, mean;
};
template <int D, Integer... Dim>
auto var_mean(const Tensor<D>& x, Correction correction, Dim... dims)
    -> TensorVarianceAndMean<sizeof...(Dim) == 0 ? 0 : D - static_cast<int>(sizeof...(Dim))> {
  const VarianceAndMean result = variance_and_mean(x.value(), dims_or_all({dims...}, D), correction.less);
  return {Typed{result.variance}, Typed{result.mean}};
}
template <int D, Integer... Dim>
auto var_mean(const Tensor<D>& x, Dim... dims) {
  return var_mean(x, Correction{}, dims...);
}

/// The variance about a given mean, which broadcasts to x: var_about(x, x.mean(keep, 1), biased, 1).
template <int D, int E, Integer... Dim>
auto var_about(const Tensor<D>& x, const Tensor<E>& mean, Correction correction, Dim... dims)
    -> Tensor<sizeof...(Dim) == 0 ? 0 : D - static_cast<int>(sizeof...(Dim))> {
  static_assert(E <= D, "var_about: the mean broadcasts to x");
  return Typed{variance_about(x.value(), mean.value(), dims_or_all({dims...}, D), correction.less)};
}
template <int D, int E, Integer... Dim>
auto var_about(const Tensor<D>& x, const Tensor<E>& mean, Dim... dims) {
  return var_about(x, mean, Correction{}, dims...);
}

/// auto [least, most] = aminmax(x, 1);
template <int D, class K>
struct TensorExtremes {
  Tensor<D, K> least, most;
};
template <int D, class K, Integer... Dim>
auto aminmax(const Tensor<D, K>& x, Dim... dims)
    -> TensorExtremes<sizeof...(Dim) == 0 ? 0 : D - static_cast<int>(sizeof...(Dim)), K> {
  const Extremes result = aminmax(x.value(), dims_or_all({dims...}, D));
  return {Typed{result.least}, Typed{result.most}};
}

/// The mean along `dims`, or of everything, weighted by `weights`, which broadcast to x.
template <int D, int E, Integer... Dim>
auto average(const Tensor<D>& x, const Tensor<E>& weights, Dim... dims)
    -> Tensor<sizeof...(Dim) == 0 ? 0 : D - static_cast<int>(sizeof...(Dim))> {
  return Typed{average(x.value(), weights.value(), dims_or_all({dims...}, D))};
}

/// x [variables, observations] -> [variables, variables]
inline Tensor<2> cov(const Tensor<2>& x, Correction correction = {}) { return Typed{cov(x.value(), correction.less)}; }
/// The covariance of observations with `frequencies` and `weights`: cov(x, {.weights = w}).
inline Tensor<2> cov(const Tensor<2>& x, const CovOptions& options) { return Typed{cov(x.value(), options)}; }
inline Tensor<2> corrcoef(const Tensor<2>& x) { return Typed{corrcoef(x.value())}; }

// ---- counting; see ops/reduce/histogram.hpp ------------------------------------------------------------------------
/// Counts how often 0, 1, 2, ... occur in x. Waits for the device.
template <int D>
Tensor<1, Int> bincount(const Tensor<D, Int>& x, std::int64_t least = 0) {
  return Typed{bincount(x.value(), {}, least)};
}
template <int D, class K>
Tensor<1, K> bincount(const Tensor<D, Int>& x, const Tensor<D, K>& weights, std::int64_t least = 0) {
  return Typed{bincount(x.value(), weights.value(), least)};
}

template <class K>
struct TensorHistogram {
  Tensor<1, K> counts;
  Tensor<1> edges;
};
template <int D, class K>
TensorHistogram<Int> histogram(const Tensor<D, K>& x, std::int64_t bins) {
  const HistogramValues result = histogram(x.value(), bins);
  return {Typed{result.counts}, Typed{result.edges}};
}
template <int D, class K>
TensorHistogram<Int> histogram(const Tensor<D, K>& x, std::int64_t bins, double low, double high) {
  const HistogramValues result = histogram(x.value(), bins, low, high);
  return {Typed{result.counts}, Typed{result.edges}};
}
template <int D, class K>
TensorHistogram<Int> histogram(const Tensor<D, K>& x, const Tensor<1>& edges) {
  const HistogramValues result = histogram(x.value(), edges.value());
  return {Typed{result.counts}, Typed{result.edges}};
}
/// The counts, or the sums of the weights, divided by their sum and by the widths of the bins.
template <int D, class K>
TensorHistogram<Float> density(const Tensor<D, K>& x, const Tensor<1>& edges, const Tensor<D>& weights = {}) {
  const HistogramValues result = histogram(x.value(), edges.value(), {.weights = weights.value(), .density = true});
  return {Typed{result.counts}, Typed{result.edges}};
}
/// The counts in x's type; an empty range means the range of the elements.
template <int D, class K>
Tensor<1, K> histc(const Tensor<D, K>& x, std::int64_t bins, double low = 0, double high = 0) {
  return Typed{histc(x.value(), bins, low, high)};
}

// ---- functions known at points; see ops/reduce/calculus.hpp --------------------------------------------------------
/// Each element along `dim` minus the one before it, n times over.
template <int D, class K>
Tensor<D, K> diff(const Tensor<D, K>& x, int n = 1, Dim dim = -1) {
  return Typed{diff(x.value(), n, dim)};
}
/// Joins `prepend` and `append`, numbers or tensors, to x first.
template <int D, class K, Operand Before, Operand After>
auto diff(const Tensor<D, K>& x, int n, Dim dim, const Before& prepend, const After& append) {
  return Tensor<D, Joined<K, Joined<KindOfOperand<Before>, KindOfOperand<After>>>>(
      Typed{diff(x.value(), n, dim, Value(prepend), Value(append))});
}
/// The derivative along each of `dims`, or of all, for values at points `spacing` apart.
template <int D, class K>
std::vector<Tensor<D>> gradient(const Tensor<D, K>& y, double spacing = 1, const Dims& dims = {}, int edge_order = 1) {
  std::vector<Tensor<D>> slopes;
  for (const Value& slope : gradient(y.value(), spacing, dims, edge_order)) slopes.emplace_back(slope);
  return slopes;
}
/// The derivative along one dimension, for values at the positions x.
template <int D, class K, class L>
Tensor<D> gradient(const Tensor<D, K>& y, const Tensor<1, L>& x, Dim dim, int edge_order = 1) {
  return Typed{gradient(y.value(), x.value(), dim, edge_order)};
}
template <int D>
Tensor<D - 1> trapezoid(const Tensor<D>& y, double spacing = 1, Dim dim = -1) {
  return Typed{trapezoid(y.value(), spacing, dim)};
}
template <int D, int E>
Tensor<D - 1> trapezoid(const Tensor<D>& y, const Tensor<E>& x, Dim dim = -1) requires(E == 1 || E == D) {
  return Typed{trapezoid(y.value(), x.value(), dim)};
}
template <int D>
Tensor<D> cumulative_trapezoid(const Tensor<D>& y, double spacing = 1, Dim dim = -1) {
  return Typed{cumulative_trapezoid(y.value(), spacing, dim)};
}
template <int D, int E>
Tensor<D> cumulative_trapezoid(const Tensor<D>& y, const Tensor<E>& x, Dim dim = -1) requires(E == 1 || E == D) {
  return Typed{cumulative_trapezoid(y.value(), x.value(), dim)};
}
/// The piecewise linear function through the points (xs[i], ys[i]) at each x; constant outside.
template <int D>
Tensor<D> interp(const Tensor<D>& x, const Tensor<1>& xs, const Tensor<1>& ys) {
  return Typed{interp(x.value(), xs.value(), ys.value())};
}
/// interp() with the values `left` and `right` outside.
template <int D>
Tensor<D> interp(const Tensor<D>& x, const Tensor<1>& xs, const Tensor<1>& ys, double left, double right) {
  return Typed{interp(x.value(), xs.value(), ys.value(), left, right)};
}

}  // namespace kiln
