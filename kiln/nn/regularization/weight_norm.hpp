// Layers whose weight is computed from other tensors in each forward pass. `Layer` is any module with a `weight` and a
// forward_with(weight, x): Linear, Conv, ConvTranspose.
#pragma once
#include <utility>

#include "kiln/nn/mode.hpp"
#include "kiln/nn/param.hpp"
#include "kiln/ops/scope/scope.hpp"

namespace kiln::nn {

namespace parts {
/// direction * magnitude / |direction|; the norm is over all dimensions but `dim`, so each entry of `dim` has its own.
Value weight_of(const Value& direction, const Value& magnitude, Dim dim);
/// The norms of a weight, as the magnitude that leaves it unchanged: [.., 1, size, 1, ..].
Value magnitude_of(const Value& weight, Dim dim);

struct Spectrum {
  Value u, v, sigma;
};
/// Runs `steps` of power iteration on the matrix [dimension `dim`, all others] of a weight, from the unit vector u;
/// sigma, the estimate of its largest singular value, has a gradient for the weight.
Spectrum iterate(const Value& weight, Dim dim, const Value& u, const Value& v, int steps, double epsilon);
Value matrix_of(const Value& weight, Dim dim);
}  // namespace parts

/// Trains the length of each output's weights apart from their direction (Salimans, Kingma, "Weight normalization",
/// 2016). layer.weight is the direction.
template <class Layer>
struct WeightNorm {
  static constexpr int kRank = decltype(Layer::weight)::kRank;
  Layer layer;
  Param<kRank> magnitude;  // [.., 1, outputs, 1, ..]
  Dim dim = 0;             // the weight's dimension of outputs

  template <class T>
  auto forward(const T& x) const {
    return layer.forward_with(weight(), x);
  }
  /// The weight that the layer uses.
  Tensor<kRank> weight() const { return Typed{parts::weight_of(layer.weight.value(), magnitude.value(), dim)}; }
};
/// Computes the same function as the layer alone.
template <class Layer>
WeightNorm<Layer> weight_norm(Layer layer, Dim dim = 0) {
  const Value magnitude = parts::magnitude_of(layer.weight.value(), dim);
  return {.layer = std::move(layer), .magnitude = Param<WeightNorm<Layer>::kRank>(magnitude), .dim = dim};
}

/// Divides the weight by its largest singular value as a matrix [outputs, the rest], which power iteration tracks: one
/// step in each forward pass in Mode::Train (Miyato et al., "Spectral normalization for generative adversarial
/// networks", 2018). As in a batch norm, its buffers belong to one thread in training.
template <class Layer>
struct SpectralNorm {
  static constexpr int kRank = decltype(Layer::weight)::kRank;
  Layer layer;
  Buffer<1> u, v;  // [outputs], [the rest]: unit vectors
  Dim dim = 0;     // the weight's dimension of outputs
  int steps = 1;
  double epsilon = 1e-12;
  Mode mode = Mode::Train;

  template <class T>
  auto forward(const T& x) const {
    return layer.forward_with(weight(), x);
  }
  Tensor<kRank> weight() const {
    // A pass that is recomputed for its gradient uses the vectors of the first time.
    const int count = mode == Mode::Train && !KeyScope::repeats() ? steps : 0;
    const auto [u_now, v_now, sigma] = parts::iterate(layer.weight.value(), dim, u.value(), v.value(), count, epsilon);
    if (count > 0) {
      u.set(u_now);
      v.set(v_now);
    }
    return Typed{layer.weight.value() / sigma};
  }
};
/// The buffers start with 15 steps from random vectors of the device's stream.
template <class Layer>
SpectralNorm<Layer> spectral_norm(Layer layer, Dim dim = 0, int steps = 1, double epsilon = 1e-12) {
  const Value matrix = parts::matrix_of(layer.weight.value().detach(), dim);
  const Value start = normal({matrix.dim(0)}, 0, 1, matrix.device(), matrix.dtype());
  const parts::Spectrum spectrum = parts::iterate(layer.weight.value().detach(), dim, start, {}, 15, epsilon);
  return {.layer = std::move(layer),
          .u = Buffer<1>(spectrum.u),
          .v = Buffer<1>(spectrum.v),
          .dim = dim,
          .steps = steps,
          .epsilon = epsilon};
}

}  // namespace kiln::nn
