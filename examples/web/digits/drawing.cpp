#include "examples/web/digits/drawing.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/core/error/error.hpp"

namespace digits {
namespace {

using namespace kiln;

constexpr std::int64_t kSide = 28, kInk = 20, kLargest = 4096;

struct Ink {
  std::vector<float> pixels;
  std::int64_t height, width;

  float at(std::int64_t y, std::int64_t x) const { return pixels[static_cast<std::size_t>(y * width + x)]; }
};

Ink ink_of(const TensorData& drawing) {
  const Shape& shape = drawing.shape();
  const bool fits = shape.size() == 2 && numel(shape) > 0 && shape[0] <= kLargest && shape[1] <= kLargest;
  require<ArgumentError>(fits && (drawing.dtype() == DType::U8 || drawing.dtype() == DType::F32),
                         "digits: a drawing is uint8 or float32 [height, width] with sides of 1 to ", kLargest,
                         ", not ", drawing.dtype(), ' ', shape);
  Ink ink{drawing.to_vector<float>(), shape[0], shape[1]};
  const float full = drawing.dtype() == DType::U8 ? 255.0f : 1.0f;
  for (float& pixel : ink.pixels) pixel = pixel > 0 ? std::min(pixel / full, 1.0f) : 0;  // NaN is no ink
  return ink;
}

/// Where the ink is: the longer side of its box, and its centre of mass.
struct Place {
  double side = 0, y = 0, x = 0;
};

Place place_of(const Ink& ink) {
  constexpr float kVisible = 0.2f;
  std::int64_t top = ink.height, bottom = -1, left = ink.width, right = -1;
  double mass = 0;
  Place place;
  for (std::int64_t y = 0; y < ink.height; ++y)
    for (std::int64_t x = 0; x < ink.width; ++x) {
      const float here = ink.at(y, x);
      mass += here;
      place.y += here * (static_cast<double>(y) + 0.5);
      place.x += here * (static_cast<double>(x) + 0.5);
      if (here < kVisible) continue;
      top = std::min(top, y), bottom = std::max(bottom, y);
      left = std::min(left, x), right = std::max(right, x);
    }
  if (bottom < 0) return {};
  return {static_cast<double>(std::max(bottom - top, right - left) + 1), place.y / mass, place.x / mass};
}

/// The mean over a square of the drawing, which is dark around.
float mean_of(const Ink& ink, double top, double left, double side) {
  const auto first = [](double at) { return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(at))); };
  double total = 0;
  for (std::int64_t y = first(top); y < ink.height && static_cast<double>(y) < top + side; ++y) {
    const double height = std::min(top + side, static_cast<double>(y) + 1) - std::max(top, static_cast<double>(y));
    for (std::int64_t x = first(left); x < ink.width && static_cast<double>(x) < left + side; ++x) {
      const double width = std::min(left + side, static_cast<double>(x) + 1) - std::max(left, static_cast<double>(x));
      total += std::max(height, 0.0) * std::max(width, 0.0) * ink.at(y, x);
    }
  }
  return static_cast<float>(total / (side * side));
}

}  // namespace

Image centred(const TensorData& drawing) {
  const Ink ink = ink_of(drawing);
  const Place place = place_of(ink);
  Image image{std::vector<float>(kSide * kSide), kSide, kSide, -1};
  if (place.side == 0) return image;
  const double step = place.side / kInk;
  for (std::int64_t y = 0; y < kSide; ++y)
    for (std::int64_t x = 0; x < kSide; ++x)
      image.pixels[static_cast<std::size_t>(y * kSide + x)] =
          mean_of(ink, place.y + (static_cast<double>(y) - kSide / 2.0) * step,
                  place.x + (static_cast<double>(x) - kSide / 2.0) * step, step);
  return image;
}

}  // namespace digits
