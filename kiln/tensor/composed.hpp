// Functions over Value that are made of those in ops/functions.hpp, for the facade and for whoever works at run-time
// rank. Those marked `waits` read an operand on the host to know their result: the device is synchronised.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/tensor/kind.hpp"

namespace kiln {

struct ValueWithIndices {
  Value values, indices;
};

// ---- reductions ----------------------------------------------------------------------------------------------------
/// The extreme elements along `dim` and where they stand; the gradient goes to the first of equals.
ValueWithIndices max_with_index(const Value& x, int dim);
ValueWithIndices min_with_index(const Value& x, int dim);
/// The square root of the variance.
Value deviation(const Value& x, const Dims& dims, int correction = 1, bool keep = false);

// ---- views ---------------------------------------------------------------------------------------------------------
/// Element i along `dim` moves to i + shift; what falls off one end comes in at the other.
Value roll(const Value& x, std::int64_t shift, int dim);
/// x laid side by side, times[i] times along dimension i (NumPy's tile).
Value repeat(const Value& x, const Dims& times);
/// `parts` pieces of about the same size along `dim`; the last may be smaller, or missing.
Values chunk(const Value& x, std::int64_t parts, int dim);

// ---- indexing ------------------------------------------------------------------------------------------------------
/// [count]: the elements where mask (of x's shape) is true, in row-major order. Waits.
Value mask_select(const Value& x, const Value& mask);
/// The k largest (or smallest) along `dim`, the most extreme first. NaN counts as larger than any number. Waits.
ValueWithIndices topk(const Value& x, std::int64_t k, int dim, bool largest = true);
/// All elements along `dim` in ascending (or descending) order; equal ones keep theirs. NaN counts as largest. Waits.
ValueWithIndices sort(const Value& x, int dim, bool descending = false);

// ---- what the facade checks ----------------------------------------------------------------------------------------
/// Throws "expected a tensor of rank 2, got float32 [3]", or the like for the kind, unless x is one.
void require_tensor(const Value& x, int rank, Kind kind);
/// `dims`, or all of `rank` dimensions where it is empty.
Dims dims_or_all(Dims dims, int rank);

}  // namespace kiln
