// Samples: their shapes, their moments and distribution functions, and that a key repeats them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kiln/distribution.hpp"

#include "tests/support/devices.hpp"

namespace kiln::distribution {
namespace {

using test::best;

constexpr std::int64_t kCount = 20000;

Tensor<1> list(std::initializer_list<double> numbers) { return Tensor<1>::of(numbers, best(), DType::F64); }

/// Mean and variance of the samples lie within five standard errors of those of p; the error of a variance is that of
/// the squares, estimated from the samples.
template <class P>
void expect_moments(const char* name, const P& p) {
  const auto x = sample(p, kCount, Key{11});
  const auto away = x - p.mean();
  const auto squares = away.square();
  const auto mean_error = squares.mean(0).sqrt() / std::sqrt(double(kCount));
  const auto variance_error = squares.var(0).sqrt() / std::sqrt(double(kCount));
  EXPECT_LT(((x.mean(0) - p.mean()).abs() / mean_error).max().template item<double>(), 5) << name;
  EXPECT_LT(((squares.mean(0) - p.variance()).abs() / variance_error).max().template item<double>(), 5) << name;
}

TEST(Samples, HaveTheMomentsOfTheirDistribution) {
  const Tensor<1> a = list({0.3, 1, 2.5, 30}), b = list({2, 0.5, 3, 1});
  expect_moments("normal", Normal(a, b));
  expect_moments("log_normal", LogNormal(b, 0.5));
  expect_moments("uniform", Uniform(-b, a));
  expect_moments("exponential", Exponential(a));
  expect_moments("laplace", Laplace(a, b));
  expect_moments("gamma", Gamma(a, b));
  expect_moments("beta", Beta(a, b));
  expect_moments("student_t", StudentT(b + 6, a, b));
  expect_moments("dirichlet", Dirichlet(Tensor<2>::of({{0.2, 1, 3}, {40, 0.01, 2}}, best(), DType::F64)));
  expect_moments("bernoulli", Bernoulli(list({-2, 0.3, 3})));
  for (const std::int64_t trials : {1, 2, 7, 1000, 1000000})
    expect_moments("binomial", Binomial<1>::of(trials, list({0.02, 0.4, 0.9})));
  expect_moments("poisson", Poisson(list({0.1, 3, 50})));
  expect_moments("multivariate_normal",
                 MultivariateNormal(a, Tensor<2>::of({{1, 9, 9, 9}, {0.5, 2, 9, 9}, {-1, 0, 1, 9}, {0, 0, 3, 0.1}},
                                                     best(), DType::F64)));
  const Categorical weights(Tensor<2>::of({{0, 1}, {2, -1}}, best(), DType::F64));
  expect_moments("mixture", Mixture(weights, Normal(Tensor<2>::of({{-3, 4}, {1, 2}}, best(), DType::F64), 0.5)));
  expect_moments("mixture of vectors",
                 Mixture(weights, Dirichlet(Tensor<3>::of({{{1, 2, 3}, {9, 1, 1}}, {{0.5, 0.5, 9}, {1, 1, 1}}}, best(),
                                                          DType::F64))));
}

/// Kolmogorov's distance between the samples and the distribution function, in units of its standard error: above 2.2
/// in one of 15,000 cases.
template <class P>
void expect_follows(const char* name, const P& p) {
  std::vector<double> shares = p.cdf(sample(p, kCount, Key{5})).template to_vector<double>();
  std::sort(shares.begin(), shares.end());
  double most = 0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    most = std::max(most, std::abs(shares[i] - (double(i) + 0.5) / double(shares.size())));
  EXPECT_LT(most * std::sqrt(double(shares.size())), 2.2) << name;
}

TEST(Samples, FollowTheirDistributionFunction) {
  const Tensor<0> two = full({}, 2.0, best(), DType::F64);
  expect_follows("normal", Normal(two, 3.0));
  expect_follows("log_normal", LogNormal(two, 3.0));
  expect_follows("uniform", Uniform(two, 3.0));
  expect_follows("exponential", Exponential(two));
  expect_follows("laplace", Laplace(two, 3.0));
  for (const double concentration : {0.05, 0.7, 1.0, 4.0, 5000.0})
    expect_follows("gamma", Gamma(full({}, concentration, best(), DType::F64), 2.0));
  expect_follows("beta", Beta(two, 0.6));
  expect_follows("student_t", StudentT(two, 1.0, 3.0));
  expect_follows("transformed", Transformed(Laplace(two, 0.5), Affine{1.0, -0.7}, Tanh{}));
}

/// The share of each number against its probability, by the chi-squared statistic per degree of freedom.
template <class P>
void expect_probabilities(const char* name, const P& p, int most) {
  const std::vector<double> x = sample(p, kCount, Key{9}).template to_vector<double>();
  double statistic = 0;
  int degrees = 0;
  for (int k = 0; k <= most; ++k) {
    const double expected =
        std::exp(p.log_prob(full({}, double(k), best(), DType::F64)).template item<double>()) * double(kCount);
    if (expected < 5) continue;
    const double seen = double(std::count(x.begin(), x.end(), double(k)));
    statistic += (seen - expected) * (seen - expected) / expected, ++degrees;
  }
  EXPECT_GT(degrees, 2) << name;
  EXPECT_LT(statistic, degrees + 5 * std::sqrt(2.0 * degrees)) << name;
}

TEST(Samples, OfCountsHaveTheirProbabilities) {
  expect_probabilities("binomial", Binomial<0>::of(11, full({}, 0.3, best(), DType::F64)), 11);
  expect_probabilities("large binomial", Binomial<0>::of(64, full({}, 0.9, best(), DType::F64)), 64);
  expect_probabilities("poisson", Poisson(full({}, 6.0, best(), DType::F64)), 30);
  const Categorical classes(list({0, 1, -1, 2}));
  const std::vector<std::int64_t> x = sample(classes, kCount, Key{2}).to_vector();
  const std::vector<double> expected = classes.probability().to_vector<double>();
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(double(std::count(x.begin(), x.end(), std::int64_t(k))) / double(kCount), expected[k], 0.02) << k;
}

TEST(Samples, HaveTheShapeOfTheBatchBehindTheirNumber) {
  const Normal p(Tensor<2>::of({{1}, {2}}, best()), list({1, 2, 3}));
  EXPECT_EQ(sample(p).shape(), (Shape{2, 3}));
  EXPECT_EQ(rsample(p, 4).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(sample(p, 0).shape(), (Shape{0, 2, 3}));
  EXPECT_EQ(sample(Dirichlet(list({1, 2, 3})), 5).shape(), (Shape{5, 3}));
  static_assert(std::is_same_v<decltype(sample(Categorical(Tensor<3>()), 2)), Tensor<3, Int>>);
  static_assert(!Reparameterized<Poisson<1>> && Reparameterized<Beta<0>>);
}

TEST(Samples, AreRepeatedByTheirKey) {
  const Gamma p(list({0.5, 3}), 1.0);
  EXPECT_EQ(sample(p, Key{3}).to_vector<double>(), sample(p, Key{3}).to_vector<double>());
  EXPECT_NE(sample(p, Key{3}).to_vector<double>(), sample(p, Key{4}).to_vector<double>());
  Generator generator(1), same(1);
  EXPECT_EQ(sample(p, 2, generator).to_vector<double>(), sample(p, 2, same).to_vector<double>());
  EXPECT_NE(sample(p, 2, generator).to_vector<double>(), sample(p, 2, Generator(1)).to_vector<double>());
}

}  // namespace
}  // namespace kiln::distribution
