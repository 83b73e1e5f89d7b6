#include "models/alexnet.hpp"

#include "kiln/tensor/pool.hpp"

namespace kiln::models {
namespace {

constexpr std::int64_t kAlexNetPooled = 6;     // rows and columns of the classifier's input
constexpr std::int64_t kSmallestAlexNet = 63;  // a smaller image has nothing left to pool

/// A convolution's kernel, stride and padding, and whether its output is pooled.
struct AlexNetPlace {
  std::int64_t kernel, stride, padding;
  bool pooled;
};
constexpr AlexNetPlace kAlexNetPlaces[] = {
    {11, 4, 2, true}, {5, 1, 2, true}, {3, 1, 1, false}, {3, 1, 1, false}, {3, 1, 1, true}};

Tensor<4> halved_alexnet(const Tensor<4>& x) { return max_pool(x, {.kernel = {3, 3}, .stride = {2, 2}}); }

}  // namespace

std::vector<Tensor<4>> AlexNetFeatures::layers(const Tensor<4>& images) const {
  require<ArgumentError>(convolutions.size() == std::size(kAlexNetPlaces), "AlexNet: ", convolutions.size(),
                         " convolutions; there must be ", std::size(kAlexNetPlaces));
  require_images("AlexNet", images, convolutions[0].weight.dim(1));
  require<ShapeError>(images.dim(2) >= kSmallestAlexNet && images.dim(3) >= kSmallestAlexNet,
                      "AlexNet: images must have ", kSmallestAlexNet, " pixels or more in height and width, got ",
                      images);
  std::vector<Tensor<4>> result;
  Tensor<4> x = images;
  for (std::size_t i = 0; i < convolutions.size(); ++i) {
    if (i && kAlexNetPlaces[i - 1].pooled) x = halved_alexnet(x);
    result.push_back(x = convolutions[i].forward(x).relu());
  }
  return result;
}

Tensor<4> AlexNetFeatures::forward(const Tensor<4>& images) const { return halved_alexnet(layers(images).back()); }

AlexNetFeatures AlexNetFeaturesConfig::init(const Device& device) const {
  require_size("AlexNetFeaturesConfig", "channels", channels);
  AlexNetFeatures net;
  std::int64_t in = channels;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    require_size("AlexNetFeaturesConfig", "a convolution's width", widths[i]);
    const AlexNetPlace& place = kAlexNetPlaces[i];
    net.convolutions.push_back(nn::Conv2dConfig{
        .in = in, .out = widths[i], .kernel = {place.kernel}, .stride = {place.stride}, .padding = {place.padding}}
                                   .init(device));
    in = widths[i];
  }
  return net;
}

Tensor<2> AlexNet::forward(const Tensor<4>& images) const {
  const Tensor<2> x = adaptive_avg_pool(features.forward(images), {kAlexNetPooled, kAlexNetPooled}).flatten<1>();
  const Tensor<2> y = hidden1.forward(dropout.forward(x)).relu();
  return head.forward(hidden2.forward(dropout.forward(y)).relu());
}

AlexNet AlexNetConfig::init(const Device& device) const {
  require_size("AlexNetConfig", "hidden", hidden);
  require_size("AlexNetConfig", "classes", classes);
  AlexNetFeatures net = features.init(device);
  const auto layer = [&](std::int64_t in, std::int64_t out) {
    return nn::LinearConfig{.in = in, .out = out}.init(device);
  };
  return {.features = std::move(net),
          .hidden1 = layer(features.widths.back() * kAlexNetPooled * kAlexNetPooled, hidden),
          .hidden2 = layer(hidden, hidden),
          .head = layer(hidden, classes),
          .dropout = {.probability = dropout}};
}

}  // namespace kiln::models
