// The same elements, moved or repeated.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// Windows of `size` elements, `dilation` apart, that begin every `step` elements of `dim`: [..., n, ...] ->
/// [..., windows, ..., size]. Without copying.
Value unfold(const Value& x, int dim, std::int64_t size, std::int64_t step, std::int64_t dilation = 1);
/// The sum of such windows where they overlap, in a `dim` of `length` elements: the adjoint of unfold. `dim` is counted
/// without the last dimension.
Value fold(const Value& windows, int dim, std::int64_t length, std::int64_t step, std::int64_t dilation = 1);

/// Element i along `dim` moves to i + shift; what falls off one end comes in at the other.
Value roll(const Value& x, std::int64_t shift, int dim);
/// x laid side by side, times[i] times along dimension i (NumPy's tile).
Value repeat(const Value& x, const Dims& times);
/// `parts` pieces of about the same size along `dim`; the last may be smaller, or missing.
Values chunk(const Value& x, std::int64_t parts, int dim);

}  // namespace kiln
