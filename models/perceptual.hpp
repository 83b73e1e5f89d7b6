// Perceptual losses: how different two images are for a network that was trained to classify images (Gatys, Ecker,
// Bethge, "A neural algorithm of artistic style", 2015; Johnson, Alahi, Fei-Fei, "Perceptual losses for real-time style
// transfer and super-resolution", 2016).
#pragma once
#include <vector>

#include "kiln/tensor/loss.hpp"
#include "models/vgg.hpp"

namespace kiln::models {

/// relu4_2 is {4, 2}.
struct PerceptualLayer {
  std::int64_t stage, convolution;  // counted from 1, as in papers
  double weight = 1;
};

/// The loss of each image is the sum over layers of their weight times
///   content: the mean squared difference of the layer's outputs
///   style:   the mean squared difference of their Gram matrices (gram_matrix)
struct PerceptualLoss {
  VggFeatures network;  // frozen
  std::vector<PerceptualLayer> content, style;
  std::vector<double> mean, deviation;  // the normalisation of the network's images, one number for each channel
  Reduction reduction = Reduction::Mean;

  /// x, target [batch, channels, height, width] of numbers from 0 to 1 -> scalar, which is small if x looks like the
  /// target. Throws ShapeError, and ArgumentError for a layer that the network does not have and for Reduction::None.
  Tensor<0> forward(const Tensor<4>& x, const Tensor<4>& target) const { return forward(x, target, target); }
  /// Style transfer: x has the size of `content` and should have its content in the style of `style`, which may have
  /// any size.
  Tensor<0> forward(const Tensor<4>& x, const Tensor<4>& content, const Tensor<4>& style) const;
  /// [batch]
  Tensor<1> forward_each(const Tensor<4>& x, const Tensor<4>& content, const Tensor<4>& style) const;
};

/// The defaults are the layers of Gatys et al. and torchvision's normalisation of images of three channels. The
/// network's weights are random until load_torchvision(loss.network, "vgg19.pth").
struct PerceptualLossConfig {
  VggFeaturesConfig network = {};
  std::vector<PerceptualLayer> content = {{4, 2}};
  std::vector<PerceptualLayer> style = {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}};
  std::vector<double> mean = {0.485, 0.456, 0.406}, deviation = {0.229, 0.224, 0.225};
  Reduction reduction = Reduction::Mean;

  /// Throws ArgumentError for layers that the network does not have, or if there is no layer, and for numbers that
  /// cannot normalise images of its channels.
  PerceptualLoss init(const Device& device) const;
};

}  // namespace kiln::models
