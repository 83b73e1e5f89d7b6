// Bytes that lie pixel by pixel, as files give them. Loaders change them in many threads, without a device, and round as Pillow
// does and kiln/vision does not: so these loops stand beside it.
#include "kiln/data/picture/geometry.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kiln/core/error/error.hpp"
#include "kiln/core/size.hpp"

namespace kiln {
namespace {

std::uint8_t rounded(double value) { return static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.5, 255.5)); }

/// The pixels that a new one covers along one side, and their weights.
struct Cover {
  std::int64_t first = 0;
  std::vector<float> weights;
};

std::vector<Cover> covers(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  std::vector<Cover> all;
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = static_cast<std::int64_t>(std::max(centre - reach + 0.5, 0.0));
    const auto end = static_cast<std::int64_t>(std::min(centre + reach + 0.5, static_cast<double>(from)));
    Cover& cover = all.emplace_back(Cover{first, {}});
    double sum = 0;
    for (std::int64_t at = first; at < end; ++at) {
      const double weight = std::max(0.0, 1 - std::abs((static_cast<double>(at) + 0.5 - centre) / reach));
      cover.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : cover.weights) weight = static_cast<float>(weight / sum);
  }
  return all;
}

}  // namespace

Picture crop(const Picture& picture, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width) {
  require_sound("crop", picture);
  require<ShapeError>(top >= 0 && left >= 0 && height > 0 && width > 0 && top <= picture.height - height &&
                          left <= picture.width - width,
                      "crop: ", height, " x ", width, " pixels from (", top, ", ", left, ") on do not lie in ",
                      picture.height, " x ", picture.width);
  Picture part = blank(height, width, picture.channels);
  for (std::int64_t y = 0; y < height; ++y)
    std::copy_n(picture.at(top + y, left), width * picture.channels, part.at(y, 0));
  return part;
}

Picture centre_crop(const Picture& picture, std::int64_t height, std::int64_t width) {
  return crop(picture, (picture.height - height) / 2, (picture.width - width) / 2, height, width);
}

Picture padded(const Picture& picture, std::int64_t border, std::uint8_t fill) {
  require_sound("padded", picture);
  require<ArgumentError>(border >= 0, "padded: a border of ", border, " pixels");
  const std::int64_t both = multiply_sizes("padded", 2, border);
  Picture wide =
      blank(add_sizes("padded", picture.height, both), add_sizes("padded", picture.width, both), picture.channels);
  std::ranges::fill(wide.pixels, fill);
  for (std::int64_t y = 0; y < picture.height; ++y)
    std::copy_n(picture.at(y, 0), picture.width * picture.channels, wide.at(border + y, border));
  return wide;
}

Picture mirrored(const Picture& picture) {
  require_sound("mirrored", picture);
  Picture other = picture;
  for (std::int64_t y = 0; y < picture.height; ++y)
    for (std::int64_t x = 0; x < picture.width; ++x)
      std::copy_n(picture.at(y, x), picture.channels, other.at(y, picture.width - 1 - x));
  return other;
}

Picture flipped(const Picture& picture) {
  require_sound("flipped", picture);
  Picture other = picture;
  for (std::int64_t y = 0; y < picture.height; ++y)
    std::copy_n(picture.at(y, 0), picture.width * picture.channels, other.at(picture.height - 1 - y, 0));
  return other;
}

Picture resized(const Picture& picture, std::int64_t height, std::int64_t width) {
  require_sound("resized", picture);
  constexpr std::int64_t kLargest = 1 << 20;
  require<ShapeError>(height > 0 && width > 0 && height <= kLargest && width <= kLargest, "resized: a picture of ",
                      height, " x ", width, " pixels");
  if (height == picture.height && width == picture.width) return picture;
  const std::int64_t channels = picture.channels;
  // First across, for all rows; then down, on results that are not rounded.
  const auto across = covers(picture.width, width), down = covers(picture.height, height);
  std::vector<float> rows(static_cast<std::size_t>(numel(Shape{picture.height, width, channels})));
  float* out = rows.data();
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (const Cover& cover : across) {
      const std::uint8_t* from = picture.at(y, cover.first);
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        float sum = 0;
        for (std::size_t i = 0; i < cover.weights.size(); ++i)
          sum += cover.weights[i] * from[static_cast<std::int64_t>(i) * channels + channel];
        *out++ = sum;
      }
    }
  }
  Picture result = blank(height, width, channels);
  const std::int64_t row = width * channels;
  std::vector<float> sums(static_cast<std::size_t>(row));
  for (std::int64_t y = 0; y < height; ++y) {
    const Cover& cover = down[static_cast<std::size_t>(y)];
    std::ranges::fill(sums, 0.0f);
    for (std::size_t i = 0; i < cover.weights.size(); ++i) {
      const float* from = &rows[static_cast<std::size_t>((cover.first + static_cast<std::int64_t>(i)) * row)];
      for (std::size_t x = 0; x < sums.size(); ++x) sums[x] += cover.weights[i] * from[x];
    }
    std::ranges::transform(sums, result.at(y, 0), [](float sum) { return rounded(static_cast<double>(sum)); });
  }
  return result;
}

Picture resized_to(const Picture& picture, std::int64_t side) {
  require_sound("resized_to", picture);
  const std::int64_t shorter = std::min(picture.height, picture.width);
  return resized(picture, multiply_sizes("resized_to", picture.height, side) / shorter,
                 multiply_sizes("resized_to", picture.width, side) / shorter);
}

Picture affine(const Picture& picture, const std::array<double, 6>& m, std::uint8_t fill) {
  require_sound("affine", picture);
  Picture result = blank(picture.height, picture.width, picture.channels);
  const auto height = static_cast<double>(picture.height), width = static_cast<double>(picture.width);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = 0; x < picture.width; ++x) {
      const double right = static_cast<double>(x) + 0.5, low = static_cast<double>(y) + 0.5;
      const double from_x = m[0] * right + m[1] * low + m[2], from_y = m[3] * right + m[4] * low + m[5];
      std::uint8_t* to = result.at(y, x);
      if (!(from_x >= 0 && from_x < width && from_y >= 0 && from_y < height)) {
        std::fill_n(to, picture.channels, fill);
        continue;
      }
      const double left_x = std::floor(from_x - 0.5), top_y = std::floor(from_y - 0.5);
      const double share_x = from_x - 0.5 - left_x, share_y = from_y - 0.5 - top_y;
      const auto inside = [](double at, std::int64_t size) {
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(at), 0, size - 1);
      };
      const std::int64_t x0 = inside(left_x, picture.width), x1 = inside(left_x + 1, picture.width);
      const std::int64_t y0 = inside(top_y, picture.height), y1 = inside(top_y + 1, picture.height);
      for (std::int64_t channel = 0; channel < picture.channels; ++channel) {
        const auto row = [&](std::int64_t at) {
          return std::lerp(static_cast<double>(picture.at(at, x0)[channel]),
                           static_cast<double>(picture.at(at, x1)[channel]), share_x);
        };
        to[channel] = rounded(std::lerp(row(y0), row(y1), share_y));
      }
    }
  }
  return result;
}

Picture rotated(const Picture& picture, double degrees, std::uint8_t fill) {
  const double angle = degrees * std::numbers::pi / 180, c = std::cos(angle), s = std::sin(angle);
  const double x = static_cast<double>(picture.width) / 2, y = static_cast<double>(picture.height) / 2;
  return affine(picture, {c, -s, x - c * x + s * y, s, c, y - s * x - c * y}, fill);
}

}  // namespace kiln
