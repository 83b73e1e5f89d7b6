// Numbers outside the support, parameters without meaning, and calls that are refused.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/distribution.hpp"
#include "kiln/tensor/gradient.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::distribution {
namespace {

using test::best;

Tensor<1> list(std::initializer_list<double> numbers) { return Tensor<1>::of(numbers, best(), DType::F64); }
std::vector<double> numbers(const Tensor<1>& x) { return x.to_vector<double>(); }

/// Minus infinity at each x, and a gradient of 0 for the parameter and the number.
template <class Make>
void expect_outside(Make make, std::initializer_list<double> outside) {
  const Tensor<1> leaf = list({0.5}).to_device(test::autodiff).require_grad();
  const Tensor<1> x = list(outside).to_device(test::autodiff).require_grad();
  const Tensor<1> log_prob = make(leaf).log_prob(x);
  for (const double number : numbers(log_prob)) EXPECT_EQ(number, -kInfinity);
  const auto [by_leaf, by_x] = grad(log_prob.sum(), std::tie(leaf, x));
  EXPECT_EQ(numbers(by_leaf), std::vector<double>{0});
  EXPECT_EQ(numbers(by_x), std::vector<double>(outside.size()));
  EXPECT_TRUE(std::isnan(numbers(make(leaf).log_prob(list({kNan})))[0]));
}

TEST(Support, HasNoDensityOutside) {
  using T = Tensor<1>;
  expect_outside([](const T& p) { return LogNormal(p, p); }, {0, -1});
  expect_outside([](const T& p) { return Uniform(p, 1.0); }, {0.4, 1, 2});
  expect_outside([](const T& p) { return Exponential(p); }, {-0.1, -3});
  expect_outside([](const T& p) { return Gamma(p, p); }, {0, -1});
  expect_outside([](const T& p) { return Beta(p, p); }, {0, 1, -1, 2});
  expect_outside([](const T& p) { return Bernoulli(p); }, {0.5, 2, -1});
  expect_outside([](const T& p) { return Binomial(3, p); }, {0.5, 4, -1});
  expect_outside([](const T& p) { return Poisson(p); }, {0.5, -1, kInfinity});
  expect_outside([](const T& p) { return Transformed(Normal(p, p), Exp{}); }, {0, -1});
  expect_outside([](const T& p) { return Transformed(Normal(p, p), Affine{1.0, -2.0}, Sigmoid{}); }, {0, 1, -3, 7});
  expect_outside([](const T& p) { return Transformed(Normal(p, p), Tanh{}); }, {-1, 1, 4});
  const Dirichlet shares(list({1, 2, 3}));
  for (const auto& x : {list({0.5, 0.5, 0}), list({0.5, 0.5, 0.5}), list({1.5, -1, 0.5})})
    EXPECT_EQ(shares.log_prob(x).item<double>(), -kInfinity);
}

TEST(Support, ADistributionFunctionIsZeroBelowAndOneAbove) {
  const auto expect = [](const auto& p, double below, double above) {
    EXPECT_EQ(numbers(p.cdf(list({below}))), std::vector<double>{0});
    EXPECT_EQ(numbers(p.cdf(list({above}))), std::vector<double>{1});
    EXPECT_TRUE(std::isnan(numbers(p.cdf(list({kNan})))[0]));
  };
  const Tensor<1> one = list({1});
  expect(LogNormal(one, one), -1, kInfinity);
  expect(Uniform(one, 2.0), 0, 3);
  expect(Exponential(one), -1, kInfinity);
  expect(Gamma(one, one), -1, kInfinity);
  expect(Beta(one, 2.0), -1, 2);
  expect(StudentT(one, 0.0, 1.0), -kInfinity, kInfinity);
  expect(Poisson(one), -1, 1000);
  expect(Binomial(7, one), -1, 7);
  expect(Binomial(0, one), -1, 0);
  expect(Transformed(Normal(one, one), Exp{}), 0, kInfinity);
  expect(Transformed(Normal(one, one), Tanh{}), -2, 1);
  expect(Transformed(Normal(one, one), Affine{0.0, -1.0}, Sigmoid{}), -1, 2);
}

TEST(Support, StudentsDistributionFunctionKeepsItsDigits) {
  // With one degree of freedom it is that of Cauchy, 1/2 + atan(t) / pi, with two 1/2 + t / (2 sqrt(2 + t^2)).
  const Tensor<1> t = Tensor<1>::of({-1e6f, -20.0f, -1.0f, -1e-5f, 0.0f, 1e-5f, 1.0f, 1e6f}, test::cpu);
  const std::vector<float> one = StudentT(t * 0 + 1, 0.0, 1.0).cdf(t).to_vector(),
                           two = StudentT(t * 0 + 2, 0.0, 1.0).cdf(t).to_vector();
  const std::vector<float> at = t.to_vector();
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double x = at[i], cauchy = std::atan2(1, -x) / M_PI;
    EXPECT_NEAR(one[i] / cauchy, 1, 3e-7) << x;
    const double root = std::sqrt(2 + x * x), both = x < 0 ? 1 / (root * (root - x)) : 0.5 + x / (2 * root);
    EXPECT_NEAR(two[i] / both, 1, 3e-7) << x;
  }
}

