// Rearranges, repeats and splits elements. Functions called views copy nothing where strides can express the result.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

// ---- dimensions ----------------------------------------------------------------------------------------------------
/// Drops the named dimensions, which must have size 1.
Value squeeze(const Value& x, const Dims& dims);
/// Adds dimensions of size 1 at the positions `dims` of the result.
Value unsqueeze(const Value& x, const Dims& dims);
/// Dimension from[i] becomes dimension to[i]; the others keep their order.
Value movedim(const Value& x, const Dims& from, const Dims& to);
/// Expands all tensors to the shape that they broadcast to; the results are views.
Values broadcast_tensors(Inputs in);

// ---- windows -------------------------------------------------------------------------------------------------------
/// Windows of `size` elements, `dilation` apart, that begin every `step` elements of `dim`: [..., n, ...] ->
/// [..., windows, ..., size]. A view.
Value unfold(const Value& x, Dim dim, std::int64_t size, std::int64_t step, std::int64_t dilation = 1);
/// The sum of such windows where they overlap, in a `dim` of `length` elements: the adjoint of unfold. `dim` is counted
/// without the last dimension.
Value fold(const Value& windows, Dim dim, std::int64_t length, std::int64_t step, std::int64_t dilation = 1);

// ---- rolled and flipped --------------------------------------------------------------------------------------------
/// Element i along `dim` moves to i + shift; elements that leave at one end enter at the other.
Value roll(const Value& x, std::int64_t shift, Dim dim);
Value roll(const Value& x, const Dims& shifts, const Dims& dims);
/// Columns (dimension 1) or rows (dimension 0) in reverse order.
Value fliplr(const Value& x);
Value flipud(const Value& x);
/// Rotates by quarter turns from dim1 towards dim2: counterclockwise for a matrix as it is written.
Value rot90(const Value& x, int times = 1, Dim dim1 = 0, Dim dim2 = 1);

// ---- repeated ------------------------------------------------------------------------------------------------------
/// Repeats x times[i] times along dimension i.
Value repeat(const Value& x, const Dims& times);
/// NumPy's tile: like repeat, but the shorter of x's shape and `times` gets leading ones.
Value tile(const Value& x, const Dims& times);
/// Repeats each slice of `dim` that many times in a row.
Value repeat_interleave(const Value& x, std::int64_t times, Dim dim);
/// Repeats slice i of `dim` times[i] times in a row. Waits for the device.
Value repeat_interleave(const Value& x, const Value& times, Dim dim);

// ---- split: views --------------------------------------------------------------------------------------------------
/// The slice `range` of dimension `dim`.
Value slice_dim(const Value& x, Dim dim, const Range& range);
/// x with the elements of slice(x, ranges) set to a number.
Value slice_fill(const Value& x, std::span<const Range> ranges, const Scalar& number);
/// Parts of (size + parts - 1) / parts elements along `dim`; the last one may be smaller, or missing.
Values chunk(const Value& x, std::int64_t parts, Dim dim);
/// Parts of the given sizes, which must add up to that of `dim`.
Values split_with_sizes(const Value& x, const std::vector<std::int64_t>& sizes, Dim dim);
/// Exactly `parts` parts; the first ones have one element more where they cannot be equal.
Values tensor_split(const Value& x, std::int64_t parts, Dim dim);
/// Parts that begin at 0 and at each of the ascending `starts`.
Values split_at(const Value& x, const std::vector<std::int64_t>& starts, Dim dim);
/// One part for each index of `dim`, without that dimension.
Values unbind(const Value& x, Dim dim);

}  // namespace kiln
