// Initializers of parameters. Random numbers are drawn from the device's stream: the same seed gives the same weights.
#pragma once
#include <variant>

#include "kiln/ops/functions.hpp"

namespace kiln::nn {

/// How many inputs each output is computed from, and how many outputs each input affects: they keep variances steady.
struct Fans {
  std::int64_t in = 1, out = 1;
};
/// The fans of a weight [out, in / groups, kernel...] or [out, in]. Throws ShapeError below two dimensions.
Fans fans_of(const Shape& weight);

namespace init {

struct Zeros {};
struct Ones {};
struct Constant {
  double value = 0;
};
struct Uniform {
  double low = 0, high = 1;
};
struct Normal {
  double mean = 0, deviation = 1;
};
/// He, Zhang, Ren, Sun, "Delving deep into rectifiers", 2015: U(-b, b) with b = gain * sqrt(3 / fan), where
/// fan counts inputs, or outputs if `fan_out`. A gain of sqrt(2) suits ReLU.
struct KaimingUniform {
  double gain = 1.4142135623730951;
  bool fan_out = false;
};
/// N(0, gain^2 / fan)
struct KaimingNormal {
  double gain = 1.4142135623730951;
  bool fan_out = false;
};
/// Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010:
/// U(-b, b) with b = gain * sqrt(6 / (fan_in + fan_out))
struct XavierUniform {
  double gain = 1;
};
/// N(0, 2 * gain^2 / (fan_in + fan_out))
struct XavierNormal {
  double gain = 1;
};

/// LeCun, Bottou, Orr, Müller, "Efficient backprop", 1998, which suits Selu: variance 1 / fan_in.
struct LecunUniform {};
struct LecunNormal {};
/// N(mean, deviation^2) within [low, high].
struct TruncatedNormal {
  double mean = 0, deviation = 1;
  double low = -2, high = 2;
};
/// The rows of a weight, seen as a matrix [dimension 0, all others], are orthogonal and have length `gain`; its columns
/// instead if there are more rows than columns (Saxe, McClelland, Ganguli, "Exact solutions", 2014).
struct Orthogonal {
  double gain = 1;
};
/// N(0, deviation^2), with the fraction `sparsity` of the rows set to 0 in each column of a matrix (Martens, "Deep
/// learning via Hessian-free optimization", 2010).
struct Sparse {
  double sparsity = 0.1;
  double deviation = 0.01;
};
/// A convolution that copies as many of its channels as fit, in each group: ones in the middle of its windows.
struct Dirac {
  std::int64_t groups = 1;
};

}  // namespace init

using Initializer =
    std::variant<init::KaimingUniform, init::KaimingNormal, init::XavierUniform, init::XavierNormal, init::LecunUniform,
                 init::LecunNormal, init::Uniform, init::Normal, init::TruncatedNormal, init::Orthogonal, init::Sparse,
                 init::Dirac, init::Constant, init::Zeros, init::Ones>;

/// U(-1 / sqrt(fan_in), 1 / sqrt(fan_in)): PyTorch's default for linear and convolutional layers, biases included.
inline constexpr init::KaimingUniform kLayerDefault{.gain = 0.5773502691896258};

/// A new float32 tensor on `device`. Throws ArgumentError for invalid options, ShapeError if the initializer is for
/// matrices (Orthogonal, Sparse) or for convolutions (Dirac) and the shape does not fit.
Value initialize(const Initializer& initializer, const Shape& shape, const Fans& fans, const Device& device);

}  // namespace kiln::nn
