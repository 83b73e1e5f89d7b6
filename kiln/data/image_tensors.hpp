// A batch of images on a device: the one header of kiln/data that knows tensors.
#pragma once
#include <utility>

#include "kiln/data/image.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

struct ImageTensors {
  Tensor<3> images;        // [batch, height, width]
  Tensor<1, Int> targets;  // [batch]
};

/// for (auto& batch : loader) { auto [images, targets] = to_tensors(std::move(batch), device); ... }
inline ImageTensors to_tensors(ImageBatch batch, const Device& device) {
  return {Tensor<3>::from_data(std::move(batch.images), device),
          Tensor<1, Int>::from_data(std::move(batch.targets), device)};
}

}  // namespace kiln
