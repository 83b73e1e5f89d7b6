// Sorting, selecting and searching. Order is total: NaN counts as larger than any number, -0 equals 0. Of equal
// elements the earlier comes first, whichever the direction. Gradients go to the elements that were chosen.
#pragma once
#include "kiln/ops/reduce/with_indices.hpp"

namespace kiln {

/// All elements along `dim` in ascending or descending order, and where they stood.
ValueWithIndices sort(const Value& x, Dim dim, bool descending = false);
/// Where the elements stood that sort() gives: gather(x, dim, argsort(x, dim)) is sorted.
Value argsort(const Value& x, Dim dim, bool descending = false);
/// Sorted along the first dimension.
Value msort(const Value& x);
/// The k largest (or smallest) along `dim`, the most extreme first.
ValueWithIndices topk(const Value& x, std::int64_t k, Dim dim, bool largest = true);
Value argtopk(const Value& x, std::int64_t k, Dim dim, bool largest = true);
/// The k-th smallest along `dim`, counted from 1.
ValueWithIndices kthvalue(const Value& x, std::int64_t k, Dim dim, bool keep = false);
/// The extreme elements along `dim` and where they stand; the gradient goes to the first of equals.
ValueWithIndices max_with_index(const Value& x, Dim dim, bool keep = false);
ValueWithIndices min_with_index(const Value& x, Dim dim, bool keep = false);
/// The most frequent element along `dim`, the smallest of several, and where it first stands. NaNs equal one another.
ValueWithIndices mode(const Value& x, Dim dim, bool keep = false);
/// Is no element along `dim` followed by one that comes before it? Boolean, without `dim`.
Value is_sorted(const Value& x, Dim dim, bool descending = false);

/// For each of `values` how many elements of `sorted` (ascending along its last dimension) come before it, int64; with
/// `right`, those that equal it count too. `sorted` is [n], or has the dimensions of `values` but for the last.
Value searchsorted(const Value& sorted, const Value& values, bool right = false);
/// The same for an unsorted tensor and the `sorter` that would sort its last dimension, argsort(sequence, -1).
Value searchsorted(const Value& sequence, const Value& values, bool right, const Value& sorter);
/// Is each element equal to one of `elements`? Booleans of x's shape; NaN equals nothing.
Value isin(const Value& x, const Value& elements);
/// In which of the intervals between `boundaries` [n] each element lies, 0 to n: i where
/// boundaries[i - 1] < x <= boundaries[i]; with `right`, where boundaries[i - 1] <= x < boundaries[i].
Value bucketize(const Value& x, const Value& boundaries, bool right = false);

}  // namespace kiln
