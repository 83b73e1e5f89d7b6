#include "examples/segment/masks.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "kiln/data/png.hpp"
#include "kiln/tensor/text/print.hpp"
#include "kiln/vision/display.hpp"
#include "kiln/vision/draw.hpp"
#include "models/segmentation.hpp"

namespace masks {

using namespace kiln;

namespace {

AnnotatedPicture whole(const AnnotatedPicture& item, std::int64_t side) {
  return cropped(item, {0, 0, item.picture.height, item.picture.width}, side, side);
}

/// A colour for each class; black for the background, and for crowds.
Picture coloured(const Picture& mask) {
  Picture result = blank(mask.height, mask.width, 3);
  for (std::size_t i = 0; i < mask.pixels.size(); ++i)
    if (const std::uint8_t number = mask.pixels[i]; number > 0 && number != CocoMasks::kCrowd) {
      const auto [red, green, blue] = vision::colour_of(number - 1);
      std::ranges::copy(std::array{red, green, blue}, &result.pixels[3 * i]);
    }
  return result;
}

}  // namespace

Loaders load(const std::string& folder, const coco::PictureOptions& options) {
  const auto all =
      std::make_shared<const CocoMasks>(folder, (std::filesystem::path(folder) / options.annotations).string());
  const auto items = mapped(all, [](MaskedPicture item) {
    return AnnotatedPicture{.picture = std::move(item.picture), .masks = {std::move(item.mask)}};
  });
  print("{} pictures of {} classes and the background\n", all->size(), all->classes().size() - 1);
  const std::int64_t side = options.side;
  const auto same = [side](const AnnotatedPicture& item, Random&) { return whole(item, side); };
  const auto vary = [side](const AnnotatedPicture& item, Random& random) {
    const RandomResizedCrop cut{.height = side, .width = side, .least_area = 0.5};
    return randomly_mirrored(random_resized_crop(item, cut, random), random);
  };
  return coco::loaders_of<MaskedBatch>(items, all->classes(), options, coco::Changes{same, vary}, MaskedBatcher{},
                                       MaskedBatcher{});
}

void draw_seen(const models::UNet& model, const Loaders& loaders, std::int64_t side, const std::string& path) {
  std::vector<Picture> drawn[3];
  for (std::int64_t i = 0; i < std::min<std::int64_t>(8, loaders.held_out->size()); ++i) {
    const AnnotatedPicture item = whole(loaders.held_out->get(i), side);
    drawn[0].push_back(item.picture);
    drawn[1].push_back(coloured(item.masks.front()));
    drawn[2].push_back(coloured(models::segment(model, item.picture)));
  }
  std::vector<Picture> all;
  for (const auto& row : drawn) all.insert(all.end(), row.begin(), row.end());
  write_picture(vision::grid_of(all, {.columns = std::ssize(drawn[0])}), path);
  print("drawn: {}\n", path);
}

}  // namespace masks
