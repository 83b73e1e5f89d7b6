// Gradients of densities, divergences and samples against central differences, and of Gamma samples against figures.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/core/config/config.hpp"
#include "kiln/distribution.hpp"
#include "kiln/distribution/gamma_path.hpp"
#include "kiln/tensor/gradient.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::distribution {
namespace {

Tensor<1> leaf(std::initializer_list<double> numbers) {
  return Tensor<1>::of(numbers, test::autodiff, DType::F64).require_grad();
}

/// The gradient of f, a function of a list to any tensor, against central differences of the sum of its elements.
template <class F>
void expect_slope(const char* name, std::initializer_list<double> at, F f) {
  const Tensor<1> x = leaf(at);
  const std::vector<double> gradient = grad(f(x), x).template to_vector<double>();
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto moved = [&](double step) {
      std::vector<double> numbers(at);
      numbers[i] += step;
      const Tensor<1> moved_x = Tensor<1>::of(numbers, test::cpu);
      return kiln::sum(f(moved_x).value()).item();
    };
    const double slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
    EXPECT_NEAR(gradient[i], slope, 2e-7 * std::max(1.0, std::abs(slope))) << name << ", parameter " << i;
  }
}

/// Parameter i of a list, as a tensor of rank 0.
Tensor<0> at(const Tensor<1>& list, int i) { return Typed{kiln::at(list.value(), 0, i)}; }

template <class Make>
void expect_density_slopes(const char* name, std::initializer_list<double> parameters, double x, Make make) {
  const Tensor<0> number = full({}, x, test::cpu, DType::F64);
  expect_slope(name, parameters, [&](const Tensor<1>& p) { return make(p).log_prob(number); });
  if constexpr (requires(const Tensor<1> p) { make(p).entropy(); })
    expect_slope(name, parameters, [&](const Tensor<1>& p) { return make(p).entropy(); });
  expect_slope(name, {x}, [&](const Tensor<1>& at_x) {
    return make(Tensor<1>::of(std::vector<double>(parameters), test::cpu)).log_prob(at_x);
  });
}

TEST(Slopes, OfDensitiesAndEntropies) {
  expect_density_slopes("normal", {0.3, 1.7}, 1.1, [](auto p) { return Normal(at(p, 0), at(p, 1)); });
  expect_density_slopes("log_normal", {0.3, 1.7}, 1.1, [](auto p) { return LogNormal(at(p, 0), at(p, 1)); });
  expect_density_slopes("exponential", {0.3}, 1.1, [](auto p) { return Exponential(at(p, 0)); });
  expect_density_slopes("laplace", {0.3, 1.7}, 1.1, [](auto p) { return Laplace(at(p, 0), at(p, 1)); });
  expect_density_slopes("gamma", {0.3, 1.7}, 1.1, [](auto p) { return Gamma(at(p, 0), at(p, 1)); });
  expect_density_slopes("beta", {0.3, 1.7}, 0.6, [](auto p) { return Beta(at(p, 0), at(p, 1)); });
  expect_density_slopes("student_t", {3, 0.3, 1.7}, 1.1, [](auto p) { return StudentT(at(p, 0), at(p, 1), at(p, 2)); });
  expect_density_slopes("mixture", {0.3, 1.7, -1}, 1.1,
                        [](const Tensor<1>& p) { return Mixture(Categorical(p), Normal(p, 0.8)); });
  expect_density_slopes("transformed", {0.3, 1.7}, 0.4,
                        [](auto p) { return Transformed(Normal(at(p, 0), at(p, 1)), Affine{at(p, 1), -1.5}, Tanh{}); });
}

