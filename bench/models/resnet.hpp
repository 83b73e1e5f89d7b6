// ResNet-50 (He, Zhang, Ren, Sun, "Deep residual learning for image recognition", 2016), with the stride in the 3x3
// convolution of a block, as is usual now.
#pragma once
#include <kiln/kiln.hpp>

namespace models {

using namespace kiln;

/// A convolution without bias, and the norm that follows it.
struct NormedConv {
  nn::Conv2d conv;
  nn::BatchNorm norm;

  Tensor<4> forward(const Tensor<4>& x) const { return norm.forward(conv.forward(x)); }
};

struct Bottleneck {
  NormedConv reduce, spatial, restore;  // 1x1, 3x3, 1x1
  std::optional<NormedConv> shortcut;   // where the block changes the size

  Tensor<4> forward(const Tensor<4>& x) const;
};

struct ResNet {
  NormedConv stem;
  nn::MaxPool2d pool;
  std::vector<Bottleneck> blocks;
  nn::AdaptiveAvgPool2d average;
  nn::Linear head;

  /// images [batch, 3, height, width] -> logits [batch, classes]
  Tensor<2> forward(const Tensor<4>& images) const;
};

struct ResNet50Config {
  std::int64_t classes = 1000;

  ResNet init(const Device& device) const;
};

}  // namespace models
