// Random augmentations of pictures, each a function of the picture and a key: a loader gives each item a key per epoch,
// so that results do not depend on the number of workers, and are the same when training is resumed.
//
//   const auto augmented = augmenting([](const Picture& x, Random& r) { return randomly_mirrored(random_crop(padded(x, 4), 32, 32, r), r); },
//                                     PictureBatcher::image_net());
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kiln/core/random.hpp"
#include "kiln/data/picture/picture.hpp"

namespace kiln {

/// Mirrors a picture with this probability.
Picture randomly_mirrored(const Picture& picture, Random& random, double probability = 0.5);
/// Throws ShapeError if the picture is smaller.
Picture random_crop(const Picture& picture, std::int64_t height, std::int64_t width, Random& random);

struct RandomResizedCrop {
  std::int64_t height = 224, width = 224;
  double least_area = 0.08, most_area = 1;          // fractions of the picture's area
  double least_ratio = 0.75, most_ratio = 4.0 / 3;  // width / height of the part
};
struct CropPart {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};
/// The part that random_resized_crop takes. Throws ArgumentError.
CropPart draw_crop(const Picture& picture, const RandomResizedCrop& config, Random& random);
/// A part of random area and proportions, resized to a fixed size (Szegedy et al., "Going deeper with convolutions",
/// 2015). Throws ArgumentError.
Picture random_resized_crop(const Picture& picture, const RandomResizedCrop& config, Random& random);

struct ColourJitter {
  double brightness = 0, contrast = 0, saturation = 0;  // factors from 1 - x to 1 + x, not below 0
  double hue = 0;                                       // turns from -x to x, at most 0.5
};
/// Applies the four changes in a random order. Throws ArgumentError.
Picture colour_jittered(const Picture& picture, const ColourJitter& config, Random& random);

struct RandAugment {
  int operations = 2;
  int magnitude = 9;  // out of 30
};
/// Applies `operations` of fourteen changes, sampled with replacement, all with the same strength (Cubuk et al.,
/// "RandAugment: practical automated data augmentation with a reduced search space", 2020). Throws ArgumentError.
Picture rand_augmented(const Picture& picture, const RandAugment& config, Random& random);

/// A batcher that first changes each picture: augmenting(change, batcher), where `change` takes a picture and a Random.
template <class Change, class Batcher>
auto augmenting(Change change, Batcher batcher) {
  return [change = std::move(change), batcher = std::move(batcher)](std::span<const LabelledPicture> items,
                                                                    std::span<const Key> keys) {
    std::vector<LabelledPicture> changed;
    for (std::size_t i = 0; i < items.size(); ++i) {
      Random random(keys[i]);
      changed.push_back({change(items[i].picture, random), items[i].label});
    }
    return batcher(std::span<const LabelledPicture>(changed));
  };
}

}  // namespace kiln
