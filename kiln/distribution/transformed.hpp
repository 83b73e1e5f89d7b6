// Distributions of functions of a sample.
//
// A transform is a struct of elementwise functions, of which each is monotonic:
//
//   forward(x)      y
//   inverse(y)      x; minus or plus infinity for a y below or above those that x have
//   log_slope(x)    log |dy/dx|
//   direction()     1 where it rises, -1 where it falls; a number or a tensor
#pragma once
#include <tuple>

#include "kiln/distribution/sample.hpp"

namespace kiln::distribution {

/// shift + factor x, for tensors or numbers that broadcast to the samples; the factor is not 0.
template <Operand S, Operand F>
struct Affine {
  S shift;
  F factor;
  template <int D>
  auto forward(const Tensor<D>& x) const {
    return shift + factor * x;
  }
  template <int D>
  auto inverse(const Tensor<D>& y) const {
    return (y - shift) / factor;
  }
  template <int D>
  auto log_slope(const Tensor<D>& x) const {
    if constexpr (Number<F>) return x * 0 + std::log(std::abs(static_cast<double>(factor)));
    else return factor.abs().log() + x * 0;
  }
  auto direction() const {
    if constexpr (Number<F>) return factor < 0 ? -1.0 : 1.0;
    else return factor.sign();
  }
};
template <class S, class F>
Affine(S, F) -> Affine<S, F>;

struct Exp {
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return x.exp();
  }
  template <int D>
  Tensor<D> inverse(const Tensor<D>& y) const {
    return where(y <= 0, -kInfinity, in_support(!(y <= 0), y, 1).log());
  }
  template <int D>
  Tensor<D> log_slope(const Tensor<D>& x) const {
    return x;
  }
  double direction() const { return 1; }
};

struct Sigmoid {
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return x.sigmoid();
  }
  template <int D>
  Tensor<D> inverse(const Tensor<D>& y) const {
    const Tensor<D> z = in_support(!((y <= 0) | (y >= 1)), y, 0.5);
    return where(y <= 0, -kInfinity, where(y >= 1, kInfinity, z.log() - (-z).log1p()));
  }
  template <int D>
  Tensor<D> log_slope(const Tensor<D>& x) const {
    return x.log_sigmoid() + (-x).log_sigmoid();
  }
  double direction() const { return 1; }
};

struct Tanh {
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return x.tanh();
  }
  template <int D>
  Tensor<D> inverse(const Tensor<D>& y) const {
    const Tensor<D> z = in_support(!((y <= -1) | (y >= 1)), y, 0).atanh();
    return where(y <= -1, -kInfinity, where(y >= 1, kInfinity, z));
  }
  /// log(1 - tanh(x)^2), without cancellation.
  template <int D>
  Tensor<D> log_slope(const Tensor<D>& x) const {
    return (std::numbers::ln2 - x - (x * -2).softplus()) * 2;
  }
  double direction() const { return 1; }
};

/// The distribution of the last transform of ... of the first transform of a sample of `base`: Transformed(Normal(m,
/// s), Tanh{}, Affine{0.0, 2.0}).
template <Distribution P, class... Transforms>
struct Transformed {
  static constexpr int kBatch = P::kBatch, kEvent = P::kEvent;
  P base;
  std::tuple<Transforms...> transforms;

  explicit Transformed(const P& base_, const Transforms&... transforms_) : base(base_), transforms(transforms_...) {}

  /// Minus infinity where no sample is transformed to y.
  template <int E>
  auto log_prob(const Tensor<E>& y) const {
    return log_prob_before<sizeof...(Transforms)>(y);
  }
  template <int E>
  auto cdf(const Tensor<E>& y) const requires requires(const P p, const Tensor<E> x) { p.cdf(x); } {
    return cdf_before<sizeof...(Transforms)>(y);
  }
  auto rsample(RandomKey key = {}) const requires Reparameterized<P> {
    return std::apply([&](const auto&... each) { return forward(base.rsample(key), each...); }, transforms);
  }
  auto draw(RandomKey key = {}) const requires(!Reparameterized<P>) {
    return std::apply([&](const auto&... each) { return forward(base.draw(key), each...); }, transforms);
  }
  auto repeated(std::int64_t count) const {
    return std::apply([&](const auto&... each) { return distribution::Transformed(base.repeated(count), each...); },
                      transforms);
  }

 private:
  template <class X>
  static X forward(const X& x) {
    return x;
  }
  template <class X, class T, class... Rest>
  static auto forward(const X& x, const T& first, const Rest&... rest) {
    return forward(first.forward(x), rest...);
  }
  /// The log-density after the first N transforms.
  template <std::size_t N, int E>
  auto log_prob_before(const Tensor<E>& y) const {
    if constexpr (N == 0) {
      return base.log_prob(y);
    } else {
      const auto& last = std::get<N - 1>(transforms);
      const auto x = last.inverse(y);
      const auto missing = x.is_inf();
      const auto somewhere = where(missing, 0.0, x);
      return without(log_prob_before<N - 1>(somewhere), last.log_slope(somewhere), missing);
    }
  }
  /// log_prob - log_slope, both summed over an event's dimensions; minus infinity where an element is missing.
  template <int R, int E>
  static auto without(const Tensor<R>& log_prob, const Tensor<E>& log_slope, const Tensor<E, Bool>& missing) {
    if constexpr (kEvent == 0) return where(missing, -kInfinity, log_prob - log_slope);
    else return where(missing.any(-1), -kInfinity, log_prob - log_slope.sum(-1));
  }
  template <std::size_t N, int E>
  auto cdf_before(const Tensor<E>& y) const {
    if constexpr (N == 0) {
      return base.cdf(y);
    } else {
      const auto& last = std::get<N - 1>(transforms);
      return (cdf_before<N - 1>(last.inverse(y)) - 0.5) * last.direction() + 0.5;
    }
  }
};
template <class P, class... Transforms>
Transformed(const P&, const Transforms&...) -> Transformed<P, Transforms...>;

}  // namespace kiln::distribution
