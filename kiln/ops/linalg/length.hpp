// Lengths of vectors whose squares leave the range of the element type though the lengths do not: 1e20 in float32 has the
// square 1e40. Elements are scaled by powers of two, which changes no bit of a length that would come out right anyway.
#pragma once
#include "kiln/core/function_ref.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {

/// x * factor [dims kept as 1], of which powers up to `p`, and sums of those over `dims`, stay within the range of the type.
/// The factor is 1 for elements of ordinary size, and of the largest magnitude along `dims`; it is no part of a gradient.
/// For p = 2 it is a power of two.
struct InRange {
  Value x, factor;
};
InRange in_range(const Value& x, const Dims& dims, double p = 2);
/// The factor alone.
Value range_factor(const Value& x, const Dims& dims, double p = 2);

/// A factor as it lies beside `x`, from which its dimensions may have been dropped; and x / factor.
Value factor_beside(const Value& x, const Value& factor);
Value unscaled(const Value& x, const Value& factor);

/// Sums of squares: of the elements, and of the same scaled down and up. One pass over x, float32 or float64.
struct SquareSums {
  Value plain, lowered, raised;
};
SquareSums square_sums(const Value& x, const Dims& dims, bool keep = false);
SquareSums operator+(const SquareSums& a, const SquareSums& b);

/// The root of sums of squares. `lowered` is that times `factor`, right where the length is large; it is finite where no
/// element is infinite or NaN, even if the length itself is beyond the type.
struct Length {
  Value value, lowered;
  double factor;
};
Length length_of(const SquareSums& sums);

/// The Euclidean length of x, float32 or float64, over `dims`. Where it is zero, its gradient is.
Value euclidean_length(const Value& x, const Dims& dims, bool keep = false);

/// The root of variance_of(x), which is taken of x times a number where the squares of `counted`, x without what counts for
/// nothing, would leave the range of the type.
Value root_of_variance(const Value& x, const Value& counted, const Dims& dims,
                       FunctionRef<Value(const Value&)> variance_of);

}  // namespace kiln
