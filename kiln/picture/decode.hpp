// PNG and JPEG files to pictures, by libpng and libjpeg.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "kiln/picture/picture.hpp"

namespace kiln {

enum class Channels { Grey, Colour };

struct DecodeConfig {
  Channels channels = Channels::Colour;  // whatever the file has, it becomes these; transparency is dropped
  std::int64_t most_pixels = 1 << 28;    // a file that claims to hold more is refused before anything is made for it
};

/// `name` is what errors call the file. Throws DataError where it is neither PNG nor JPEG, is damaged or cut off, or larger
/// than allowed; and where this Kiln was built without the library.
Picture decode_picture(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config = {});
/// Throws IoError as well.
Picture read_picture(const std::string& path, const DecodeConfig& config = {});

namespace picture {

Picture decode_png(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config);
Picture decode_jpeg(std::span<const std::byte> file, std::string_view name, const DecodeConfig& config);
void require_allowed(std::string_view name, std::int64_t height, std::int64_t width, const DecodeConfig& config);

}  // namespace picture
}  // namespace kiln
