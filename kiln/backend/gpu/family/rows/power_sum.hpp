// The sum of exp(x) over some dimensions, safe for large x, in one pass: a thread keeps the largest element so far, and
// the sum of exponentials relative to it.
#pragma once
#include <cmath>

#include "kiln/backend/gpu/family/rows/folding.hpp"

namespace kiln::gpu::family {

/// A state is the largest element, and the sum of exp(x - largest); numbers are of `type`.
inline Folding power_sum(Builder& k, DType type) {
  const auto smaller = [&k, type](const Expr& x) { return k.call("exp", type, {x}); };
  return {.nothing = [&k, type] { return Exprs{k.literal(type, -HUGE_VAL), k.literal(type, 0)}; },
          .add =
              [smaller](const Exprs& state, const Exprs& element, const Expr&) {
                const Expr &x = element[0], &most = state[0];
                const Expr far = x - most;
                // Minus infinity adds nothing; the difference of two of them would be NaN.
                const Expr power = select(x == -HUGE_VAL, like(x, 0.0), smaller(min(far, -far)));
                return Exprs{select(far > 0, x, most), select(far > 0, state[1] * power + 1.0, state[1] + power)};
              },
          .merge =
              [smaller](const Exprs& x, const Exprs& y) {
                const Expr most = max(x[0], y[0]);
                const auto part = [&](const Exprs& each) {
                  return select(each[0] == -HUGE_VAL, each[1], each[1] * smaller(each[0] - most));
                };
                return Exprs{most, part(x) + part(y)};
              }};
}
/// The sum for use in a quotient: NaN if an element is infinite, or all are minus infinity.
inline Expr counted(const Exprs& state) { return state[1] + (state[0] - state[0]); }

}  // namespace kiln::gpu::family
