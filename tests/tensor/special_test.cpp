// The typed faces of special functions and of masked statistics give what the functions of Values give, in the rank and
// kind that their signatures say.
#include "kiln/tensor/special.hpp"

#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/masked.hpp"
#include "tests/support/devices.hpp"
#include "tests/tensor/same.hpp"

namespace kiln {
namespace {

using test::best;
Tensor<2> matrix() { return Tensor<2>::of({{0.25, 0.5, 0.75}, {0.3, 0.6, 0.9}}, best()); }
Tensor<1, Int> degrees() { return Tensor<1, Int>::of({0, 2, 5}, best()); }

TEST(Special, FunctionsAreThoseOfValues) {
  const auto x = matrix();
  const auto n = degrees();
#define KILN_SPECIAL_OF_1(Name, function, ...)          \
  static_assert(kIs<Tensor<2>, decltype(function(x))>); \
  EXPECT_TRUE(same(function(x), kiln::function(x.value()))) << #function;
#define KILN_SPECIAL_OF_2(Name, function, ...)                                          \
  static_assert(kIs<Tensor<2>, decltype(function(x, n))>);                              \
  EXPECT_TRUE(same(function(x, n), kiln::function(x.value(), n.value()))) << #function; \
  EXPECT_TRUE(same(function(x, 2), kiln::function(x.value(), 2))) << #function;         \
  EXPECT_TRUE(same(function(2.5, x), kiln::function(Value(2.5), x.value()))) << #function;
#define KILN_SPECIAL_OF_3(Name, function, ...)                 \
  static_assert(kIs<Tensor<2>, decltype(function(x, n, 24))>); \
  EXPECT_TRUE(same(function(x, n, 24), kiln::function(x.value(), n.value(), Value(24.0)))) << #function;
#include "kiln/ops/special/special.def"
  static_assert(kIs<Tensor<2>, decltype(betainc(2, n, x))>);
  EXPECT_TRUE(same(betainc(2, n + 1, x), kiln::betainc(Value(2), (n + 1).value(), x.value())));
  EXPECT_TRUE(same(entr(x), entr(x.value())));
  EXPECT_TRUE(same(mvlgamma(x + 2, 3), mvlgamma((x + 2).value(), 3)));
  EXPECT_TRUE(same(xlog1py(x, 2), xlog1py(x.value(), 2)));
  EXPECT_TRUE(same(logaddexp2(x, x), logaddexp2(x.value(), x.value())));
  EXPECT_TRUE(same(shifted_chebyshev_t(x, n), shifted_chebyshev_t(x.value(), n.value())));
  EXPECT_TRUE(same(shifted_chebyshev_u(x, n), shifted_chebyshev_u(x.value(), n.value())));
  EXPECT_TRUE(same(shifted_chebyshev_v(x, n), shifted_chebyshev_v(x.value(), n.value())));
  EXPECT_TRUE(same(shifted_chebyshev_w(x, n), shifted_chebyshev_w(x.value(), n.value())));
  EXPECT_TRUE(same(ldexp(x, n), ldexp(x.value(), n.value())));
  EXPECT_TRUE(same(nextafter(x, 1), nextafter(x.value(), 1)));
  const auto [mantissa, exponent] = frexp(x);
  EXPECT_TRUE(same(ldexp(mantissa, exponent), x));
  EXPECT_EQ(gcd(n, 10).to_vector(), (std::vector<std::int64_t>{10, 2, 5}));
  EXPECT_EQ(lcm(n, n + 1).to_vector(), (std::vector<std::int64_t>{0, 6, 30}));
}

TEST(FunctionsOfFloats, TakeIntegersAndBooleans) {
  const auto n = degrees();
  static_assert(kIs<Tensor<1>, decltype(n.exp())> && kIs<Tensor<1>, decltype(sqrt(n > 1))>);
  static_assert(kIs<Tensor<1>, decltype(atan2(n, n))> && kIs<Tensor<1>, decltype(hypot(2, n))>);
  static_assert(kIs<Tensor<1, Bool>, decltype(n.is_nan())> && kIs<Tensor<1, Int>, decltype(n.square())>);
  EXPECT_TRUE(same(n.exp(), kiln::exp(n.to_float().value())));
  EXPECT_TRUE(same((n > 1).sigmoid(), kiln::sigmoid((n > 1).to_float().value())));
  EXPECT_TRUE(same(hypot(2, n), kiln::hypot(Value(2), n.to_float().value())));
}

TEST(Masked, StatisticsAreThoseOfValues) {
  const auto x = matrix();
  const auto mask = degrees() > 1;
  const Value v = x.value(), m = mask.value();
  static_assert(kIs<Tensor<1>, decltype(masked_sum(x, mask, 0))> && kIs<Tensor<0>, decltype(masked_mean(x, mask))>);
  EXPECT_TRUE(same(masked_sum(x, mask), masked_sum(v, m, {0, 1})));
  EXPECT_TRUE(same(masked_prod(x, mask, 1), masked_prod(v, m, {1})));
  EXPECT_TRUE(same(masked_mean(x, mask, 1), masked_mean(v, m, {1})));
  EXPECT_TRUE(same(masked_max(x, mask, 0), masked_max(v, m, {0})));
  EXPECT_TRUE(same(masked_min(x, mask, 1), masked_min(v, m, {1})));
  EXPECT_TRUE(same(masked_logsumexp(x, mask, 1), masked_logsumexp(v, m, {1})));
  EXPECT_TRUE(same(masked_var(x, mask, 1), masked_var(v, m, {1})));
  EXPECT_TRUE(same(masked_std(x, mask, 1), masked_std(v, m, {1})));
  EXPECT_TRUE(same(masked_std(x, mask, biased, 1), masked_std(v, m, {1}, 0)));
  EXPECT_TRUE(same(masked_norm(x, mask, 3, 1), masked_norm(v, m, 3, {1})));
  EXPECT_TRUE(same(masked_median(x, mask, 1), masked_median(v, m, 1)));
  EXPECT_TRUE(same(masked_argmax(x, mask, 1), masked_argmax(v, m, 1)));
  EXPECT_TRUE(same(masked_argmin(x, mask, 1), masked_argmin(v, m, 1)));
  EXPECT_TRUE(same(masked_softmax(x, mask, 1), masked_softmax(v, m, 1)));
  EXPECT_TRUE(same(masked_softmin(x, mask, 1), masked_softmin(v, m, 1)));
  EXPECT_TRUE(same(masked_log_softmax(x, mask, 1), masked_log_softmax(v, m, 1)));
  EXPECT_TRUE(same(masked_normalize(x, mask), masked_normalize(v, m)));
  EXPECT_TRUE(same(masked_cumsum(x, mask, 1), masked_cumsum(v, m, 1)));
  EXPECT_TRUE(same(masked_cumprod(x, mask, 1), masked_cumprod(v, m, 1)));
}

}  // namespace
}  // namespace kiln
