#include "kiln/nn/norm.hpp"

#include "kiln/ops/no_grad.hpp"

namespace kiln::nn {
namespace {

/// [channels] -> [1, channels, 1, ...], to broadcast against a tensor of `rank`.
Value per_channel(const Value& x, int rank) {
  Shape shape = Shape::filled(rank, 1);
  shape[1] = x.dim(0);
  return reshape(x, shape);
}

void update(const Buffer<1>& running, const Value& batch, double momentum) {
  running.set(running.value() * (1 - momentum) + reshape(batch, running.shape()) * momentum);
}

}  // namespace

Value BatchNorm::normalise(const Value& x) const {
  const int rank = x.rank();
  require<ShapeError>(x.dim(1) == weight.dim(0), "BatchNorm: dimension 1 of ", x.shape(), " is not the layer's ",
                      weight.dim(0), " channels");
  const Value scale = per_channel(weight, rank), shift = per_channel(bias, rank);
  if (mode == Mode::Valid) {
    const Value slope = scale * rsqrt(per_channel(running_var.value(), rank) + epsilon);
    return x * slope + (shift - per_channel(running_mean.value(), rank) * slope);
  }
  const std::int64_t count = x.numel() / std::max<std::int64_t>(x.dim(1), 1);
  require<ShapeError>(count > 1, "BatchNorm: training needs two elements or more per channel, ", x.shape(), " has ",
                      count);
  Dims dims{0};
  for (int i = 2; i < rank; ++i) dims.push_back(i);
  const Value middle = mean(x, dims, true), centred = x - middle;
  const Value spread = mean(square(centred), dims, true);
  {
    const NoGrad pause;
    update(running_mean, middle, momentum);
    update(running_var, spread * (static_cast<double>(count) / static_cast<double>(count - 1)), momentum);
  }
  return centred * (scale * rsqrt(spread + epsilon)) + shift;
}

BatchNorm BatchNormConfig::init(const Device& device) const {
  require<ArgumentError>(channels > 0, "BatchNormConfig: channels = ", channels, " must be positive");
  return {.weight = Param<1>(ones({channels}, device)),
          .bias = Param<1>(zeros({channels}, device)),
          .running_mean = Buffer<1>(zeros({channels}, device)),
          .running_var = Buffer<1>(ones({channels}, device)),
          .momentum = momentum,
          .epsilon = epsilon};
}

LayerNorm LayerNormConfig::init(const Device& device) const {
  require<ArgumentError>(size > 0, "LayerNormConfig: size = ", size, " must be positive");
  return {.weight = Param<1>(ones({size}, device)), .bias = Param<1>(zeros({size}, device)), .epsilon = epsilon};
}

}  // namespace kiln::nn
