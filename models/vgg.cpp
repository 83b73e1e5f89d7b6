#include "models/vgg.hpp"

#include <algorithm>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/pool.hpp"

namespace kiln::models {
namespace {

constexpr std::int64_t kPooled = 7;  // rows and columns of the classifier's input
constexpr std::size_t kMostStages = 16;

Tensor<4> halved(const Tensor<4>& x) {
  require<ShapeError>(x.dim(2) > 1 && x.dim(3) > 1, "Vgg: the images are too small, as ", x,
                      " is to be halved once more");
  return max_pool(x, {.kernel = {2, 2}, .stride = {2, 2}});
}

std::int64_t width_of(const VggFeaturesConfig& config, std::size_t stage) {
  return config.width << std::min<std::size_t>(stage, 3);
}

}  // namespace

std::vector<std::vector<Tensor<4>>> VggFeatures::layers(const Tensor<4>& images, std::size_t count) const {
  require<ArgumentError>(count <= stages.size(), "Vgg: ", count, " stages of ", stages.size());
  std::vector<std::vector<Tensor<4>>> result;
  if (count) require_images("Vgg", images, stages[0][0].weight.dim(1));
  Tensor<4> x = images;
  for (std::size_t i = 0; i < count; ++i) {
    auto& stage = result.emplace_back();
    if (i) x = halved(x);
    for (const nn::Conv2d& conv : stages[i]) stage.push_back(x = conv.forward(x).relu());
  }
  return result;
}

Tensor<4> VggFeatures::forward(const Tensor<4>& images) const {
  return halved(layers(images, stages.size()).back().back());
}

VggFeatures VggFeaturesConfig::init(const Device& device) const {
  require<ArgumentError>(!convolutions.empty() && convolutions.size() <= kMostStages,
                         "VggFeaturesConfig: ", convolutions.size(), " stages of convolutions; there must be 1 to ",
                         kMostStages);
  require_size("VggFeaturesConfig", "width", width);
  require_size("VggFeaturesConfig", "channels", channels);
  VggFeatures net;
  std::int64_t in = channels;
  for (std::size_t i = 0; i < convolutions.size(); ++i) {
    require_size("VggFeaturesConfig", "convolutions of a stage", convolutions[i]);
    auto& stage = net.stages.emplace_back();
    for (std::int64_t j = 0; j < convolutions[i]; ++j) {
      stage.push_back(nn::Conv2dConfig{.in = in,
                                       .out = width_of(*this, i),
                                       .kernel = {3},
                                       .padding = {1},
                                       .initializer = nn::init::KaimingNormal{.fan_out = true}}
                          .init(device));
      in = width_of(*this, i);
    }
  }
  return net;
}

std::int64_t VggFeaturesConfig::features() const {
  return width_of(*this, convolutions.empty() ? 0 : convolutions.size() - 1);
}

Tensor<2> Vgg::forward(const Tensor<4>& images) const {
  const Tensor<2> x = adaptive_avg_pool(features.forward(images), {kPooled, kPooled}).flatten<1>();
  const Tensor<2> y = dropout.forward(hidden1.forward(x).relu());
  return head.forward(dropout.forward(hidden2.forward(y).relu()));
}

Vgg VggConfig::init(const Device& device) const {
  require_size("VggConfig", "hidden", hidden);
  require_size("VggConfig", "classes", classes);
  VggFeatures net = features.init(device);
  const auto layer = [&](std::int64_t in, std::int64_t out) {
    return nn::LinearConfig{.in = in, .out = out, .initializer = nn::init::Normal{.deviation = 0.01}}.init(device);
  };
  return {.features = std::move(net),
          .hidden1 = layer(features.features() * kPooled * kPooled, hidden),
          .hidden2 = layer(hidden, hidden),
          .head = layer(hidden, classes),
          .dropout = {.probability = dropout}};
}

VggConfig vgg(int depth) {
  const auto with = [](std::vector<std::int64_t> convolutions) {
    return VggConfig{.features = {.convolutions = std::move(convolutions)}};
  };
  switch (depth) {
    case 11: return with({1, 1, 2, 2, 2});
    case 13: return with({2, 2, 2, 2, 2});
    case 16: return with({2, 2, 3, 3, 3});
    case 19: return with({2, 2, 4, 4, 4});
    default: fail<ArgumentError>("vgg: there is no VGG-", depth, "; there are VGG-11, -13, -16 and -19");
  }
}

}  // namespace kiln::models
