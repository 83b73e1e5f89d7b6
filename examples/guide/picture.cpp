#include "examples/guide/picture.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "kiln/core/file.hpp"
#include "kiln/core/text.hpp"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace guide {
namespace {

using kiln::Image;

constexpr std::int64_t kSide = 28, kLargest = 1 << 14;

float at(const Image& image, std::int64_t y, std::int64_t x) {
  return image.pixels[static_cast<std::size_t>(y * image.width + x)];
}

/// The mean of the source pixels that each of kSide x kSide result pixels covers, weighted by how much of each.
Image resized(const Image& image) {
  Image result{std::vector<float>(kSide * kSide), kSide, kSide, image.label};
  const double down = static_cast<double>(image.height) / kSide, across = static_cast<double>(image.width) / kSide;
  const auto overlap = [](double begin, double end, std::int64_t pixel) {
    return std::max(0.0, std::min(end, static_cast<double>(pixel) + 1) - std::max(begin, static_cast<double>(pixel)));
  };
  for (std::int64_t y = 0; y < kSide; ++y)
    for (std::int64_t x = 0; x < kSide; ++x) {
      const double top = static_cast<double>(y) * down, left = static_cast<double>(x) * across;
      double total = 0, weight = 0;
      for (auto sy = static_cast<std::int64_t>(top); sy < image.height && static_cast<double>(sy) < top + down; ++sy)
        for (auto sx = static_cast<std::int64_t>(left); sx < image.width && static_cast<double>(sx) < left + across;
             ++sx) {
          const double share = overlap(top, top + down, sy) * overlap(left, left + across, sx);
          total += share * at(image, sy, sx);
          weight += share;
        }
      result.pixels[static_cast<std::size_t>(y * kSide + x)] = static_cast<float>(weight > 0 ? total / weight : 0);
    }
  return result;
}

/// The border tells the background: ink seldom reaches it.
bool bright_background(const Image& image) {
  double total = 0;
  for (std::int64_t x = 0; x < image.width; ++x) total += at(image, 0, x) + at(image, image.height - 1, x);
  for (std::int64_t y = 0; y < image.height; ++y) total += at(image, y, 0) + at(image, y, image.width - 1);
  return total > static_cast<double>(image.width + image.height);
}

}  // namespace

Image read_picture(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = kiln::read_file(file);
  int width = 0, height = 0, channels = 0;
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int size = bytes.size() > INT_MAX ? INT_MAX : static_cast<int>(bytes.size());
  if (!stbi_info_from_memory(data, size, &width, &height, &channels) || width > kLargest || height > kLargest)
    kiln::fail<kiln::DataError>(file.string(), ": not an image of at most ", kLargest, " x ", kLargest, " pixels");
  const std::unique_ptr<stbi_uc, void (*)(void*)> grey(stbi_load_from_memory(data, size, &width, &height, &channels, 1),
                                                       stbi_image_free);
  if (!grey) kiln::fail<kiln::DataError>(file.string(), ": the image is damaged (", stbi_failure_reason(), ")");
  Image image{{}, height, width, -1};
  for (std::int64_t i = 0; i < std::int64_t{width} * height; ++i)
    image.pixels.push_back(static_cast<float>(grey.get()[i]) / 255);
  if (bright_background(image))
    for (float& pixel : image.pixels) pixel = 1 - pixel;
  return width == kSide && height == kSide ? image : resized(image);
}

namespace {

std::string draw_in_letters(const Image& image) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  std::string text;
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const auto shade = static_cast<std::size_t>(std::lround(std::clamp(at(image, y, x), 0.0f, 1.0f) * 9));
      text.append(2, kShades[shade]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::string draw(const Image& image, bool colours) {
  if (!colours) return draw_in_letters(image);
  // The 24 greys of a 256-colour terminal begin at colour 232.
  const auto grey = [&](std::int64_t y, std::int64_t x) {
    const float ink = y < image.height ? at(image, y, x) : 0;
    return 232 + std::clamp(static_cast<int>(ink * 24), 0, 23);
  };
  std::string text;
  for (std::int64_t y = 0; y < image.height; y += 2) {
    for (std::int64_t x = 0; x < image.width; ++x)
      text += kiln::text("\x1b[38;5;", grey(y, x), ";48;5;", grey(y + 1, x), "m▀");
    text += "\x1b[0m\n";
  }
  return text;
}

}  // namespace guide
