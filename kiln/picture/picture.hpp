// Pictures of bytes, as files and cameras give them.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

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

/// One channel: 0.299 of red, 0.587 of green and 0.114 of blue (ITU-R BT.601), as Pillow has it. A grey picture stays as it
/// is. Throws ShapeError for other numbers of channels than 1 and 3.
Picture grey_of(const Picture& picture);

}  // namespace kiln
