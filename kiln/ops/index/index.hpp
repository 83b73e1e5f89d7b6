// Reading and writing by masks and lists of indices.
//
// Negative indices count from the end where a function says "wraps"; elsewhere they are an IndexError, as are indices
// that are too large. Functions marked "Waits." read an operand on the host to know their result's shape.
// ops/index/update.hpp defines how elements are updated and in which order. A `source` may be a plain number where it
// need not be a tensor.
//
// Gradients: an assigned element takes over the gradient of the element it replaced (the last of several has it); equal
// extremes share it, the element of x included; the gradient of products is exact beside zeros, too.
#pragma once
#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/index/update.hpp"

namespace kiln {

// ---- one index for each element ------------------------------------------------------------------------------------
/// x with the elements that gather(x, dim, index) would read updated by source, of index's shape.
Value scatter(const Value& x, Dim dim, const Value& index, const Value& source, Update update = Update::Assign);
/// How several elements at one position are combined.
enum class Combine : std::uint8_t { Sum, Prod, Mean, Max, Min };
/// x with the elements that gather(x, dim, index) would read combined with those of source; without `with_self` they
/// are replaced by the combination of the source's elements alone. The mean of integers is rounded down.
Value scatter_reduce(const Value& x, Dim dim, const Value& index, const Value& source, Combine how,
                     bool with_self = true);
/// gather, but x and index broadcast to each other in the dimensions other than `dim`; wraps.
Value take_along_dim(const Value& x, const Value& index, Dim dim);
/// The elements of flattened x: the result has index's shape; wraps.
Value take(const Value& x, const Value& index);

// ---- one index for each slice --------------------------------------------------------------------------------------
/// x with the slices that select(x, dim, index) would read updated by source, which has the shape of the selection.
Value select_assign(const Value& x, Dim dim, const Value& index, const Value& source, Update update = Update::Assign);
inline Value index_select(const Value& x, Dim dim, const Value& index) {
  const CalledAs named("index_select");
  return select(x, dim, index);
}
inline Value index_add(const Value& x, Dim dim, const Value& index, const Value& source) {
  const CalledAs named("index_add");
  return select_add(x, dim, index, source);
}
inline Value index_copy(const Value& x, Dim dim, const Value& index, const Value& source) {
  const CalledAs named("index_copy");
  return select_assign(x, dim, index, source);
}
inline Value index_fill(const Value& x, Dim dim, const Value& index, const Scalar& number) {
  const CalledAs named("index_fill");
  return select_assign(x, dim, index, number);
}
/// scatter_reduce for the slices that select(x, dim, index) would read.
Value index_reduce(const Value& x, Dim dim, const Value& index, const Value& source, Combine how,
                   bool with_self = true);
/// select_scatter: x with slice `index` (negative from the end) of `dim` replaced by source, which lacks that
/// dimension. slice_scatter: x with the slices in `range` replaced. Throws ShapeError where source does not fit.
Value select_scatter(const Value& x, const Value& source, Dim dim, std::int64_t index);
Value slice_scatter(const Value& x, const Value& source, Dim dim, const Range& range = {});

// ---- several indices for each element or slice ---------------------------------------------------------------------
/// index [..., k] names elements of the first k dimensions: the result is [..., the other dimensions]; wraps.
Value gather_nd(const Value& x, const Value& index);
/// x with the elements that gather_nd(x, index) would read updated by source.
Value scatter_nd(const Value& x, const Value& index, const Value& source, Update update = Update::Assign);
/// NumPy's x[i, j, ...]: indices[d] is for dimension d; an empty or missing Value takes the whole dimension. The
/// indices broadcast together, and their dimensions replace the indexed ones if these are neighbours, and come first
/// otherwise. A boolean mask indexes as many dimensions as it has, whose sizes it must match, and yields one dimension
/// (Waits.); wraps.
Value index_get(const Value& x, Inputs indices);
/// x with index_get(x, indices) updated by source, which broadcasts to it.
Value index_put(const Value& x, Inputs indices, const Value& source, Update update = Update::Assign);
/// One index for each dimension of `shape` (they broadcast) -> the int64 index in row-major order; wraps.
Value ravel_index(Inputs indices, const Shape& shape);
/// The reverse of ravel_index: an index for each dimension.
Values unravel_index(const Value& index, const Shape& shape);

// ---- masks ---------------------------------------------------------------------------------------------------------
/// The positions where x (a mask, or any tensor) is not zero. All three wait.
/// [count]: indices into the flattened tensor, ascending.
Value flat_nonzero(const Value& x);
/// [count] for each dimension: its indices.
Values nonzero(const Value& x);
/// [count, rank]
Value argwhere(const Value& x);

/// [count]: the elements where mask (of x's shape) is true, in row-major order. Waits.
Value mask_select(const Value& x, const Value& mask);
/// x with `value` where the mask is true; all broadcast.
Value mask_where(const Value& x, const Value& mask, const Value& value);
Value mask_fill(const Value& x, const Value& mask, const Scalar& number);
/// x with the elements where mask (of x's shape) is true replaced by the first elements of source, in row-major order.
/// Waits.
Value masked_scatter(const Value& x, const Value& mask, const Value& source);
/// NumPy's x[mask] = value: the mask has the first dimensions of x, and the value broadcasts to [count, the others].
/// Waits if the value has that many dimensions; otherwise it is the same at all positions.
Value mask_assign(const Value& x, const Value& mask, const Value& value);

/// `on` at the class of each index, else `off`, in a new dimension before `dim` (-1: at the end); all `off` where the
/// index is out of range.
Value one_hot_fill(const Value& index, std::int64_t classes, const Scalar& on, const Scalar& off, Dim dim = -1,
                   DType dtype = DType::F32);

}  // namespace kiln
