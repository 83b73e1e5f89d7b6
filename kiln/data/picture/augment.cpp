#include "kiln/data/picture/augment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/data/picture/colour.hpp"
#include "kiln/data/picture/geometry.hpp"

namespace kiln {

Picture randomly_mirrored(const Picture& picture, Random& random, double probability) {
  return random.uniform() < probability ? mirrored(picture) : picture;
}

namespace {

/// Samples the position of a part of this size, which is not larger than the picture.
CropPart placed(const Picture& picture, std::int64_t height, std::int64_t width, Random& random) {
  const std::int64_t top = random.below(picture.height - height + 1), left = random.below(picture.width - width + 1);
  return {top, left, height, width};
}

Picture taken(const Picture& picture, const CropPart& part) {
  return crop(picture, part.top, part.left, part.height, part.width);
}

}  // namespace

Picture random_crop(const Picture& picture, std::int64_t height, std::int64_t width, Random& random) {
  require_sound("random_crop", picture);
  require<ShapeError>(height >= 1 && width >= 1 && height <= picture.height && width <= picture.width,
                      "random_crop: ", height, " x ", width, " pixels do not lie in ", picture.height, " x ",
                      picture.width);
  return taken(picture, placed(picture, height, width, random));
}

CropPart draw_crop(const Picture& picture, const RandomResizedCrop& config, Random& random) {
  require_sound("random_resized_crop", picture);
  require<ArgumentError>(config.least_area > 0 && config.least_area <= config.most_area && config.most_area <= 1,
                         "random_resized_crop: least_area = ", config.least_area, " and most_area = ", config.most_area,
                         " must be in order, above 0 and at most 1");
  require<ArgumentError>(config.least_ratio > 0 && config.least_ratio <= config.most_ratio && config.most_ratio < 1e6,
                         "random_resized_crop: least_ratio = ", config.least_ratio,
                         " and most_ratio = ", config.most_ratio, " must be in order, above 0");
  require<ArgumentError>(config.height >= 1 && config.width >= 1, "random_resized_crop: height = ", config.height,
                         " and width = ", config.width, " must be positive");
  const auto height = static_cast<double>(picture.height), width = static_cast<double>(picture.width);
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    const double area = height * width * random.uniform(config.least_area, config.most_area);
    const double ratio = std::exp(random.uniform(std::log(config.least_ratio), std::log(config.most_ratio)));
    const std::int64_t across = std::lround(std::sqrt(area * ratio)), down = std::lround(std::sqrt(area / ratio));
    if (across >= 1 && down >= 1 && across <= picture.width && down <= picture.height)
      return placed(picture, down, across, random);
  }
  // No part of these proportions fits into so long a picture: takes the middle, with proportions as near as possible.
  const double ratio = std::clamp(width / height, config.least_ratio, config.most_ratio);
  const std::int64_t across = std::clamp<std::int64_t>(std::lround(height * ratio), 1, picture.width);
  const std::int64_t down = std::clamp<std::int64_t>(std::lround(width / ratio), 1, picture.height);
  return {(picture.height - down) / 2, (picture.width - across) / 2, down, across};
}

Picture random_resized_crop(const Picture& picture, const RandomResizedCrop& config, Random& random) {
  return resized(taken(picture, draw_crop(picture, config, random)), config.height, config.width);
}

Picture colour_jittered(const Picture& picture, const ColourJitter& config, Random& random) {
  for (const auto& [name, x] : {std::pair("brightness", config.brightness), std::pair("contrast", config.contrast),
                                std::pair("saturation", config.saturation), std::pair("hue", config.hue)})
    require<ArgumentError>(x >= 0 && std::isfinite(x), "colour_jittered: ", name, " = ", x,
                           " must be finite and not negative");
  const auto factor = [&](double x) { return random.uniform(std::max(0.0, 1 - x), 1 + x); };
  std::array<int, 4> order = {0, 1, 2, 3};
  for (std::int64_t i = 3; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.below(i + 1))]);
  Picture result = picture;
  for (const int change : order) {
    if (change == 0 && config.brightness > 0) result = with_brightness(result, factor(config.brightness));
    if (change == 1 && config.contrast > 0) result = with_contrast(result, factor(config.contrast));
    if (change == 2 && config.saturation > 0) result = with_saturation(result, factor(config.saturation));
    if (change == 3 && config.hue > 0) result = with_hue(result, random.uniform(-config.hue, config.hue));
  }
  return result;
}

namespace {

/// Applies one of the changes; `strength` from 0 to 1 is the magnitude. Changes with two directions take one at random.
Picture changed(const Picture& picture, std::int64_t change, double strength, Random& random) {
  const double sign = random.below(2) ? 1 : -1;
  const auto height = static_cast<double>(picture.height), width = static_cast<double>(picture.width);
  const double shear = 0.3 * strength * sign, enhance = std::max(0.0, 1 + 0.9 * strength * sign);
  constexpr double kShift = 150.0 / 331;  // a fraction of a side: the paper's 150 pixels of 331
  switch (change) {
    case 0: return picture;
    case 1: return affine(picture, {1, shear, -shear * height / 2, 0, 1, 0});
    case 2: return affine(picture, {1, 0, 0, shear, 1, -shear * width / 2});
    case 3: return affine(picture, {1, 0, kShift * strength * sign * width, 0, 1, 0});
    case 4: return affine(picture, {1, 0, 0, 0, 1, kShift * strength * sign * height});
    case 5: return rotated(picture, 30 * strength * sign);
    case 6: return with_brightness(picture, enhance);
    case 7: return with_saturation(picture, enhance);
    case 8: return with_contrast(picture, enhance);
    case 9: return with_sharpness(picture, enhance);
    case 10: return posterized(picture, 8 - static_cast<int>(std::lround(4 * strength)));
    case 11: return solarized(picture, static_cast<int>(std::lround(256 * (1 - strength))));
    case 12: return autocontrasted(picture);
    default: return equalized(picture);
  }
}

}  // namespace

Picture rand_augmented(const Picture& picture, const RandAugment& config, Random& random) {
  constexpr int kMost = 30, kChanges = 14;
  require<ArgumentError>(config.operations >= 0 && config.magnitude >= 0 && config.magnitude <= kMost,
                         "rand_augmented: ", config.operations, " operations of magnitude ", config.magnitude,
                         ": it must be 0 to ", kMost);
  Picture result = picture;
  for (int i = 0; i < config.operations; ++i)
    result = changed(result, random.below(kChanges), static_cast<double>(config.magnitude) / kMost, random);
  return result;
}

}  // namespace kiln
