#include "examples/coco/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "kiln/core/config/config.hpp"
#include "kiln/core/random.hpp"
#include "kiln/data/png.hpp"
#include "kiln/vision/polygon.hpp"

namespace shapes {
namespace {

using namespace kiln;
namespace fs = std::filesystem;
using vision::Position;

struct Thing {
  Position middle;
  double radius;
};

/// The corners of a disc, a square or a triangle, turned by a random angle.
std::vector<Position> outline_of(const Thing& thing, std::int64_t kind, Random& random) {
  const int corners = kind == 0 ? 32 : kind == 1 ? 4 : 3;
  const double turn = random.uniform(0, 2 * std::numbers::pi);
  std::vector<Position> outline;
  for (int i = 0; i < corners; ++i) {
    const double angle = turn + 2 * std::numbers::pi * i / corners;
    outline.push_back(
        {thing.middle.x + thing.radius * std::cos(angle), thing.middle.y + thing.radius * std::sin(angle)});
  }
  return outline;
}

/// The box around an outline, as far as it lies in the picture.
Box box_of(const std::vector<Position>& outline, double side, std::int64_t kind) {
  const auto [left, right] = std::ranges::minmax_element(outline, {}, &Position::x);
  const auto [top, bottom] = std::ranges::minmax_element(outline, {}, &Position::y);
  const double x = std::max(left->x, 0.0), y = std::max(top->y, 0.0);
  return {x, y, std::min(right->x, side) - x, std::min(bottom->y, side) - y, kind};
}

std::uint8_t byte(double x) { return static_cast<std::uint8_t>(std::clamp(std::round(x), 0.0, 255.0)); }

Picture ground(std::int64_t side, Random& random) {
  Picture picture = blank(side, side, 3);
  const double across = random.uniform(-40, 40), down = random.uniform(-40, 40), size = static_cast<double>(side);
  const double base[] = {random.uniform(40, 120), random.uniform(40, 120), random.uniform(40, 120)};
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x)
      for (std::size_t channel = 0; channel < 3; ++channel)
        picture.at(y, x)[channel] = byte(base[channel] + across * (static_cast<double>(x) / size - 0.5) +
                                         down * (static_cast<double>(y) / size - 0.5));
  return picture;
}

/// A place that is not too near to those that are taken; none after some tries.
std::vector<Thing> places(double side, Random& random) {
  std::vector<Thing> things;
  const int wanted = 1 + static_cast<int>(random.uniform(0, 4));
  for (int tries = 0; tries < 30 && std::ssize(things) < wanted; ++tries) {
    const Thing thing{{random.uniform(0.12, 0.88) * side, random.uniform(0.12, 0.88) * side},
                      random.uniform(0.12, 0.24) * side};
    const bool is_free = std::ranges::none_of(things, [&](const Thing& other) {
      return std::hypot(thing.middle.x - other.middle.x, thing.middle.y - other.middle.y) <
             0.85 * (thing.radius + other.radius);
    });
    if (is_free) things.push_back(thing);
  }
  return things;
}

// instances.json, with the keys that COCO's own files have.
struct CocoImage {
  std::int64_t id;
  std::string file_name;
  std::int64_t height, width;
};
struct CocoCategory {
  std::int64_t id;
  std::string name;
};
struct CocoAnnotation {
  std::int64_t id, image_id, category_id;
  std::vector<double> bbox;
  std::vector<std::vector<double>> segmentation;
  std::int64_t iscrowd = 0;
};
struct Instances {
  std::vector<CocoImage> images{};
  std::vector<CocoCategory> categories{};
  std::vector<CocoAnnotation> annotations{};
};

void note(Instances& instances, const Scene& scene, const std::string& file) {
  const std::int64_t image = std::ssize(instances.images);
  instances.images.push_back({image, file, scene.item.picture.height, scene.item.picture.width});
  for (std::size_t i = 0; i < scene.outlines.size(); ++i) {
    const Box& box = scene.item.boxes[i];
    std::vector<double> corners;
    for (const Position& corner : scene.outlines[i]) corners.insert(corners.end(), {corner.x, corner.y});
    instances.annotations.push_back({.id = std::ssize(instances.annotations),
                                     .image_id = image,
                                     .category_id = box.label + 1,
                                     .bbox = {box.left, box.top, box.width, box.height},
                                     .segmentation = {corners}});
  }
}

}  // namespace

Scene scene(std::int64_t side, std::uint64_t seed) {
  Random random(Key{seed});
  const double size = static_cast<double>(side);
  Scene result{.item = {.picture = ground(side, random)}, .outlines = {}};
  for (const Thing& thing : places(size, random)) {
    const auto kind = static_cast<std::int64_t>(random.uniform(0, static_cast<double>(kNames.size())));
    const auto shade = [&] { return byte(random.uniform(120, 255)); };
    const vision::Colour colour{shade(), shade(), shade()};
    const std::vector<Position>& outline = result.outlines.emplace_back(outline_of(thing, kind, random));
    vision::fill_polygon(result.item.picture, outline, colour);
    result.item.boxes.push_back(box_of(outline, size, kind));
  }
  for (std::uint8_t& pixel : result.item.picture.pixels) pixel = byte(pixel + 8 * random.normal());
  return result;
}

std::string draw(std::int64_t count, std::int64_t side) {
  require<ArgumentError>(count >= 10, "--pictures ", count, " must be at least 10");
  require<ArgumentError>(side >= 32 && side <= 1024, "--side ", side, " must be 32 to 1024");
  const fs::path finished = text("shapes-", count, '-', side), folder = text(finished.string(), ".unfinished");
  if (fs::exists(finished)) return finished.string();
  fs::remove_all(folder);
  fs::create_directories(folder);
  Instances instances;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    instances.categories.push_back({static_cast<std::int64_t>(i) + 1, kNames[i]});
  for (std::int64_t i = 0; i < count; ++i) {
    const Scene drawn = scene(side, static_cast<std::uint64_t>(i));
    const std::string file = text(i, ".png");
    write_picture(drawn.item.picture, (folder / file).string());
    note(instances, drawn, file);
  }
  save_config(instances, (folder / "instances.json").string());
  fs::rename(folder, finished);
  return finished.string();
}

}  // namespace shapes
