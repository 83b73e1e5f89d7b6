// Vectors whose squares or powers leave the range of the element type though their lengths do not: 1e20 in float32 has the
// square 1e40. Elements are scaled by powers of two, which changes no bit of results that do not need it. A Euclidean
// length alone needs no scaling: it is a reduction of its own (euclidean_length()).
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

/// The square root of variance_of(x); x is scaled first where the squares of `counted`, which is x without ignored
/// elements, would leave the range of the type.
Value root_of_variance(const Value& x, const Value& counted, const Dims& dims,
                       FunctionRef<Value(const Value&)> variance_of);

}  // namespace kiln
