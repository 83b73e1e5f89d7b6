// A published network that has learned to see, with a new last layer for other classes.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kiln/kiln.hpp>
#include <models/torchvision.hpp>

struct Model {
  kiln::nn::LabelEncoder classes;  // their names, which are saved with the weights
  kiln::models::ResNet network;

  /// x [batch, 3, height, width] -> scores [batch, classes]
  kiln::Tensor<2> forward(const kiln::Tensor<4>& x) const { return network.forward(x); }
};

/// The network with a new head, which has learned nothing yet.
inline kiln::models::ResNet with_head(kiln::models::ResNet network, std::int64_t classes, const kiln::Device& device) {
  const std::int64_t features = network.head.weight.shape()[1];
  network.head = kiln::nn::LinearConfig{.in = features, .out = classes}.init(device);
  return network;
}

/// A program has to know these sizes before it can load a model's file. They are saved beside that.
struct ModelConfig {
  int depth = 18;            // of the ResNet: 18, 34 or 50
  std::int64_t width = 64;   // channels of its first layer; 64 in published files
  std::int64_t side = 224;   // pixels of a picture's sides
  std::int64_t classes = 0;  // how many the model tells apart

  /// A network of this size with a head for the 1000 classes of ImageNet, as published files have it.
  kiln::models::ResNet network(const kiln::Device& device) const {
    kiln::models::ResNetConfig resnet = kiln::models::resnet(depth);
    resnet.width = width;
    return resnet.init(device);
  }
  /// A model to load a file into.
  Model init(const kiln::Device& device) const {
    return {kiln::nn::LabelEncoderConfig{.classes = classes}.init(device), with_head(network(device), classes, device)};
  }
};

/// A model of a network that has learned to see. Only its head learns: in Mode::Valid batch norms keep their statistics too.
inline Model begin_with(kiln::models::ResNet network, const std::vector<std::string>& classes,
                        const kiln::Device& device) {
  const auto count = static_cast<std::int64_t>(classes.size());
  network = kiln::valid(with_head(std::move(network), count, device));
  return {kiln::nn::LabelEncoderConfig{.classes = count}.fit(classes, device),
          kiln::freeze(std::move(network), !kiln::Selector("head"))};
}
