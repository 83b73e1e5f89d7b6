// Checks of the arguments of losses, and their weights.
#pragma once
#include "kiln/ops/check.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {

inline void require_alike(std::string_view name, const Value& x, const Value& target) {
  op::require_float(name, x);
  op::require_tensor(name, target);
  require<ShapeError>(x.shape() == target.shape(), name, ": ", x.shape(), " and ", target.shape(), " differ");
}
inline void require_unit(std::string_view name, std::string_view what, double share) {
  require<ArgumentError>(share >= 0 && share <= 1, name, ": ", what, " must lie between 0 and 1, got ", share);
}
inline void require_not_negative(std::string_view name, std::string_view what, double number) {
  require<ArgumentError>(number >= 0, name, ": ", what, " must not be negative, got ", number);
}

/// weights * x, but 0 where a weight of 0 is multiplied by an infinity, as in 0 log 0 = 0: an impossible event has no
/// weight.
inline Value weighed(const Value& weights, const Value& x) {
  return weights * where(logical_and(eq(weights, 0), is_inf(x)), 0.0, x);
}

}  // namespace kiln