TEST(Slopes, OfDistributionFunctionsAreDensities) {
  const auto expect = [](const auto& p, std::initializer_list<double> numbers) {
    const Tensor<1> x = leaf(numbers);
    const std::vector<double> slope = grad(p.cdf(x), x).template to_vector<double>(),
                              density = p.log_prob(x.detach()).exp().template to_vector<double>();
    for (std::size_t i = 0; i < slope.size(); ++i) EXPECT_NEAR(slope[i], density[i], 1e-12) << i;
  };
  const Tensor<0> two = full({}, 2.0, test::cpu, DType::F64);
  expect(Beta(two, 0.5), {0.01, 0.5, 0.99});
  expect(Beta(two, 1.0), {-1, 0.25, 2});
  for (const double freedom : {0.7, 1.0, 2.0, 30.0})
    expect(StudentT(freedom, two, 3.0), {-40, 1.9, 2, 2 + 1e-9, 5, 1000});
  expect(Beta(0.5, full({}, 0.7, test::cpu, DType::F64)), {0.5, 1e-3});
  expect(Laplace(two, 3.0), {-4, 2, 2 + 1e-9, 7});
  const Tensor<1> outside = leaf({-0.1, 1.1});
  EXPECT_EQ(grad(Beta(0.5, full({}, 0.5, test::cpu, DType::F64)).cdf(outside), outside).to_vector<double>(),
            (std::vector<double>{0, 0}));
  const Tensor<1> median = leaf({0.5, 0.25});
  const std::vector<double> quantile_slope = grad(Laplace(two, 3.0).icdf(median), median).to_vector<double>();
  EXPECT_NEAR(quantile_slope[0], 6, 1e-12);
  EXPECT_NEAR(quantile_slope[1], 12, 1e-12);
  const Tensor<1> half = Tensor<1>::of({0}, test::autodiff, DType::F16).require_grad();
  EXPECT_NEAR(grad(StudentT(2.0, half.detach() * 0, 1.0).cdf(half), half).to(DType::F32).to_vector()[0], 0.3536, 1e-3);
  expect_slope("binomial", {-3, 0.25, 4}, [](const Tensor<1>& p) {
    return Binomial(9, p).cdf(Tensor<2>::of({{-1, 0, 3}, {2.5, 8, 9}}, test::cpu).to(DType::F64));
  });
  EXPECT_EQ(sentence_of([&] {
              const Tensor<1> a = leaf({1, 2});
              grad(Beta(a, 2.0).cdf(full({}, 0.5, test::cpu, DType::F64)), a);
            }),
            "AutodiffError: betainc: has no gradient with respect to its first operand");
}

TEST(Slopes, OfDivergences) {
  const Tensor<0> one = full({}, 1.0, test::cpu, DType::F64);
  expect_slope("gamma", {0.7, 2, 3, 0.5},
               [](const Tensor<1>& p) { return kl_divergence(Gamma(at(p, 0), at(p, 1)), Gamma(at(p, 2), at(p, 3))); });
  expect_slope("categorical", {0.7, 2, 3},
               [](const Tensor<1>& p) { return kl_divergence(Categorical(p), Categorical(p * p)); });
  expect_slope("normal", {0.7, 2},
               [&](const Tensor<1>& p) { return kl_divergence(Normal(at(p, 0), at(p, 1)), Normal(one, one)); });
}

TEST(Slopes, OfSamplesThatAreFunctionsOfTheirParameters) {
  const Key key{4};
  expect_slope("normal", {0.3, 1.7}, [&](auto p) { return rsample(Normal(at(p, 0), at(p, 1)), 9, key); });
  expect_slope("log_normal", {0.3, 0.7}, [&](auto p) { return rsample(LogNormal(at(p, 0), at(p, 1)), 9, key); });
  expect_slope("uniform", {0.3, 1.7}, [&](auto p) { return rsample(Uniform(at(p, 0), at(p, 1)), 9, key); });
  expect_slope("exponential", {0.3}, [&](auto p) { return rsample(Exponential(at(p, 0)), 9, key); });
  expect_slope("laplace", {0.3, 1.7}, [&](auto p) { return rsample(Laplace(at(p, 0), at(p, 1)), 9, key); });
  expect_slope("rate of gamma", {1.7}, [&](auto p) { return rsample(Gamma(2.0, at(p, 0)), 9, key); });
  expect_slope("multivariate_normal", {1, 2, 0.5}, [&](const Tensor<1>& p) {
    const Tensor<2> rows = p.unsqueeze(0).expand(3, 3);
    return rsample(MultivariateNormal(p, rows), 9, key);
  });
  expect_slope("transformed", {0.3, 1.7}, [&](auto p) {
    return rsample(Transformed(Normal(at(p, 0), at(p, 1)), Sigmoid{}, Affine{at(p, 0), at(p, 1)}), 9, key);
  });
}

