#include "models/squeezenet.hpp"

#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/pool.hpp"

namespace kiln::models {
namespace {

constexpr std::int64_t kSmallestSqueezeNet = 25;  // a smaller image has nothing left to pool

nn::Conv2d fire_convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, const Device& device) {
  return nn::Conv2dConfig{.in = in, .out = out, .kernel = {kernel}, .padding = {kernel / 2}}.init(device);
}

}  // namespace

Tensor<4> Fire::forward(const Tensor<4>& x) const {
  const Tensor<4> y = squeeze.forward(x).relu();
  return cat({expand1x1.forward(y).relu(), expand3x3.forward(y).relu()}, 1);
}

std::vector<Tensor<4>> SqueezeNetFeatures::layers(const Tensor<4>& images) const {
  require_images("SqueezeNet", images, stem.weight.dim(1));
  require<ShapeError>(images.dim(2) >= kSmallestSqueezeNet && images.dim(3) >= kSmallestSqueezeNet,
                      "SqueezeNet: images must have ", kSmallestSqueezeNet, " pixels or more in height and width, got ",
                      images);
  std::vector<Tensor<4>> result;
  Tensor<4> x = stem.forward(images).relu();
  result.push_back(x);
  for (std::size_t i = 0; i < fires.size(); ++i) {
    if (pooled.at(i)) x = max_pool(x, {.kernel = {3, 3}, .stride = {2, 2}, .ceil = true});
    result.push_back(x = fires[i].forward(x));
  }
  return result;
}

SqueezeNetFeatures SqueezeNetFeaturesConfig::init(const Device& device) const {
  require_size("SqueezeNetFeaturesConfig", "stem", stem);
  require_size("SqueezeNetFeaturesConfig", "channels", channels);
  require<ArgumentError>(!fires.empty(), "SqueezeNetFeaturesConfig: there must be a fire at least");
  SqueezeNetFeatures net;
  net.stem = nn::Conv2dConfig{.in = channels, .out = stem, .kernel = {3}, .stride = {2}}.init(device);
  std::int64_t in = stem;
  for (const Stage& fire : fires) {
    require_size("SqueezeNetFeaturesConfig", "a fire's squeeze", fire.squeeze);
    require_size("SqueezeNetFeaturesConfig", "a fire's expand", fire.expand);
    net.fires.push_back({.squeeze = fire_convolution(in, fire.squeeze, 1, device),
                         .expand1x1 = fire_convolution(fire.squeeze, fire.expand, 1, device),
                         .expand3x3 = fire_convolution(fire.squeeze, fire.expand, 3, device)});
    net.pooled.push_back(fire.pooled);
    in = 2 * fire.expand;
  }
  return net;
}

Tensor<2> SqueezeNet::forward(const Tensor<4>& images) const {
  return head.forward(dropout.forward(features.layers(images).back())).relu().mean(2, 3);
}

SqueezeNet SqueezeNetConfig::init(const Device& device) const {
  require_size("SqueezeNetConfig", "classes", classes);
  SqueezeNetFeatures net = features.init(device);
  return {.features = std::move(net),
          .dropout = {.probability = dropout},
          .head = fire_convolution(2 * features.fires.back().expand, classes, 1, device)};
}

}  // namespace kiln::models
