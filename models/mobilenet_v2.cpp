#include "models/mobilenet_v2.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/tensor/arithmetic.hpp"

namespace kiln::models {
namespace {

/// Returns the multiple of 8 nearest to channels * width, at least 8, and at least nine tenths of it.
std::int64_t rounded(std::int64_t channels, double width) {
  const double wanted = static_cast<double>(channels) * width;
  const std::int64_t nearest = std::max<std::int64_t>(8, static_cast<std::int64_t>(wanted + 4) / 8 * 8);
  return static_cast<double>(nearest) < 0.9 * wanted ? nearest + 8 : nearest;
}

InvertedResidual block_of(std::int64_t in, std::int64_t out, std::int64_t expansion, std::int64_t stride,
                          const Device& device) {
  const std::int64_t inner = in * expansion;
  InvertedResidual block;
  if (expansion != 1) block.expand = NormedConvConfig{.in = in, .out = inner, .kernel = 1}.init(device);
  block.depthwise = NormedConvConfig{.in = inner, .out = inner, .stride = stride, .groups = inner}.init(device);
  block.project = NormedConvConfig{.in = inner, .out = out, .kernel = 1}.init(device);
  block.residual = stride == 1 && in == out;
  return block;
}

}  // namespace

Tensor<4> InvertedResidual::forward(const Tensor<4>& x) const {
  const Tensor<4> wide = expand ? expand->forward(x).relu6() : x;
  const Tensor<4> y = project.forward(depthwise.forward(wide).relu6());
  return residual ? x + y : y;
}

Tensor<2> MobileNetV2::forward(const Tensor<4>& images) const {
  require_images("MobileNetV2", images, stem.conv.weight.dim(1));
  Tensor<4> x = stem.forward(images).relu6();
  for (const InvertedResidual& block : blocks) x = block.forward(x);
  return head.forward(dropout.forward(last.forward(x).relu6().mean(2, 3)));
}

MobileNetV2 MobileNetV2Config::init(const Device& device) const {
  require<ArgumentError>(std::isfinite(width) && width > 0 && width <= 64, "MobileNetV2Config: width = ", width,
                         " must lie between 0 and 64");
  require_size("MobileNetV2Config", "classes", classes);
  require_size("MobileNetV2Config", "channels", channels);
  MobileNetV2 net;
  std::int64_t in = rounded(32, width);
  net.stem = NormedConvConfig{.in = channels, .out = in, .stride = 2}.init(device);
  for (const Stage& stage : stages) {
    require_size("MobileNetV2Config", "a stage's expansion", stage.expansion);
    require_size("MobileNetV2Config", "a stage's channels", stage.channels);
    require_size("MobileNetV2Config", "a stage's blocks", stage.blocks);
    require_size("MobileNetV2Config", "a stage's stride", stage.stride);
    const std::int64_t out = rounded(stage.channels, width);
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      net.blocks.push_back(block_of(in, out, stage.expansion, i == 0 ? stage.stride : 1, device));
      in = out;
    }
  }
  const std::int64_t features = rounded(1280, std::max(1.0, width));
  net.last = NormedConvConfig{.in = in, .out = features, .kernel = 1}.init(device);
  net.dropout = {.probability = dropout};
  net.head =
      nn::LinearConfig{.in = features, .out = classes, .initializer = nn::init::Normal{.deviation = 0.01}}.init(device);
  return net;
}

}  // namespace kiln::models
