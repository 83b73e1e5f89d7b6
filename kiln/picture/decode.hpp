// PNG and JPEG files to pictures, by libpng and libjpeg. docs/data.md says which numbers come out of which file.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "kiln/picture/picture.hpp"

namespace kiln {

/// Numbers: what a PNG file keeps of each pixel, the place of its colour in a palette or its grey of any depth, as masks have
/// it; a file of colours that differ, and a JPEG file, have none.
enum class Channels { Grey, Colour, Numbers };

struct DecodeConfig {
  Channels channels = Channels::Colour;  // whatever the file has, it becomes these; transparency is dropped
  /// A file that claims to hold more pixels is refused before anything is made for it; and more than 2^26 come from a file
  /// only that has at least a byte for so many of them.
  std::int64_t most_pixels = 1 << 28, pixels_per_byte = 1024;
};

/// `name` is what errors call the file. The file's numbers as they are, whatever it says of gamma and colour spaces; of 16 bits
/// the upper 8; grey of colours by grey_of(). Throws DataError where it is neither PNG nor JPEG, is damaged or cut off, or
/// larger than allowed; and where this Kiln was built without the library.
Picture decode_picture(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config = {});
/// Throws IoError as well.
Picture read_picture(const std::string& path, const DecodeConfig& config = {});

namespace picture {

Picture decode_png(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config);
Picture decode_jpeg(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config);
void require_allowed(std::string_view name, std::int64_t height, std::int64_t width, std::size_t file_bytes,
                     const DecodeConfig& config);

}  // namespace picture
}  // namespace kiln