struct GammaFigure {
  double a, x, slope;
};
struct GammaFigures {
  std::string made_with;
  std::vector<GammaFigure> figures;
};

TEST(GammaPath, KeepsASampleAtItsQuantile) {
  const auto stored = load_config<GammaFigures>(KILN_SOURCE_DIR "/tests/distribution/gamma_figures.json");
  ASSERT_GT(stored.figures.size(), 30u);
  for (const auto& [a, x, slope] : stored.figures) {
    const auto of = [](double number) { return full({}, number, test::cpu, DType::F64).value(); };
    EXPECT_NEAR(log_gamma_slope(of(a), of(x)).item() / slope, 1, 1e-8) << a << " " << x;
  }
}

/// The derivative of the expectation of f(x) is the mean of those of f at samples: within five standard errors.
template <class Make, class F>
void expect_mean_slope(const char* name, double parameter, double expected, Make make, F f) {
  constexpr std::int64_t kCount = 20000;
  const Tensor<1> p = Tensor<1>::of(std::vector<double>(kCount, parameter), test::autodiff).require_grad();
  const Tensor<1> slopes = grad(f(rsample(make(p), Key{8})), p);
  const double error = slopes.var().sqrt().item<double>() / std::sqrt(double(kCount));
  EXPECT_LT(std::abs(slopes.mean().item<double>() - expected), 5 * error) << name << " " << parameter;
  EXPECT_LT(error, 0.05 * std::max(1.0, std::abs(expected))) << name << " " << parameter;
}

TEST(GammaPath, HasTheSlopesOfExpectations) {
  const auto itself = [](const Tensor<1>& x) { return x; };
  const auto square = [](const Tensor<1>& x) { return x.square(); };
  for (const double a : {0.02, 0.4, 1.0, 3.0, 200.0}) {
    // E x = a, E log x = digamma(a)
    expect_mean_slope("gamma", a, 1, [](auto p) { return Gamma(p, 1.0); }, itself);
    // E x^2 = a (a + 1) / ((a + b) (a + b + 1)) with b = 2, by the quotient rule
    const double s = a + 2, top = a * (a + 1), bottom = s * (s + 1);
    const double slope = ((2 * a + 1) * bottom - top * (2 * s + 1)) / (bottom * bottom);
    expect_mean_slope("beta", a, slope, [](auto p) { return Beta(p, 2.0); }, square);
  }
  // The variance of Student's distribution is f / (f - 2), of which the derivative is -2 / (f - 2)^2.
  expect_mean_slope("student_t", 9, -2.0 / 49, [](auto p) { return StudentT(p, 0.0, 1.0); }, square);
}

TEST(GammaPath, DirichletIsBetaInItsShares) {
  const Tensor<1> p = leaf({0.5, 2, 4});
  const Tensor<2> x = rsample(Dirichlet(p), 20000, Key{2});
  const std::vector<double> slope = grad(at(x.mean(0), 0), p).to_vector<double>();
  const double total = 6.5;  // E x0 = p0 / total
  EXPECT_NEAR(slope[0], (total - 0.5) / (total * total), 0.01);
  EXPECT_NEAR(slope[1], -0.5 / (total * total), 0.01);
  EXPECT_NEAR(slope[2], -0.5 / (total * total), 0.01);
}

TEST(GammaPath, RefusesASecondDerivativeByTheConcentration) {
  const Tensor<1> p = leaf({2});
  const Tensor<1> first = grad(rsample(Gamma(p, 1.0), Key{1}).sum(), p, {.create_graph = true});
  EXPECT_EQ(sentence_of([&] { return grad(first.sum(), p); }),
            "AutodiffError: rsample: a sample of the Gamma, Beta, Dirichlet or StudentT distribution has a first "
            "derivative by its concentration, and no second; detach() the concentration or the gradient");
}

TEST(GammaPath, DiscreteSamplesAreNotTracked) {
  EXPECT_FALSE(sample(Poisson(leaf({2})), Key{1}).tracked());
  EXPECT_FALSE(sample(Normal(leaf({2}), 1.0), Key{1}).tracked());
  EXPECT_FALSE(sample(Binomial(3, leaf({2})), Key{1}).tracked());
}

}  // namespace
}  // namespace kiln::distribution
