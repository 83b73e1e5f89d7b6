// Medians and quantiles along a dimension. A NaN makes the result of its line NaN, but for the nan... functions, which
// leave it out. The gradient goes to the elements that the result is made of.
#pragma once
#include <span>

#include "kiln/ops/reduce/with_indices.hpp"

namespace kiln {

/// Which number stands for a place between two elements.
enum class Between : std::uint8_t { Linear, Lower, Higher, Midpoint, Nearest };

/// The element, or what stands between two, below which the share `q` (0 to 1) of a line lies: place q * (count - 1) of
/// the sorted line (Hyndman and Fan's seventh definition). Integers are taken as float32.
Value quantile(const Value& x, double q, Dim dim, Between between = Between::Linear, bool keep = false);
Value nanquantile(const Value& x, double q, Dim dim, Between between = Between::Linear, bool keep = false);
/// Several at once, along a new first dimension.
Value quantile(const Value& x, std::span<const double> qs, Dim dim, Between between = Between::Linear,
               bool keep = false);
Value nanquantile(const Value& x, std::span<const double> qs, Dim dim, Between between = Between::Linear,
                  bool keep = false);

/// The middle element of a line, the lower of two, and where it stands; quantile(x, 0.5, dim) is halfway between two.
ValueWithIndices median(const Value& x, Dim dim, bool keep = false);
ValueWithIndices nanmedian(const Value& x, Dim dim, bool keep = false);
/// Of all elements.
Value median(const Value& x);
Value nanmedian(const Value& x);

}  // namespace kiln
