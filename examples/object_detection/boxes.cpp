#include "examples/object_detection/boxes.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "kiln/data/picture/annotated.hpp"
#include "kiln/data/png.hpp"
#include "kiln/tensor/text/print.hpp"
#include "kiln/vision/display.hpp"
#include "kiln/vision/draw.hpp"

namespace boxes {

using namespace kiln;
using models::YoloxBatcher;

Loaders load(const std::string& folder, const coco::PictureOptions& options) {
  const auto all =
      std::make_shared<const CocoPictures>(folder, (std::filesystem::path(folder) / options.annotations).string());
  const auto items = mapped(all, [](BoxedPicture item) {
    return AnnotatedPicture{.picture = std::move(item.picture), .boxes = std::move(item.boxes)};
  });
  print("{} pictures of {} classes\n", all->size(), all->classes().size());
  const std::int64_t side = options.side;
  const auto same = [side](const AnnotatedPicture& item, Random&) { return models::letterboxed(item, side, side); };
  const auto vary = [side](const AnnotatedPicture& item, Random& random) {
    const RandomResizedCrop cut{.height = side, .width = side, .least_area = 0.5};
    return randomly_mirrored(random_resized_crop(item, cut, random, {.least_visible = 0.3}), random);
  };
  return coco::loaders_of<models::BoxedBatch>(items, all->classes(), options, coco::Changes{same, vary},
                                              YoloxBatcher{.least_side = 2}, YoloxBatcher{});
}

void draw_found(const models::Yolox& model, const Loaders& loaders, std::int64_t side, const std::string& path) {
  std::vector<Picture> drawn;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(8, loaders.held_out->size()); ++i) {
    const Picture picture = models::letterboxed(loaders.held_out->get(i), side, side).picture;
    const models::Detections found = models::detect(model, picture, {.least_score = 0.4, .side = side});
    const auto corners = found.boxes.to_vector<double>();
    const auto labels = found.labels.to_vector<std::int64_t>();
    std::vector<vision::DrawnBox> around;
    for (std::size_t j = 0; j < labels.size(); ++j)
      around.push_back({.x1 = corners[4 * j],
                        .y1 = corners[4 * j + 1],
                        .x2 = corners[4 * j + 2],
                        .y2 = corners[4 * j + 3],
                        .colour = vision::colour_of(labels[j])});
    drawn.push_back(vision::draw_boxes(picture, around, {.thickness = 1}));
  }
  write_picture(vision::grid_of(drawn, {.columns = 4}), path);
  print("drawn: {}\n", path);
}

}  // namespace boxes
