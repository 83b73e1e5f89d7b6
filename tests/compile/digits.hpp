// Handwritten digits, and a small network that learns to read them in a few seconds.
#pragma once
#include <optional>
#include <vector>

#include "kiln/data/image.hpp"
#include "kiln/nn.hpp"

namespace kiln::compile {

/// MNIST's images, if they are there (KILN_DATA, or beside the source tree): the first of each part.
struct DigitImages {
  std::vector<Image> train, test;
};
std::optional<DigitImages> digit_images(std::int64_t train, std::int64_t test);

/// Two convolutions and a linear layer: 9,226 weights, and 12.6 KB for one picture.
struct SmallReader {
  nn::Conv2d conv1, conv2;
  nn::Linear linear;

  static SmallReader init(const Device& device);
  /// images [batch, height, width] of numbers from 0 to 1 -> logits [batch, 10]
  Tensor<2> forward(const Tensor<3>& images) const;
};
/// The network after a pass over the images.
SmallReader trained(SmallReader network, const std::vector<Image>& images, const Device& device);

}  // namespace kiln::compile
