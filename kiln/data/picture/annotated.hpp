// Pictures with boxes, masks and keypoints, which move with the picture: random changes for detectors and segmenters, each a function
// of the item and a key, as those of augment.hpp.
//
//   const auto change = [](const AnnotatedPicture& x, Random& r) { return randomly_mirrored(random_affine(x, {.degrees = 10}, r), r); };
//   const auto batcher = changing<AnnotatedPicture>(change, my_batcher);
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "kiln/core/random.hpp"
#include "kiln/data/picture/augment.hpp"
#include "kiln/data/picture/folder.hpp"
#include "kiln/vision/transform2d.hpp"

namespace kiln {

struct Keypoint {
  double x = 0, y = 0;  // pixel (column, row) covers column to column + 1
  bool is_visible = true;
};

/// Masks are pictures of one channel and of the picture's size: a number for each pixel. A picture of classes is one mask; the
/// masks of objects, one for each box, are several.
struct AnnotatedPicture {
  Picture picture;
  std::vector<Box> boxes{};
  std::vector<Picture> masks{};
  std::vector<Keypoint> keypoints{};
};

struct Move {
  std::uint8_t fill = 0, mask_fill = 0;  // what comes in from outside
  /// A box goes whose part inside of the picture is smaller than this share of it. Its number in `boxes` goes with it, and its
  /// mask too, where there are as many masks as boxes and the masks are those of objects.
  double least_visible = 0.1;
  bool masks_of_objects = false;
  /// Keypoints that are each other's mirror images, as the two hands: they change places where a picture is mirrored.
  std::vector<std::pair<std::size_t, std::size_t>> mirrored_keypoints{};
};

/// Everything at the places that `transform` gives it, in a picture of this size. Pictures are interpolated between pixels,
/// masks take the nearest. Boxes are those around where their corners go, cut off at the edges; keypoints that leave the
/// picture are no longer visible. Computed by the device "cpu". Throws ShapeError for masks of another size, ArgumentError;
/// DeviceError in a program without that device.
AnnotatedPicture moved(const AnnotatedPicture& item, const vision::Transform2D& transform, std::int64_t height,
                       std::int64_t width, const Move& options = {});
/// A part of it in another size, as crop() and resized() make it, with masks of the nearest pixels.
AnnotatedPicture cropped(const AnnotatedPicture& item, const CropPart& part, std::int64_t height, std::int64_t width,
                         const Move& options = {});
/// Left becomes right.
AnnotatedPicture mirrored(const AnnotatedPicture& item, const Move& options = {});

AnnotatedPicture randomly_mirrored(const AnnotatedPicture& item, Random& random, double probability = 0.5,
                                   const Move& options = {});
AnnotatedPicture random_resized_crop(const AnnotatedPicture& item, const RandomResizedCrop& config, Random& random,
                                     const Move& options = {});

/// Turned, sheared and scaled about the middle, and shifted, each by a number of the range up to these.
struct RandomAffine {
  double degrees = 0, shear = 0;            // -x to x; shear in x and y per pixel
  double least_scale = 1, most_scale = 1;   // of sides
  double shift_across = 0, shift_down = 0;  // shares of width and height
};
vision::Transform2D draw_affine(std::int64_t height, std::int64_t width, const RandomAffine& config, Random& random);
AnnotatedPicture random_affine(const AnnotatedPicture& item, const RandomAffine& config, Random& random,
                               const Move& options = {});

/// A batcher that changes each item first, by `change` of an item and a Random.
template <class Item, class Change, class Batcher>
auto changing(Change change, Batcher batcher) {
  return [change = std::move(change), batcher = std::move(batcher)](std::span<const Item> items,
                                                                    std::span<const Key> keys) {
    std::vector<Item> changed;
    for (std::size_t i = 0; i < items.size(); ++i) {
      Random random(keys[i]);
      changed.push_back(change(items[i], random));
    }
    return batcher(std::span<const Item>(changed));
  };
}

}  // namespace kiln
