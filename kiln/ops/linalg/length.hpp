// Lengths of vectors whose squares leave the range of the element type though the lengths do not: 1e20 in float32 has
// the square 1e40. Elements are scaled by powers of two, which changes no bit of lengths that do not need it.
#pragma once
#include "kiln/core/function_ref.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {

/// x * factor [dims kept as 1], scaled so that powers up to `p`, and sums of these over `dims`, stay within the range
/// of the type. The factor is 1 for elements of ordinary size, else derived from the largest magnitude along `dims`;
/// gradients treat it as a constant. For p = 2 it is a power of two.
struct ScaledIntoRange {
  Value x, factor;
};
ScaledIntoRange scale_into_range(const Value& x, const Dims& dims, double p = 2);
/// The factor of scale_into_range() alone.
Value range_factor(const Value& x, const Dims& dims, double p = 2);

/// factor_beside: the factor in the shape of `x`, from which `dims` may have been dropped. unscaled: x / factor.
Value factor_beside(const Value& x, const Value& factor);
Value unscaled(const Value& x, const Value& factor);

/// Sums of squares: of the elements, of the elements scaled down, and of those scaled up. One pass over x, float32 or
/// float64.
struct SquareSums {
  Value plain, scaled_down, scaled_up;
};
SquareSums square_sums(const Value& x, const Dims& dims, bool keep = false);
SquareSums operator+(const SquareSums& a, const SquareSums& b);

/// The square root of sums of squares. `scaled_down` is that root times `factor`, accurate where the length is large;
/// it is finite where no element is infinite or NaN, even if the length itself exceeds the type.
struct Length {
  Value value, scaled_down;
  double factor;
};
Length length_of(const SquareSums& sums);

/// The Euclidean length of x, float32 or float64, over `dims`. Where the length is zero, so is its gradient.
Value euclidean_length(const Value& x, const Dims& dims, bool keep = false);

/// The square root of variance_of(x); x is scaled first where the squares of `counted`, which is x without ignored
/// elements, would leave the range of the type.
Value root_of_variance(const Value& x, const Value& counted, const Dims& dims,
                       FunctionRef<Value(const Value&)> variance_of);

}  // namespace kiln
