// A batch of images on a device, and back.
#pragma once
#include <utility>
#include <vector>

#include "kiln/data/image.hpp"
#include "kiln/tensor/tensor.hpp"
#include "kiln/vision/display.hpp"

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

/// The reverse, to view images (kiln/data/png.hpp): x [batch, height, width] of numbers from 0 to 1. For colours see
/// vision::pictures_of.
inline std::vector<Image> to_images(const Tensor<3>& x) {
  const auto [batch, height, width] = x.dims();
  const std::vector<float> pixels = x.to_vector();
  std::vector<Image> images;
  for (auto begin = pixels.begin(); static_cast<std::int64_t>(images.size()) < batch; begin += height * width)
    images.push_back({.pixels = {begin, begin + height * width}, .height = height, .width = width});
  return images;
}

[[deprecated("call vision::pictures_of")]] inline std::vector<Picture> to_pictures(const Tensor<4>& x) {
  return vision::pictures_of(x);
}

}  // namespace kiln
