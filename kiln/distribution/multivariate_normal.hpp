// The normal distribution of vectors.
#pragma once
#include "kiln/distribution/parts.hpp"
#include "kiln/tensor/diagonal.hpp"
#include "kiln/tensor/linalg.hpp"

namespace kiln::distribution {

/// location + factor z for standard normal z: locations [..., n] and lower triangular factors [..., n, n] with a
/// positive diagonal, of which the covariance is factor factorᵀ.
template <int D>
struct MultivariateNormal {
  static constexpr int kBatch = D, kEvent = 1;
  Tensor<D + 1> location;
  Tensor<D + 2> factor;

  /// Throws ShapeError where the two do not fit together. What is above the diagonal of `factor_` is not read.
  template <int E>
  requires(E <= D + 2) MultivariateNormal(const Tensor<D + 1>& location_, const Tensor<E>& factor_) {
    const Shape &l = location_.shape(), &f = factor_.shape();
    require<ShapeError>(f.size() >= 2 && f[f.size() - 1] == l.back() && f[f.size() - 2] == l.back(),
                        "MultivariateNormal: locations ", l, " need factors [..., ", l.back(), ", ", l.back(),
                        "], got ", f);
    const Values parts =
        broadcast_parameters("MultivariateNormal", Values{unsqueeze(location_.value(), -1), factor_.value()});
    location = Typed{at(parts[0], -1, 0)}, factor = Typed{tril(parts[1])};
  }
  /// From the covariances [..., n, n]. Throws ArgumentError for a matrix that is not positive definite, as cholesky()
  /// does.
  template <int E>
  static MultivariateNormal of_covariance(const Tensor<D + 1>& location, const Tensor<E>& covariance) {
    return MultivariateNormal(location, cholesky(covariance));
  }

  /// [...]: the sum of the logarithms of the factor's diagonal; NaN where one is not positive.
  Tensor<D> half_log_determinant() const {
    return positive(Tensor<D + 1>(Typed{diagonal(factor.value())})).log().sum(-1);
  }
  /// x [..., n] -> [...]
  template <int E>
  requires(E >= 1) Tensor<kLargest<D, E - 1>> log_prob(const Tensor<E>& x) const {
    constexpr int R = kLargest<D, E - 1>;
    const Tensor<R + 1> away = x - location;
    Shape shape = away.shape();
    shape.push_back(location.dim(-1));
    const Tensor<R + 2> l = factor.template expand<R + 2>(shape);
    const Tensor<R + 2> z = triangular_solve(l, away.unsqueeze(-1));
    const double n = static_cast<double>(location.dim(-1));
    return z.square().sum(-1, -2) * -0.5 - half_log_determinant() - n * 0.5 * std::log(2 * std::numbers::pi);
  }
  Tensor<D + 1> rsample(RandomKey key = {}) const {
    return location + factor.matmul(standard_normal_like(location, key).unsqueeze(-1)).squeeze(-1);
  }
  Tensor<D + 1> mean() const { return location; }
  /// The diagonal of the covariance.
  Tensor<D + 1> variance() const { return factor.square().sum(-1); }
  Tensor<D + 2> covariance() const { return factor.matmul(factor.transpose()); }
  Tensor<D> entropy() const {
    const double n = static_cast<double>(location.dim(-1));
    return half_log_determinant() + n * 0.5 * std::log(2 * std::numbers::pi * std::numbers::e);
  }
  MultivariateNormal<D + 1> repeated(std::int64_t count) const {
    return MultivariateNormal<D + 1>(repeated_tensor(location, count), repeated_tensor(factor, count));
  }
};
template <int R, int E>
MultivariateNormal(const Tensor<R>&, const Tensor<E>&) -> MultivariateNormal<R - 1>;

}  // namespace kiln::distribution
