#include "kiln/data/picture/annotated.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kiln/core/error/error.hpp"
#include "kiln/data/picture/geometry.hpp"
#include "kiln/ops/device.hpp"
#include "kiln/vision/display.hpp"
#include "kiln/vision/warp.hpp"

namespace kiln {
namespace {

using vision::Position;
using vision::Transform2D;

void require_item(std::string_view name, const AnnotatedPicture& item, const Move& options) {
  require_sound(name, item.picture);
  for (const Picture& mask : item.masks) {
    require_sound(name, mask);
    require<ShapeError>(mask.channels == 1 && mask.height == item.picture.height && mask.width == item.picture.width,
                        name, ": a mask of ", mask.height, " x ", mask.width, " pixels and ", mask.channels,
                        " channels for a picture of ", item.picture.height, " x ", item.picture.width);
  }
  require<ArgumentError>(options.least_visible >= 0 && options.least_visible <= 1, name,
                         ": least_visible = ", options.least_visible, " is not from 0 to 1");
  require<ArgumentError>(!options.masks_of_objects || item.masks.size() == item.boxes.size(), name, ": ",
                         item.masks.size(), " masks of objects for ", item.boxes.size(), " boxes");
  for (const auto& [left, right] : options.mirrored_keypoints)
    require<IndexError>(left < item.keypoints.size() && right < item.keypoints.size(), name, ": keypoints ", left,
                        " and ", right, " change places, of ", item.keypoints.size());
}

/// The box around where the corners of one go, as far as it lies in the picture; none where that is too little.
std::optional<Box> moved_box(const Box& box, const Transform2D& transform, std::int64_t height, std::int64_t width,
                             double least_visible) {
  double left = HUGE_VAL, top = HUGE_VAL, right = -HUGE_VAL, bottom = -HUGE_VAL;
  for (const double x : {box.left, box.left + box.width})
    for (const double y : {box.top, box.top + box.height}) {
      const Position p = transform({x, y});
      left = std::min(left, p.x);
      right = std::max(right, p.x);
      top = std::min(top, p.y);
      bottom = std::max(bottom, p.y);
    }
  const double whole = (right - left) * (bottom - top);
  left = std::max(left, 0.0);
  top = std::max(top, 0.0);
  right = std::min(right, static_cast<double>(width));
  bottom = std::min(bottom, static_cast<double>(height));
  if (!(left < right && top < bottom && (right - left) * (bottom - top) >= least_visible * whole)) return {};
  return Box{left, top, right - left, bottom - top, box.label};
}

/// The item under a transform; `of_picture` and `of_mask` make its pictures.
template <class OfPicture, class OfMask>
AnnotatedPicture changed(const AnnotatedPicture& item, const Transform2D& transform, const Move& options,
                         OfPicture of_picture, OfMask of_mask) {
  AnnotatedPicture result{.picture = of_picture(item.picture)};
  const auto [height, width] = std::pair(result.picture.height, result.picture.width);
  std::vector<bool> kept;
  for (const Box& box : item.boxes) {
    const auto there = moved_box(box, transform, height, width, options.least_visible);
    kept.push_back(there.has_value());
    if (there) result.boxes.push_back(*there);
  }
  for (std::size_t i = 0; i < item.masks.size(); ++i)
    if (!options.masks_of_objects || kept[i]) result.masks.push_back(of_mask(item.masks[i]));
  for (const Keypoint& keypoint : item.keypoints) {
    const Position p = transform({keypoint.x, keypoint.y});
    const bool inside = p.x >= 0 && p.y >= 0 && p.x <= static_cast<double>(width) && p.y <= static_cast<double>(height);
    result.keypoints.push_back({p.x, p.y, keypoint.is_visible && inside});
  }
  const Transform2D::Matrix& m = transform.matrix();
  if (m[0] * m[4] - m[1] * m[3] < 0)
    for (const auto& [left, right] : options.mirrored_keypoints)
      std::swap(result.keypoints[left], result.keypoints[right]);
  return result;
}

/// The result of a function of pictures as tensors for one picture.
template <class F>
Picture by_tensor(const Picture& picture, F function) {
  // The device is found by its name, so that programs that only read data link none.
  return vision::pictures_of(function(vision::tensor_of({&picture, 1}, Device::parse("cpu"))))[0];
}

Picture warped(const Picture& picture, const Transform2D& transform, const vision::Warp& options) {
  return by_tensor(picture, [&](const Value& x) { return vision::warp(x, transform, options); });
}

/// Resizes a picture; each pixel is the one with the nearest centre.
Picture nearest(const Picture& picture, std::int64_t height, std::int64_t width) {
  return by_tensor(
      picture, [&](const Value& x) { return vision::resize(x, height, width, {.mode = Interpolation::NearestExact}); });
}

}  // namespace

AnnotatedPicture moved(const AnnotatedPicture& item, const Transform2D& transform, std::int64_t height,
                       std::int64_t width, const Move& options) {
  require_item("moved", item, options);
  vision::Warp warp{.height = height, .width = width, .value = static_cast<double>(options.fill)};
  vision::Warp of_masks = warp;
  of_masks.mode = Interpolation::Nearest;
  of_masks.value = options.mask_fill;
  return changed(
      item, transform, options, [&](const Picture& x) { return warped(x, transform, warp); },
      [&](const Picture& x) { return warped(x, transform, of_masks); });
}

AnnotatedPicture cropped(const AnnotatedPicture& item, const CropPart& part, std::int64_t height, std::int64_t width,
                         const Move& options) {
  require_item("cropped", item, options);
  const auto taken = [&](const Picture& x) { return crop(x, part.top, part.left, part.height, part.width); };
  static_cast<void>(taken(item.picture));  // says where the part does not lie in it
  const auto scale = [](std::int64_t to, std::int64_t from) {
    return static_cast<double>(to) / static_cast<double>(from);
  };
  const Transform2D transform =
      Transform2D::scaling(scale(width, part.width), scale(height, part.height)) *
      Transform2D::translation(-static_cast<double>(part.left), -static_cast<double>(part.top));
  return changed(
      item, transform, options, [&](const Picture& x) { return resized(taken(x), height, width); },
      [&](const Picture& x) { return nearest(taken(x), height, width); });
}

AnnotatedPicture mirrored(const AnnotatedPicture& item, const Move& options) {
  require_item("mirrored", item, options);
  const auto mirror = [](const Picture& x) { return mirrored(x); };
  return changed(item, Transform2D::mirrored_across(static_cast<double>(item.picture.width)), options, mirror, mirror);
}

AnnotatedPicture randomly_mirrored(const AnnotatedPicture& item, Random& random, double probability,
                                   const Move& options) {
  return random.uniform() < probability ? mirrored(item, options) : item;
}

AnnotatedPicture random_resized_crop(const AnnotatedPicture& item, const RandomResizedCrop& config, Random& random,
                                     const Move& options) {
  return cropped(item, draw_crop(item.picture, config, random), config.height, config.width, options);
}

Transform2D draw_affine(std::int64_t height, std::int64_t width, const RandomAffine& config, Random& random) {
  const auto is_range = [](double x) { return x >= 0 && std::isfinite(x); };
  require<ArgumentError>(is_range(config.degrees) && is_range(config.shear) && is_range(config.shift_across) &&
                             is_range(config.shift_down),
                         "random_affine: degrees = ", config.degrees, ", shear = ", config.shear,
                         ", shift_across = ", config.shift_across, " and shift_down = ", config.shift_down,
                         " must be finite and not negative");
  require<ArgumentError>(config.least_scale > 0 && config.least_scale <= config.most_scale && config.most_scale <= 1e6,
                         "random_affine: least_scale = ", config.least_scale, " and most_scale = ", config.most_scale,
                         " must be in order, above 0 and at most 10^6");
  require<ArgumentError>(config.shear < 1, "random_affine: shear = ", config.shear, " must be below 1");
  const auto drawn = [&](double most) { return random.uniform(-most, most); };
  const Position middle{static_cast<double>(width) / 2, static_cast<double>(height) / 2};
  const double degrees = drawn(config.degrees), across = drawn(config.shear), down = drawn(config.shear);
  const double scale = std::exp(random.uniform(std::log(config.least_scale), std::log(config.most_scale)));
  const double right = drawn(config.shift_across) * static_cast<double>(width);
  const double below = drawn(config.shift_down) * static_cast<double>(height);
  return Transform2D::translation(right, below) * Transform2D::rotation(degrees, middle) *
         Transform2D::shear(across, down, middle) * Transform2D::scaling(scale, scale, middle);
}

AnnotatedPicture random_affine(const AnnotatedPicture& item, const RandomAffine& config, Random& random,
                               const Move& options) {
  require_sound("random_affine", item.picture);
  const Picture& x = item.picture;
  return moved(item, draw_affine(x.height, x.width, config, random), x.height, x.width, options);
}

}  // namespace kiln
