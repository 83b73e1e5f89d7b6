// Batches of pictures.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kiln/core/tensor_data.hpp"
#include "kiln/picture/picture.hpp"

namespace kiln {

struct LabelledPicture {
  Picture picture;
  std::int64_t label = 0;
};

struct PictureBatch {
  TensorData images;   // float32 [batch, channels, height, width]
  TensorData targets;  // int64 [batch]
  std::int64_t items() const { return targets.numel(); }
};

/// Stacks pictures, each value as (byte / 255 - mean) / deviation of its channel.
struct PictureBatcher {
  std::vector<float> mean = {0}, deviation = {1};  // one for all channels, or one per channel

  /// The statistics of ImageNet's training pictures.
  static PictureBatcher image_net() { return {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}}; }

  /// Throws ShapeError if there are no pictures, or not all have the same size, ArgumentError if the number of means or
  /// deviations does not fit the channels, or a deviation is 0.
  PictureBatch operator()(std::span<const LabelledPicture> pictures) const;
};

}  // namespace kiln
