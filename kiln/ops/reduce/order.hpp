// Sorting, selecting and searching. The order is total: NaN is larger than any number, -0 equals 0. Equal elements keep
// their order in both directions. Gradients go to the elements that were chosen.
#pragma once
#include "kiln/ops/reduce/with_indices.hpp"

namespace kiln {

/// The elements along `dim` in ascending or descending order, and their indices in x.
ValueWithIndices sort(const Value& x, Dim dim, bool descending = false);
/// The indices of sort(): gather(x, dim, argsort(x, dim)) is sorted.
Value argsort(const Value& x, Dim dim, bool descending = false);
/// Sorts along the first dimension.
Value msort(const Value& x);
/// The k largest (or smallest) along `dim`, the most extreme first.
ValueWithIndices topk(const Value& x, std::int64_t k, Dim dim, bool largest = true);
Value argtopk(const Value& x, std::int64_t k, Dim dim, bool largest = true);
/// The k-th smallest along `dim`, counted from 1.
ValueWithIndices kthvalue(const Value& x, std::int64_t k, Dim dim, bool keep = false);
/// The extreme elements along `dim` and their indices; the gradient goes to the first of equal ones.
ValueWithIndices max_with_index(const Value& x, Dim dim, bool keep = false);
ValueWithIndices min_with_index(const Value& x, Dim dim, bool keep = false);
/// The most frequent element along `dim`, the smallest of several, and its first index. NaNs equal one another.
ValueWithIndices mode(const Value& x, Dim dim, bool keep = false);
/// Whether each line along `dim` is sorted. Boolean, without `dim`.
Value is_sorted(const Value& x, Dim dim, bool descending = false);

/// The number (int64) of elements of `sorted` (ascending along its last dimension) that come before each of `values`;
/// with `right`, elements that equal it count too. `sorted` is [n], or has the dimensions of `values` except
/// for the last.
Value searchsorted(const Value& sorted, const Value& values, bool right = false);
/// Searches an unsorted tensor; `sorter` would sort its last dimension, as argsort(sequence, -1) does.
Value searchsorted(const Value& sequence, const Value& values, bool right, const Value& sorter);
/// Whether each element equals one of `elements`: booleans of x's shape; NaN equals nothing.
Value isin(const Value& x, const Value& elements);
/// The interval between `boundaries` [n] in which each element lies, 0 to n: i where
/// boundaries[i - 1] < x <= boundaries[i]; with `right`, where boundaries[i - 1] <= x < boundaries[i].
Value bucketize(const Value& x, const Value& boundaries, bool right = false);

}  // namespace kiln
