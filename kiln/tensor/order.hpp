// Search in sorted tensors, and distinct elements. Sorting itself is x.sort(), x.topk(), x.median(), ...
#pragma once
#include "kiln/ops/reduce/unique.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// The number of elements of `sorted` (ascending) before each of `values`; with `right`, equal elements count
/// too.
template <int D, class K, class L>
Tensor<D, Int> searchsorted(const Tensor<1, K>& sorted, const Tensor<D, L>& values, bool right = false) {
  return Typed{searchsorted(sorted.value(), values.value(), right)};
}
/// Searches each line of `values` in the line of `sorted` at the same position.
template <int D, class K, class L>
Tensor<D, Int> searchsorted(const Tensor<D, K>& sorted, const Tensor<D, L>& values, bool right = false) requires(D > 1)
{
  return Typed{searchsorted(sorted.value(), values.value(), right)};
}
/// Searches a tensor that `sorter`, its argsort(-1), would sort.
template <int D, int E, class K, class L>
requires(D == 1 || D == E) Tensor<E, Int> searchsorted(const Tensor<D, K>& sequence, const Tensor<E, L>& values,
                                                       bool right, const Tensor<D, Int>& sorter) {
  return Typed{searchsorted(sequence.value(), values.value(), right, sorter.value())};
}
/// Whether each element of x is one of `elements`.
template <int D, int E, class K, class L>
Tensor<D, Bool> isin(const Tensor<D, K>& x, const Tensor<E, L>& elements) {
  return Typed{isin(x.value(), elements.value())};
}
/// The interval between `boundaries` in which each element lies: i where boundaries[i - 1] < x <= boundaries[i]; with
/// `right`, where boundaries[i - 1] <= x < boundaries[i].
template <int D, class K, class L>
Tensor<D, Int> bucketize(const Tensor<D, K>& x, const Tensor<1, L>& boundaries, bool right = false) {
  return Typed{bucketize(x.value(), boundaries.value(), right)};
}

template <int D, class K>
struct DistinctElements {
  Tensor<1, K> values;
  Tensor<D, Int> inverse;  // the index in `values` of each element
  Tensor<1, Int> counts;   // the number of occurrences of each
};
/// The distinct elements in ascending order; NaNs equal one another. Waits for the device.
template <int D, class K>
DistinctElements<D, K> unique(const Tensor<D, K>& x) {
  const Distinct result = unique(x.value());
  return {Typed{result.values}, Typed{result.inverse}, Typed{result.counts}};
}
/// One element of each run of equal elements in row-major order. Waits for the device.
template <int D, class K>
DistinctElements<D, K> unique_consecutive(const Tensor<D, K>& x) {
  const Distinct result = unique_consecutive(x.value());
  return {Typed{result.values}, Typed{result.inverse}, Typed{result.counts}};
}

template <int D, class K>
struct DistinctSlices {
  Tensor<D, K> values;
  Tensor<1, Int> inverse;  // the index in `values` of each slice
  Tensor<1, Int> counts;   // the number of occurrences of each
};
/// The distinct slices of `dim` in ascending order, or one slice of each run of equal ones. Waits for the device.
template <int D, class K>
DistinctSlices<D, K> unique(const Tensor<D, K>& x, Dim dim) {
  const Distinct result = unique(x.value(), dim);
  return {Typed{result.values}, Typed{result.inverse}, Typed{result.counts}};
}
template <int D, class K>
DistinctSlices<D, K> unique_consecutive(const Tensor<D, K>& x, Dim dim) {
  const Distinct result = unique_consecutive(x.value(), dim);
  return {Typed{result.values}, Typed{result.inverse}, Typed{result.counts}};
}

}  // namespace kiln
