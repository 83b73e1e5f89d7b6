// Layers whose weight is made of others at each forward pass. `Layer` is any module with a `weight` and a
// forward_with(weight, x): Linear, Conv, ConvTranspose.
#pragma once
#include <utility>

#include "kiln/nn/mode.hpp"
#include "kiln/nn/param.hpp"
#include "kiln/ops/scope/scope.hpp"

namespace kiln::nn {

namespace parts {
/// direction * magnitude / |direction|, the norm being over all dimensions but `dim`, of which each entry has its own.
Value weight_of(const Value& direction, const Value& magnitude, Dim dim);
/// The norms, which are the magnitude that keeps a weight as it is: [.., 1, size, 1, ..].
Value magnitude_of(const Value& weight, Dim dim);

struct Spectrum {
  Value u, v, sigma;
};
/// `steps` of power iteration on the matrix [dimension `dim`, all others] of a weight, from the unit vector u; sigma, its
/// largest singular value as far as known, has a gradient in the weight.
Spectrum iterate(const Value& weight, Dim dim, const Value& u, const Value& v, int steps, double epsilon);
Value matrix_of(const Value& weight, Dim dim);
}  // namespace parts

/// The length of each output's weights apart from their direction (Salimans, Kingma, "Weight normalization", 2016).
/// layer.weight is the direction.
template <class Layer>
struct WeightNorm {
  static constexpr int kRank = decltype(Layer::weight)::kRank;
  Layer layer;
  Param<kRank> magnitude;  // [.., 1, outputs, 1, ..]
  Dim dim = 0;             // of the weight, which counts the outputs

  template <class T>
  auto forward(const T& x) const {
    return layer.forward_with(weight(), x);
  }
  /// The weight that the layer is used with.
  Tensor<kRank> weight() const { return Typed{parts::weight_of(layer.weight.value(), magnitude.value(), dim)}; }
};
/// The same function as the layer alone.
template <class Layer>
WeightNorm<Layer> weight_norm(Layer layer, Dim dim = 0) {
  const Value magnitude = parts::magnitude_of(layer.weight.value(), dim);
  return {.layer = std::move(layer), .magnitude = Param<WeightNorm<Layer>::kRank>(magnitude), .dim = dim};
}

/// The weight divided by its largest singular value, as a matrix [outputs, all else], which power iteration follows: a
/// step at each forward pass in Mode::Train (Miyato et al., "Spectral normalization for generative adversarial networks",
/// 2018). Like a batch norm's, its buffers belong to one thread while it is trained.
template <class Layer>
struct SpectralNorm {
  static constexpr int kRank = decltype(Layer::weight)::kRank;
  Layer layer;
  Buffer<1> u, v;  // [outputs], [all else]: unit vectors
  Dim dim = 0;     // of the weight, which counts the outputs
  int steps = 1;
  double epsilon = 1e-12;
  Mode mode = Mode::Train;

  template <class T>
  auto forward(const T& x) const {
    return layer.forward_with(weight(), x);
  }
  Tensor<kRank> weight() const {
    // What is run again for its gradient finds the vectors of the first time.
    const int count = mode == Mode::Train && !KeyScope::repeats() ? steps : 0;
    const auto [u_now, v_now, sigma] = parts::iterate(layer.weight.value(), dim, u.value(), v.value(), count, epsilon);
    if (count > 0) {
      u.set(u_now);
      v.set(v_now);
    }
    return Typed{layer.weight.value() / sigma};
  }
};
/// With the buffers after 15 steps from vectors drawn from the device's stream.
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
