// Decodes PNG and JPEG files, by libpng and libjpeg. docs/data.md specifies the resulting numbers.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "kiln/picture/picture.hpp"

namespace kiln {

/// Numbers: the stored number of each pixel of a PNG file, a palette index or a grey value of any depth, as in masks. A
/// file whose pixels have unequal colour channels, and a JPEG file, have none.
enum class Channels { Grey, Colour, Numbers };

struct DecodeConfig {
  Channels channels = Channels::Colour;  // the channels of the result, whatever the file has; transparency is dropped
  /// A file that claims more pixels than `most_pixels` is refused before memory is allocated for it; more than 2^26
  /// pixels are accepted only from a file with at least one byte for each `pixels_per_byte` of them.
  std::int64_t most_pixels = 1 << 28, pixels_per_byte = 1024;
};

/// `name` is the file's name in errors. Returns the file's numbers unchanged, whatever it says of gamma and colour
/// spaces; the upper 8 of 16 bits; grey of colours by grey_of(). Throws DataError where the file is neither PNG nor
/// JPEG, is damaged or cut off, or larger than allowed; and where this Kiln was built without the library.
Picture decode_picture(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config = {});
/// Decodes a file. Throws IoError as well.
Picture read_picture(const std::string& path, const DecodeConfig& config = {});

namespace picture {

Picture decode_png(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config);
Picture decode_jpeg(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config);
void require_allowed(std::string_view name, std::int64_t height, std::int64_t width, std::size_t file_bytes,
                     const DecodeConfig& config);

}  // namespace picture
}  // namespace kiln
