#include "models/detection/csp_darknet.hpp"

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/pool.hpp"

namespace kiln::models {
namespace {

constexpr double kEpsilon = 1e-3;  // of batch norms, as in YOLOX

nn::Conv2d conv_of(const DarknetConvConfig& c, std::int64_t groups, const Device& device) {
  return nn::Conv2dConfig{.in = c.in,
                          .out = c.out,
                          .kernel = {c.kernel},
                          .stride = {c.stride},
                          .padding = {c.kernel / 2},
                          .groups = groups,
                          .bias = false}
      .init(device);
}

nn::BatchNorm norm_of(std::int64_t channels, double momentum, const Device& device) {
  return nn::BatchNormConfig{.channels = channels, .momentum = momentum, .epsilon = kEpsilon}.init(device);
}

/// [batch, channels, height, width] -> [batch, 4 * channels, height / 2, width / 2]: the pixels of each square of two by
/// two become channels, column after column, as published weights have them.
Tensor<4> folded(const Tensor<4>& x) {
  const auto [batch, channels, height, width] = x.dims();
  return x.reshape(batch, channels, height / 2, 2, width / 2, 2)
      .permute(0, 5, 3, 1, 2, 4)
      .reshape(batch, 4 * channels, height / 2, width / 2);
}

}  // namespace

Tensor<4> DarknetConv::forward(const Tensor<4>& x) const {
  const Tensor<4> filtered = depthwise ? depthwise->forward(x).silu() : x;
  return norm.forward(conv.forward(filtered)).silu();
}

DarknetConv DarknetConvConfig::init(const Device& device) const {
  DarknetConv result;
  if (depthwise) {
    const DarknetConvConfig each{.in = in, .out = in, .kernel = kernel, .stride = stride};
    result.depthwise = NormedConv{.conv = conv_of(each, in, device), .norm = norm_of(in, momentum, device)};
  }
  const DarknetConvConfig pointwise{.in = in, .out = out, .kernel = 1};
  result.conv = conv_of(depthwise ? pointwise : *this, 1, device);
  result.norm = norm_of(out, momentum, device);
  return result;
}

Tensor<4> CspLayer::Block::forward(const Tensor<4>& x) const {
  const Tensor<4> y = spatial.forward(reduce.forward(x));
  return residual ? y + x : y;
}

Tensor<4> CspLayer::forward(const Tensor<4>& x) const {
  Tensor<4> y = main.forward(x);
  for (const Block& block : blocks) y = block.forward(y);
  return merge.forward(cat({y, side.forward(x)}, 1));
}

CspLayer CspLayerConfig::init(const Device& device) const {
  const std::int64_t half = out / 2;
  const auto pointwise = [&](std::int64_t from, std::int64_t to) {
    return DarknetConvConfig{.in = from, .out = to, .kernel = 1, .momentum = momentum}.init(device);
  };
  CspLayer result;
  result.main = pointwise(in, half);
  result.side = pointwise(in, half);
  result.merge = pointwise(2 * half, out);
  const DarknetConvConfig spatial{.in = half, .out = half, .depthwise = depthwise, .momentum = momentum};
  for (std::int64_t i = 0; i < blocks; ++i)
    result.blocks.push_back({pointwise(half, half), spatial.init(device), residual});
  return result;
}

Tensor<4> PyramidPooling::forward(const Tensor<4>& x) const {
  std::vector<Tensor<4>> levels = {reduce.forward(x)};
  // The largest of 5 x 5 pixels, taken twice, is that of 9 x 9, and three times that of 13 x 13.
  for (int i = 0; i < 3; ++i)
    levels.push_back(max_pool(levels.back(), {.kernel = {5, 5}, .stride = {1, 1}, .padding = {2, 2}}));
  return merge.forward(cat(levels, 1));
}

Tensor<4> CspDarknet::Stage::forward(const Tensor<4>& x) const {
  const Tensor<4> half = shrink.forward(x);
  return layer.forward(pooling ? pooling->forward(half) : half);
}

std::vector<Tensor<4>> CspDarknet::forward(const Tensor<4>& images) const {
  std::vector<Tensor<4>> levels;
  Tensor<4> x = stem.forward(folded(images));
  for (std::size_t i = 0; i < stages.size(); ++i) {
    x = stages[i].forward(x);
    if (i > 0) levels.push_back(x);
  }
  return levels;
}

CspDarknet CspDarknetConfig::init(const Device& device) const {
  constexpr int kStages = 4;
  CspDarknet net;
  net.stem = DarknetConvConfig{.in = 4 * channels, .out = width, .momentum = momentum}.init(device);
  std::int64_t in = width;
  for (int i = 0; i < kStages; ++i, in *= 2) {
    const bool last = i == kStages - 1;
    const DarknetConvConfig shrink{.in = in, .out = 2 * in, .stride = 2, .depthwise = depthwise, .momentum = momentum};
    const CspLayerConfig layer{.in = 2 * in,
                               .out = 2 * in,
                               .blocks = i == 0 || last ? blocks : 3 * blocks,
                               .residual = !last,
                               .depthwise = depthwise,
                               .momentum = momentum};
    CspDarknet::Stage stage;
    stage.shrink = shrink.init(device);
    if (last) {
      const DarknetConvConfig reduce{.in = 2 * in, .out = in, .kernel = 1, .momentum = momentum};
      const DarknetConvConfig merge{.in = 4 * in, .out = 2 * in, .kernel = 1, .momentum = momentum};
      stage.pooling = PyramidPooling{.reduce = reduce.init(device), .merge = merge.init(device)};
    }
    stage.layer = layer.init(device);
    net.stages.push_back(std::move(stage));
  }
  return net;
}

}  // namespace kiln::models
