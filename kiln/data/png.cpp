#include "kiln/data/png.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include <zlib.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/file.hpp"

namespace kiln {
namespace {

using Bytes = std::vector<unsigned char>;

void append_number(Bytes& bytes, std::uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<unsigned char>(number >> shift));
}

/// A chunk: length, name, contents, and a checksum of name and contents.
void append_chunk(Bytes& file, std::string_view name, const Bytes& contents) {
  append_number(file, static_cast<std::uint32_t>(contents.size()));
  const std::size_t begin = file.size();
  file.insert(file.end(), name.begin(), name.end());
  file.insert(file.end(), contents.begin(), contents.end());
  append_number(file, static_cast<std::uint32_t>(crc32(0, &file[begin], static_cast<uInt>(file.size() - begin))));
}

/// A line for each row: 0, which means that pixels follow unfiltered, and the pixels.
Bytes rows_of(const Image& image) {
  Bytes rows;
  auto pixel = image.pixels.begin();
  for (std::int64_t y = 0; y < image.height; ++y) {
    rows.push_back(0);
    for (std::int64_t x = 0; x < image.width; ++x) rows.push_back(byte_of(*pixel++));
  }
  return rows;
}

void require_sound(const Image& image) {
  const Shape shape = {image.height, image.width};
  require<ShapeError>(
      image.height > 0 && image.width > 0 && static_cast<std::int64_t>(image.pixels.size()) == numel(shape),
      "write_png: an image of ", shape, " has ", image.pixels.size(), " pixels");
}

void require_writable(std::string_view function, std::int64_t height, std::int64_t width, std::int64_t channels) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / 2;
  require<MemoryError>(height < kMost && width < kMost / channels && height * (width * channels + 1) < kMost, function,
                       ": an image of ", Shape{height, width}, " is too large");
}

std::vector<std::byte> encoded(std::int64_t height, std::int64_t width, std::int64_t channels, const Bytes& rows) {
  constexpr unsigned char kGrey = 0, kColour = 2;
  Bytes header;
  append_number(header, static_cast<std::uint32_t>(width));
  append_number(header, static_cast<std::uint32_t>(height));
  for (const unsigned char each : Bytes{8 /* bits */, channels == 1 ? kGrey : kColour, 0, 0, 0}) header.push_back(each);

  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  Bytes pixels(size);
  const int status = compress(pixels.data(), &size, rows.data(), static_cast<uLong>(rows.size()));
  require<MemoryError>(status == Z_OK, "png: no memory to compress an image of ", Shape{height, width});
  pixels.resize(size);

  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  append_chunk(file, "IHDR", header);
  append_chunk(file, "IDAT", pixels);
  append_chunk(file, "IEND", {});
  const auto bytes = std::as_bytes(std::span(file));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Image grid_of(std::span<const Image> images, std::int64_t columns, std::int64_t scale) {
  require<ShapeError>(!images.empty(), "grid_of: a grid needs at least one image");
  require<ArgumentError>(columns > 0, "grid_of: columns = ", columns, " must be positive");
  require<ArgumentError>(scale > 0 && scale <= 64, "grid_of: scale = ", scale, " must lie between 1 and 64");
  const Image& first = images.front();
  const std::int64_t count = static_cast<std::int64_t>(images.size()), rows = (count + columns - 1) / columns;
  columns = std::min(columns, count);
  const std::int64_t high = first.height * scale + 1, wide = first.width * scale + 1;
  Image grid{.pixels = {}, .height = rows * high + 1, .width = columns * wide + 1};
  grid.pixels.assign(static_cast<std::size_t>(grid.height * grid.width), 0.25f);
  for (std::int64_t i = 0; i < count; ++i) {
    const Image& image = images[static_cast<std::size_t>(i)];
    require_sound(image);
    require<ShapeError>(image.height == first.height && image.width == first.width, "grid_of: an image of [",
                        image.height, ", ", image.width, "] beside one of [", first.height, ", ", first.width, "]");
    for (std::int64_t y = 0; y < high - 1; ++y)
      for (std::int64_t x = 0; x < wide - 1; ++x)
        grid.pixels[static_cast<std::size_t>((i / columns * high + 1 + y) * grid.width + i % columns * wide + 1 + x)] =
            image.pixels[static_cast<std::size_t>(y / scale * image.width + x / scale)];
  }
  return grid;
}

std::vector<std::byte> encode_png(const Image& image) {
  require_sound(image);
  require_writable("write_png", image.height, image.width, 1);
  return encoded(image.height, image.width, 1, rows_of(image));
}

std::vector<std::byte> encode_picture(const Picture& picture) {
  const auto& [pixels, height, width, channels] = picture;
  require_sound("write_picture", picture);
  require<ShapeError>(channels == 1 || channels == 3, "write_picture: a picture of ", channels,
                      " channels, not 1 or 3");
  require_writable("write_picture", height, width, channels);
  Bytes rows;
  for (std::int64_t y = 0; y < height; ++y) {
    rows.push_back(0);
    rows.insert(rows.end(), picture.at(y, 0), picture.at(y, 0) + width * channels);
  }
  return encoded(height, width, channels, rows);
}

void write_png(const Image& image, const std::string& path) { write_file_atomically(path, encode_png(image)); }
void write_picture(const Picture& picture, const std::string& path) {
  write_file_atomically(path, encode_picture(picture));
}

}  // namespace kiln
