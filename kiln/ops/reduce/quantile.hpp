// Medians and quantiles along a dimension. A NaN makes the result of its line NaN, except in the nan... functions,
// which leave NaNs out. The gradient goes to the elements from which the result is computed.
#pragma once
#include <span>

#include "kiln/ops/reduce/with_indices.hpp"

namespace kiln {

/// The number for a position between two elements.
enum class Between : std::uint8_t { Linear, Lower, Higher, Midpoint, Nearest };

/// The number below which the fraction `q` (0 to 1) of a line lies: position q * (count - 1) of the sorted line,
/// interpolated by `between` (Hyndman and Fan's seventh definition). Integers are taken as float32.
Value quantile(const Value& x, double q, Dim dim, Between between = Between::Linear, bool keep = false);
Value nanquantile(const Value& x, double q, Dim dim, Between between = Between::Linear, bool keep = false);
/// Computes several quantiles at once, along a new first dimension.
Value quantile(const Value& x, std::span<const double> qs, Dim dim, Between between = Between::Linear,
               bool keep = false);
Value nanquantile(const Value& x, std::span<const double> qs, Dim dim, Between between = Between::Linear,
                  bool keep = false);

/// The middle element of a line, the lower of two, and its index; quantile(x, 0.5, dim) is halfway between two.
ValueWithIndices median(const Value& x, Dim dim, bool keep = false);
ValueWithIndices nanmedian(const Value& x, Dim dim, bool keep = false);
/// The median of all elements.
Value median(const Value& x);
Value nanmedian(const Value& x);

}  // namespace kiln
