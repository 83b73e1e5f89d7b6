// All distributions: Normal, LogNormal, Uniform, Exponential, Laplace, Gamma, Beta, Dirichlet, StudentT,
// MultivariateNormal; Bernoulli, Binomial, Poisson, Categorical; Mixture and Transformed.
#pragma once
#include "kiln/distribution/bernoulli.hpp"
#include "kiln/distribution/categorical.hpp"
#include "kiln/distribution/exponential.hpp"
#include "kiln/distribution/gamma.hpp"
#include "kiln/distribution/kl_divergence.hpp"
#include "kiln/distribution/mixture.hpp"
#include "kiln/distribution/multivariate_normal.hpp"
#include "kiln/distribution/normal.hpp"
#include "kiln/distribution/poisson.hpp"
#include "kiln/distribution/sample.hpp"
#include "kiln/distribution/transformed.hpp"
#include "kiln/distribution/uniform.hpp"
