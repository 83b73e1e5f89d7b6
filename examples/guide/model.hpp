// The guide's model: two convolutions, a pool and two linear layers, which learn to read digits.
#pragma once
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>

#include "examples/guide/settings.hpp"

namespace guide {

using namespace kiln;

struct Model {
  nn::Conv2d conv1, conv2;
  nn::AdaptiveAvgPool2d pool;
  nn::Dropout dropout;
  nn::Linear linear1, linear2;
  nn::Relu activation;

  /// images [batch, height, width] -> logits [batch, classes]
  Tensor<2> forward(const Tensor<3>& images) const;
};

}  // namespace guide
