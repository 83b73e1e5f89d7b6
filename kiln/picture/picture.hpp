// Pictures of bytes, as from files and cameras.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace kiln {

/// Rows follow each other; the channels of a pixel (red, green, blue, or only grey) are adjacent.
struct [[nodiscard("a picture is not changed: a new one is returned")]] Picture {
  std::vector<std::uint8_t> pixels;  // height * width * channels
  std::int64_t height = 0, width = 0, channels = 3;

  std::uint8_t* at(std::int64_t y, std::int64_t x) {
    return &pixels[static_cast<std::size_t>((y * width + x) * channels)];
  }
  const std::uint8_t* at(std::int64_t y, std::int64_t x) const {
    return &pixels[static_cast<std::size_t>((y * width + x) * channels)];
  }
  friend bool operator==(const Picture&, const Picture&) = default;
};

/// A black picture.
Picture blank(std::int64_t height, std::int64_t width, std::int64_t channels);

/// Throws ShapeError, beginning with `function`, where the picture is empty or its number of pixels does not fit its
/// size.
void require_sound(std::string_view function, const Picture& picture);

/// Converts to one channel: 0.299 of red, 0.587 of green and 0.114 of blue (ITU-R BT.601), as Pillow does. A grey
/// picture stays as it is. Throws ShapeError unless there are 1 or 3 channels.
Picture grey_of(const Picture& picture);

}  // namespace kiln
