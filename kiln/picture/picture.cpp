#include "kiln/picture/picture.hpp"

#include "kiln/core/error/error.hpp"
#include "kiln/core/shape.hpp"

namespace kiln {

Picture blank(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return {std::vector<std::uint8_t>(static_cast<std::size_t>(numel(Shape{height, width, channels}))), height, width,
          channels};
}

void require_sound(std::string_view function, const Picture& picture) {
  const Shape shape = {picture.height, picture.width, picture.channels};
  require<ShapeError>(
      picture.height > 0 && picture.width > 0 && picture.channels > 0 && std::ssize(picture.pixels) == numel(shape),
      function, ": a picture of ", shape, " has ", picture.pixels.size(), " values");
}

Picture grey_of(const Picture& picture) {
  require_sound("grey_of", picture);
  require<ShapeError>(picture.channels == 1 || picture.channels == 3, "grey_of: a picture of ", picture.channels,
                      " channels is neither grey nor coloured");
  if (picture.channels == 1) return picture;
  Picture grey = blank(picture.height, picture.width, 1);
  const std::uint8_t* pixel = picture.pixels.data();
  for (std::uint8_t& value : grey.pixels) {
    value = static_cast<std::uint8_t>((pixel[0] * 19595u + pixel[1] * 38470u + pixel[2] * 7471u + 0x8000u) >> 16);
    pixel += 3;
  }
  return grey;
}

}  // namespace kiln
