#include "kiln/nn/norm/batch_norm.hpp"

#include <cmath>

#include "kiln/nn/norm/sync_batch_norm.hpp"
#include "kiln/ops/scope/scope.hpp"

namespace kiln::nn {
namespace {

/// A value of a capture has no numbers, so that a buffer from outside of it stays as it is.
void learn(const Buffer<1>& buffer, const Value& value) {
  if (value.device().inner() == buffer.value().device().inner()) buffer.set(value);
}

}  // namespace

Value BatchNorm::apply(const Value& x) const {
  require_of<ShapeError>({&weight.value()}, x.dim(1) == running_mean.shape()[0], "BatchNorm: dimension 1 of ",
                         x.shape(), " is not the layer's ", running_mean.shape()[0], " channels");
  if (mode == Mode::Valid)
    return batch_norm(x, running_mean.value(), running_var.value(), weight.value(), bias.value(), epsilon);
  const BatchNormOptions options{.momentum = momentum, .epsilon = epsilon};
  const BatchNormResult result =
      *ranks && (*ranks)->size() > 1
          ? sync_batch_norm_training(x, running_mean.value(), running_var.value(), weight.value(), bias.value(),
                                     options, *ranks)
          : batch_norm_training(x, running_mean.value(), running_var.value(), weight.value(), bias.value(), options);
  // A pass that is recomputed for its gradient: the statistics include this batch already.
  if (KeyScope::repeats()) return result.output;
  learn(running_mean, result.running_mean);
  learn(running_var, result.running_variance);
  return result.output;
}

BatchNorm BatchNormConfig::init(const Device& device) const {
  require<ArgumentError>(channels > 0, "BatchNormConfig: channels = ", channels, " must be positive");
  require<ArgumentError>(momentum >= 0 && momentum <= 1, "BatchNormConfig: momentum = ", momentum,
                         " must lie in [0, 1]");
  require<ArgumentError>(epsilon >= 0 && std::isfinite(epsilon), "BatchNormConfig: epsilon = ", epsilon,
                         " must be finite and not negative");
  BatchNorm norm;
  norm.running_mean = Buffer<1>(zeros({channels}, device));
  norm.running_var = Buffer<1>(ones({channels}, device));
  norm.momentum = momentum;
  norm.epsilon = epsilon;
  if (affine) {
    norm.weight = Param<1>(ones({channels}, device));
    norm.bias = Param<1>(zeros({channels}, device));
  }
  return norm;
}

}  // namespace kiln::nn
