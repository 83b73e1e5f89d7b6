#include <png.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/picture/decode.hpp"

namespace kiln::picture {

Picture decode_png(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config) {
  struct Image : png_image {
    Image() : png_image{} { version = PNG_IMAGE_VERSION; }
    Image(const Image&) = delete;
    ~Image() { png_image_free(this); }
  } image;
  const auto refuse = [&] { fail<DataError>(name, ": is a damaged PNG file: ", shown(image.message)); };
  if (!png_image_begin_read_from_memory(&image, file.data(), file.size())) refuse();
  require_allowed(name, image.height, image.width, config);
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // numbers of 16 bits are no brighter or darker than those of 8

  // With transparency, which libpng would otherwise mix with black; it goes below.
  const bool colour = config.channels == Channels::Colour;
  image.format = colour ? PNG_FORMAT_RGBA : PNG_FORMAT_GA;
  const std::int64_t read = colour ? 4 : 2;
  Picture picture = blank(image.height, image.width, read);
  if (!png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr)) refuse();
  picture.channels = read - 1;
  auto to = picture.pixels.begin();
  for (std::size_t i = 0; i < picture.pixels.size(); ++i)
    if (i % static_cast<std::size_t>(read) != static_cast<std::size_t>(read) - 1) *to++ = picture.pixels[i];
  picture.pixels.erase(to, picture.pixels.end());
  return picture;
}

}  // namespace kiln::picture
