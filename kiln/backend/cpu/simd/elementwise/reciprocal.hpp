// Division by a number that is the same for many: two multiplications whose sum is rounded as the quotient is.
#pragma once

namespace kiln::cpu::simd {

/// One by a number as the sum of two floats of its sign, such that x * high + x * low, rounded where a fused multiply-add
/// rounds, is the float nearest to the quotient for all |x| from `least` on. `high` is 0 where no such two are known.
struct Reciprocal {
  float high = 0, low = 0, least = 0;
  Reciprocal() = default;
  explicit Reciprocal(float number);
};

}  // namespace kiln::cpu::simd
