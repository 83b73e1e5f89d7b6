#include "kiln/nn/norm/layer_norm.hpp"

#include <cmath>

#include "kiln/ops/norm/normalization.hpp"

namespace kiln::nn {

Value LayerNorm::apply(const Value& x) const {
  if (weight.empty()) return layer_norm(x, 1, epsilon);
  return layer_norm(x, weight.value(), bias.empty() ? zeros_like(weight.value()) : bias.value(), epsilon);
}

LayerNorm LayerNormConfig::init(const Device& device) const {
  require<ArgumentError>(size > 0, "LayerNormConfig: size = ", size, " must be positive");
  require<ArgumentError>(epsilon >= 0 && std::isfinite(epsilon), "LayerNormConfig: epsilon = ", epsilon,
                         " must be finite and not negative");
  LayerNorm norm;
  norm.epsilon = epsilon;
  if (affine) norm.weight = Param<1>(ones({size}, device));
  if (affine && bias) norm.bias = Param<1>(zeros({size}, device));
  return norm;
}

Value RmsNorm::apply(const Value& x) const { return rms_norm(x, weight.value(), epsilon); }

RmsNorm RmsNormConfig::init(const Device& device) const {
  require<ArgumentError>(size > 0, "RmsNormConfig: size = ", size, " must be positive");
  require<ArgumentError>(epsilon >= 0 && std::isfinite(epsilon), "RmsNormConfig: epsilon = ", epsilon,
                         " must be finite and not negative");
  return {.weight = Param<1>(ones({size}, device)), .epsilon = epsilon};
}

}  // namespace kiln::nn
