// Densities, moments, entropies and divergences against PyTorch's in float64; distribution functions against PyTorch's or
// SciPy's.
#include "tests/distribution/figures.hpp"

namespace kiln::distribution {
namespace {

/// All that P and PyTorch or SciPy have; `functions` counts them, so that none is forgotten.
template <class P, class X>
void expect_figures(const std::string& name, const P& p, const X& x, int functions) {
  int seen = 1;
  expect_figure(p.log_prob(x), name, "log_prob");
  if constexpr (requires { p.cdf(x); }) expect_figure(p.cdf(x), name, "cdf"), ++seen;
  if constexpr (requires { p.icdf(x); }) expect_figure(p.icdf(stored<2>(name + ".share")), name, "icdf"), ++seen;
  if constexpr (requires { p.mean(); }) expect_figure(p.mean(), name, "mean"), ++seen;
  if constexpr (requires { p.variance(); }) expect_figure(p.variance(), name, "variance"), ++seen;
  if constexpr (requires { p.entropy(); })
    if (stored_if_any(name + ".entropy")) expect_figure(p.entropy(), name, "entropy"), ++seen;
  EXPECT_EQ(seen, functions) << name;
}

TEST(Figures, OfTwoParameters) {
  const auto both = [](const std::string& name, auto make, int functions) {
    const auto p = make(parameter<1>(name, 0), parameter<1>(name, 1)), q = make(other<1>(name, 0), other<1>(name, 1));
    expect_figures(name, p, stored<2>(name + ".x"), functions);
    expect_figure(kl_divergence(p, q), name, "divergence");
  };
  both("normal", [](const Tensor<1>& a, const Tensor<1>& b) { return Normal(a, b); }, 6);
  both("log_normal", [](const Tensor<1>& a, const Tensor<1>& b) { return LogNormal(a, b); }, 6);
  both("uniform", [](const Tensor<1>& a, const Tensor<1>& b) { return Uniform(a, b); }, 6);
  both("laplace", [](const Tensor<1>& a, const Tensor<1>& b) { return Laplace(a, b); }, 6);
  both("gamma", [](const Tensor<1>& a, const Tensor<1>& b) { return Gamma(a, b); }, 5);
  both("beta", [](const Tensor<1>& a, const Tensor<1>& b) { return Beta(a, b); }, 5);
}

TEST(Figures, OfOneParameter) {
  const Exponential p(parameter<1>("exponential", 0));
  expect_figures("exponential", p, stored<2>("exponential.x"), 6);
  expect_figure(kl_divergence(p, Exponential(other<1>("exponential", 0))), "exponential", "divergence");
  const Dirichlet d(parameter<2>("dirichlet", 0));
  expect_figures("dirichlet", d, stored<3>("dirichlet.x"), 4);
  expect_figure(kl_divergence(d, Dirichlet(other<2>("dirichlet", 0))), "dirichlet", "divergence");
}

TEST(Figures, OfStudentT) {
  const StudentT p(parameter<1>("student_t", 0), parameter<1>("student_t", 1), parameter<1>("student_t", 2));
  expect_figures("student_t", p, stored<2>("student_t.x"), 5);
}

TEST(Figures, OfVectors) {
  const std::string name = "multivariate_normal";
  const MultivariateNormal p(parameter<2>(name, 0), parameter<3>(name, 1)), q(other<2>(name, 0), other<3>(name, 1));
  expect_figures(name, p, stored<3>(name + ".x"), 4);
  expect_figure(kl_divergence(p, q), name, "divergence");
  const auto same = MultivariateNormal<1>::of_covariance(p.location, p.covariance());
  expect_figure(same.log_prob(stored<3>(name + ".x")), name, "log_prob");
}

TEST(Figures, OfCounts) {
  const Bernoulli b(parameter<1>("bernoulli", 0));
  expect_figures("bernoulli", b, stored<2>("bernoulli.x"), 4);
  expect_figure(kl_divergence(b, Bernoulli(other<1>("bernoulli", 0))), "bernoulli", "divergence");
  expect_figure(Bernoulli<1>::of(b.probability()).log_prob(stored<2>("bernoulli.x")), "bernoulli", "log_prob");
  const Binomial n(9, parameter<1>("binomial", 0));
  expect_figures("binomial", n, stored<2>("binomial.x"), 5);
  expect_figure(kl_divergence(n, Binomial(9, other<1>("binomial", 0))), "binomial", "divergence");
  const Poisson p(parameter<1>("poisson", 0));
  expect_figures("poisson", p, stored<2>("poisson.x"), 4);
  expect_figure(kl_divergence(p, Poisson(other<1>("poisson", 0))), "poisson", "divergence");
}

TEST(Figures, OfClasses) {
  const Categorical p(parameter<2>("categorical", 0));
  expect_figure(p.log_prob(stored<2, Int>("categorical.x")), "categorical", "log_prob");
  expect_figure(p.entropy(), "categorical", "entropy");
  expect_figure(kl_divergence(p, Categorical(other<2>("categorical", 0))), "categorical", "divergence");
  const auto of_weights = Categorical<1>::of(p.probability() * 3.0);
  expect_figure(of_weights.log_prob(stored<2, Int>("categorical.x")), "categorical", "log_prob");
}

TEST(Figures, OfMixtures) {
  const std::string name = "mixture";
  const Mixture p(Categorical(parameter<2>(name, 0)), Normal(parameter<2>(name, 1), parameter<2>(name, 2)));
  expect_figures(name, p, stored<2>(name + ".x"), 4);
  const std::string vectors = "mixture_of_vectors";
  const Mixture v(Categorical(parameter<2>(vectors, 0)),
                  MultivariateNormal(parameter<3>(vectors, 1), parameter<4>(vectors, 2)));
  expect_figures(vectors, v, stored<3>(vectors + ".x"), 3);
}

TEST(Figures, OfTransformed) {
  const auto base = [](const std::string& name) { return Normal(parameter<1>(name, 0), parameter<1>(name, 1)); };
  const auto both = [](const std::string& name, const auto& p) { expect_figures(name, p, stored<2>(name + ".x"), 2); };
  both("tanh_of_normal", Transformed(base("tanh_of_normal"), Tanh{}));
  both("sigmoid_of_normal", Transformed(base("sigmoid_of_normal"), Sigmoid{}));
  both("exp_of_falling", Transformed(base("exp_of_falling"), Affine{0.5, -2.0}, Exp{}));
}

}  // namespace
}  // namespace kiln::distribution
