// Pictures of bytes, as files and cameras give them, and how they become batches.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kiln/core/tensor_data.hpp"

namespace kiln {

/// Row after row; the channels of a pixel (red, green, blue, or grey alone) lie side by side.
struct Picture {
  std::vector<std::uint8_t> pixels;  // height * width * channels of them
  std::int64_t height = 0, width = 0, channels = 3;

  std::uint8_t* at(std::int64_t y, std::int64_t x) {
    return &pixels[static_cast<std::size_t>((y * width + x) * channels)];
  }
  const std::uint8_t* at(std::int64_t y, std::int64_t x) const {
    return &pixels[static_cast<std::size_t>((y * width + x) * channels)];
  }
  friend bool operator==(const Picture&, const Picture&) = default;
};

/// Black.
Picture blank(std::int64_t height, std::int64_t width, std::int64_t channels);

/// Throws ShapeError, which `function` begins, where the picture is empty or has another number of pixels than its size.
void require_sound(std::string_view function, const Picture& picture);

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
  std::vector<float> mean = {0}, deviation = {1};  // one for all channels, or one for each

  /// Of ImageNet's training pictures.
  static PictureBatcher image_net() { return {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}}; }

  /// Throws ShapeError where the pictures are none or not all of the same size, ArgumentError where there are not as many
  /// means or deviations as channels, or a deviation is 0.
  PictureBatch operator()(std::span<const LabelledPicture> pictures) const;
};

}  // namespace kiln
