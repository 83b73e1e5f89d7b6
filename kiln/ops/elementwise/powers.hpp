// Roots and powers for lengths and deviations. At 0, where they have no slope, their slope is taken to be 0.
#pragma once
#include <limits>

#include "kiln/ops/functions.hpp"

namespace kiln {

/// root(total), and 0 where total is 0.
template <class Root>
Value root_or_zero(const Value& total, Root root) {
  const Value zero = eq(total, 0);
  return where(zero, 0, root(where(zero, 1, total)));
}
inline Value sqrt_or_zero(const Value& total) {
  return root_or_zero(total, [](const Value& x) { return sqrt(x); });
}

/// |x|^p for p other than 0; infinite at 0 where p is negative.
inline Value power_of_size(const Value& x, double p) {
  const Value zero = eq(x, 0);
  return where(zero, p > 0 ? 0 : std::numeric_limits<double>::infinity(), pow(where(zero, 1, abs(x)), p));
}

}  // namespace kiln
