#include "kiln/distribution/bernoulli.hpp"
#include "kiln/ops/create/create.hpp"

namespace kiln::distribution {

/// The i-th smallest of n uniform numbers follows Beta(i, n + 1 - i). If it is above p, all successes are among the
/// smaller ones; else these i are successes, and the others are left. Each step halves what is left (Relles, "A simple
/// algorithm for generating binomial random variables when N is large", 1972).
Value binomial_draw(std::int64_t trials, const Value& probability, const RandomKey& key) {
  const DType dtype = probability.dtype();
  Value p = cast(probability, DType::F64);
  const Value valid = logical_and(ge(p, 0), le(p, 1));
  p = where(valid, p, 0.5);
  Value left = full_like(p, static_cast<double>(trials));
  Value successes = zeros_like(left);
  std::uint64_t step = 0;
  for (std::int64_t most = trials; most > 0; most /= 2, ++step) {
    const Value at = floor(left * 0.5) + 1.0;
    const Value has = gt(left, 0);
    const Value drawn = beta(at, where(has, left + 1.0 - at, 1.0), key_part(key, step));
    const Value below = le(drawn, p);
    // below: `at` successes, and left - at numbers in (drawn, 1); above: at - 1 numbers in (0, drawn).
    successes = successes + where(logical_and(has, below), at, 0.0);
    const Value share = where(below, (p - drawn) / (1.0 - drawn), p / drawn);
    p = clamp(where(is_nan(share), 0.5, share), 0.0, 1.0);
    left = where(has, where(below, left - at, at - 1.0), 0.0);
  }
  return cast(where(valid, successes, kNan), dtype);
}

}  // namespace kiln::distribution
