// Samples of the Gamma distribution through which gradients flow to its concentration.
#pragma once
#include "kiln/distribution/parts.hpp"

namespace kiln::distribution {

/// The logarithm of a sample of the Gamma distribution with rate 1, which does not underflow for small concentrations.
/// The derivative by a concentration a >= 1 is that of the a-quantile that the sample is: -(dF/da) / (x f(x)) of
/// log(x), for the distribution function F and the density f (Figurnov, Mohamed and Mnih, "Implicit reparameterization
/// gradients", 2018). Below 1 a sample is one for a + 1 times u^(1 / a) for a uniform u, and both factors are
/// differentiated. A second derivative throws AutodiffError.
Value log_gamma_sample(const Value& concentration, const RandomKey& key);

/// The derivative of log(x) by a with F(a, x) fixed, for a >= 1, to about 1e-8 of itself.
Value log_gamma_slope(const Value& a, const Value& x);

}  // namespace kiln::distribution