TEST(Support, QuantilesAreNumbersOfShares) {
  const Tensor<1> one = list({1}), wrong = list({-0.5, 1.5, kNan});
  const auto expect = [&](const auto& p, double at_zero, double at_one) {
    EXPECT_EQ(numbers(p.icdf(list({0, 1}))), (std::vector<double>{at_zero, at_one}));
    for (const double number : numbers(p.icdf(wrong))) EXPECT_TRUE(std::isnan(number));
  };
  expect(Normal(one, one), -kInfinity, kInfinity);
  expect(LogNormal(one, one), 0, kInfinity);
  expect(Uniform(one, 3.0), 1, 3);
  expect(Exponential(one), 0, kInfinity);
  expect(Laplace(one, one), -kInfinity, kInfinity);
}

TEST(Support, CertainOutcomesHaveAProbabilityOfOne) {
  const auto p = Bernoulli<1>::of(list({0, 1}));
  EXPECT_EQ(numbers(p.log_prob(list({0, 1}))), (std::vector<double>{0, 0}));
  EXPECT_EQ(numbers(p.entropy()), (std::vector<double>{0, 0}));
  for (const double number : numbers(Binomial<1>::of(7, list({0, 1})).log_prob(list({0, 7}))))
    EXPECT_NEAR(number, 0, 1e-14);
  EXPECT_EQ(numbers(sample(Binomial<1>::of(7, list({0, 1})), Key{3})), (std::vector<double>{0, 7}));
  EXPECT_EQ(numbers(Poisson(list({0})).log_prob(list({0}))), std::vector<double>{0});
  EXPECT_EQ(Categorical<0>::of(list({0, 5})).entropy().item<double>(), 0);
  EXPECT_EQ(numbers(kl_divergence(p, p)), (std::vector<double>{0, 0}));
  EXPECT_EQ(numbers(kl_divergence(Poisson(list({0})), Poisson(list({2})))), std::vector<double>{2});
  EXPECT_EQ(numbers(kl_divergence(Uniform(list({0}), 2.0), Uniform(list({0}), 1.0))), std::vector<double>{kInfinity});
}

TEST(Support, AParameterWithoutMeaningGivesNaN) {
  const Tensor<1> x = list({1}), bad = list({-0.5});
  const auto expect = [&](const auto& p) {
    EXPECT_TRUE(std::isnan(numbers(p.log_prob(x))[0]));
    EXPECT_TRUE(std::isnan(numbers(sample(p, Key{1}))[0]));
  };
  expect(Normal(x, bad));
  expect(LogNormal(x, bad));
  expect(Laplace(x, bad));
  expect(Exponential(bad));
  expect(Gamma(bad, x));
  expect(Gamma(x, bad));
  expect(StudentT(bad, x, x));
  expect(Poisson(bad));
  expect(Bernoulli<1>::of(bad));
  expect(Binomial<1>::of(3, bad));
  EXPECT_TRUE(std::isnan(numbers(Uniform(x, bad).entropy())[0]));
  EXPECT_TRUE(std::isnan(numbers(Beta(bad, x).entropy())[0]));
}

TEST(Support, RefusesWhatFitsNothing) {
  const Tensor<1> three = list({1, 2, 3}), two = list({1, 2});
  EXPECT_EQ(sentence_of([&] { return Normal(three, two); }),
            "ShapeError: Normal: [3] and [2] do not broadcast: 3 and 2 differ in dimension -1");
  EXPECT_EQ(sentence_of([&] { return Normal(Tensor<1>(), 1.0); }),
            "ArgumentError: Normal: a parameter is an empty tensor");
  EXPECT_EQ(sentence_of([&] { return Binomial(-1, two); }),
            "ArgumentError: Binomial: -1 trials; the number must not be negative");
  EXPECT_EQ(sentence_of([&] { return sample(Normal(two, 1.0), -1); }),
            "ArgumentError: sample: cannot draw -1 samples; the number must not be negative");
  EXPECT_EQ(sentence_of([&] { return MultivariateNormal(three, Tensor<2>::of({{1, 0}, {0, 1}}, best())); }),
            "ShapeError: MultivariateNormal: locations [3] need factors [..., 3, 3], got [2, 2]");
  EXPECT_EQ(sentence_of([&] { return Mixture(Categorical(two), Normal(three, 1.0)); }),
            "ShapeError: Mixture: weights [2] need components of that batch, got [3]");
  EXPECT_EQ(sentence_of([&] { return kl_divergence(Binomial(3, two), Binomial(4, two)); }),
            "ArgumentError: kl_divergence: distributions of 3 and of 4 trials have no divergence in closed form; "
            "average log_prob over samples");
}

}  // namespace
}  // namespace kiln::distribution
