// The same elements, moved or repeated.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// Element i along `dim` moves to i + shift; what falls off one end comes in at the other.
Value roll(const Value& x, std::int64_t shift, int dim);
/// x laid side by side, times[i] times along dimension i (NumPy's tile).
Value repeat(const Value& x, const Dims& times);
/// `parts` pieces of about the same size along `dim`; the last may be smaller, or missing.
Values chunk(const Value& x, std::int64_t parts, int dim);

}  // namespace kiln
