// A batch of images on a device: the only header of kiln/data that depends on tensors.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "kiln/data/image.hpp"
#include "kiln/picture/picture.hpp"
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

/// The reverse, to view images (kiln/data/png.hpp): x [batch, height, width] of numbers from 0 to 1.
inline std::vector<Image> to_images(const Tensor<3>& x) {
  const auto [batch, height, width] = x.dims();
  const std::vector<float> pixels = x.to_vector();
  std::vector<Image> images;
  for (auto begin = pixels.begin(); static_cast<std::int64_t>(images.size()) < batch; begin += height * width)
    images.push_back({.pixels = {begin, begin + height * width}, .height = height, .width = width});
  return images;
}

/// Does that for colour: x [batch, channels, height, width] of numbers from 0 to 1; values outside are clamped.
inline std::vector<Picture> to_pictures(const Tensor<4>& x) {
  const auto [batch, channels, height, width] = x.dims();
  const std::vector<float> numbers = x.permute(0, 2, 3, 1).to_vector();
  const auto size = static_cast<std::size_t>(height * width * channels);
  std::vector<Picture> pictures;
  for (std::int64_t i = 0; i < batch; ++i) {
    pictures.push_back(
        {.pixels = std::vector<std::uint8_t>(size), .height = height, .width = width, .channels = channels});
    std::transform(numbers.begin() + i * static_cast<std::int64_t>(size),
                   numbers.begin() + (i + 1) * static_cast<std::int64_t>(size), pictures.back().pixels.begin(),
                   byte_of);
  }
  return pictures;
}

}  // namespace kiln
