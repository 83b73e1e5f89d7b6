// What the functions of kiln/vision make of a picture, in one picture:
//
//   ./dev run vision [--picture vision.png] [--device cpu] [--of FILE.jpg]
//
// Without a file it draws a scene.
#include <optional>
#include <string>
#include <vector>

#include "kiln/core/config/arguments.hpp"
#include "kiln/data/png.hpp"
#include "kiln/ops/device.hpp"
#include "kiln/picture/decode.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/text/print.hpp"
#include "kiln/vision.hpp"

namespace {

using namespace kiln;
using namespace kiln::vision;

struct Run {
  std::string picture = "vision.png", device = "cpu";
  std::optional<std::string> of = {};  // a PNG or JPEG file
};

constexpr std::int64_t kHeight = 96, kWidth = 128;

/// A sky, a sun, a house and some birds.
Picture scene() {
  Picture picture = blank(kHeight, kWidth, 3);
  for (std::int64_t y = 0; y < kHeight; ++y) {
    const auto light = static_cast<std::uint8_t>(110 + y);
    fill_rectangle(picture, 0, static_cast<double>(y), kWidth, static_cast<double>(y + 1),
                   {static_cast<std::uint8_t>(light / 2), light, 235});
  }
  fill_rectangle(picture, 0, 70, kWidth, kHeight, {70, 130, 60});
  fill_rectangle(picture, 48, 42, 92, 80, {190, 150, 110});
  fill_rectangle(picture, 62, 58, 74, 80, {90, 50, 30});
  fill_rectangle(picture, 78, 50, 87, 59, {250, 240, 150});
  const Position roof[] = {{44, 43}, {70, 22}, {96, 43}}, sun[] = {{22, 20}},
                 birds[] = {{104, 14}, {113, 22}, {100, 30}};
  picture = draw_keypoints(std::move(picture), roof,
                           {.radius = 3, .bones = {{0, 1}, {1, 2}}, .thickness = 7, .colour = Colour{150, 40, 30}});
  picture = draw_keypoints(std::move(picture), sun, {.radius = 11, .colour = Colour{255, 210, 60}});
  return draw_keypoints(std::move(picture), birds, {.radius = 1.8, .colour = Colour{30, 30, 40}});
}

/// The pictures of a sheet, each with its name.
class Sheet {
 public:
  void add(const std::string& name, Picture picture) {
    if (has_font()) {
      fill_rectangle(picture, 0, 0, static_cast<double>(text_size(name).width + 3), 10, {0, 0, 0});
      picture = draw_text(std::move(picture), name, 2, 1, {255, 255, 255});
    }
    pictures_.push_back(std::move(picture));
  }
  template <class K>
  void add(const std::string& name, const Tensor<4, K>& x, const Display& display = {}) {
    add(name, pictures_of(x, display)[0]);
  }
  Picture joined() const { return grid_of(pictures_, {.columns = 6, .gap = 4, .ground = 255}); }

 private:
  std::vector<Picture> pictures_;
};

void add_filters(Sheet& sheet, const Tensor<4, Int>& x, const Tensor<4, Int>& grey) {
  sheet.add("gaussian_blur", gaussian_blur(x, {.rows = 9, .columns = 9}));
  sheet.add("median_blur", median_blur(x, 7));
  sheet.add("bilateral_blur", bilateral_blur(x, {.radius = 4, .sigma_colour = 60, .sigma_space = 3}));
  sheet.add("box_blur", box_blur(x, 1, 15));
  sheet.add("sobel", sobel(grey), {.spread = true});
  sheet.add("laplacian", laplacian(grey), {.spread = true});
  sheet.add("canny", canny(grey, {.low = 40, .high = 90}));
  sheet.add("erode", erode(x, ellipse(5, 5)));
  sheet.add("dilate", dilate(x, ellipse(5, 5)));
  sheet.add("morphological_gradient", morphological_gradient(x, cross(3, 3)));
  sheet.add("black_hat", black_hat(x, ellipse(9, 9)));
}

void add_colours(Sheet& sheet, const Tensor<4, Int>& x, const Tensor<4, Int>& grey) {
  sheet.add("rgb_to_grey", grey);
  sheet.add("rgb_to_hsv", rgb_to_hsv(x));
  sheet.add("rgb_to_ycbcr", rgb_to_ycbcr(x));
  sheet.add("rgb_to_lab", rgb_to_lab(x));
  sheet.add("equalized", equalized(x));
  sheet.add("threshold, otsu", threshold(grey, otsu_levels(grey)));
}

void add_maps(Sheet& sheet, const Tensor<4, Int>& x) {
  const auto height = static_cast<double>(x.dim(2)), width = static_cast<double>(x.dim(3));
  const Position middle{width / 2, height / 2};
  sheet.add("rotation", warp(x, Transform2D::rotation(20, middle)));
  sheet.add("shear", warp(x, Transform2D::shear(0.3, 0, middle), {.border = Border::Replicate}));
  sheet.add("scaling", warp(x, Transform2D::scaling(0.4, 0.4, middle), {.border = Border::Reflect}));
  sheet.add("perspective",
            warp(x, Transform2D::perspective({{{0, 0}, {width, 0}, {width, height}, {0, height}}},
                                             {{{25, 10}, {width - 20, 0}, {width, height}, {5, height - 15}}})));
  sheet.add("flip_across", flip_across(x));
}

void add_objects(Sheet& sheet, const Picture& picture, const Tensor<4, Int>& grey) {
  const Tensor<4, Int> dark = threshold(grey, 110, {ThresholdKind::BinaryInverse});
  const auto [labels, counts] = connected_components(dark);
  const std::int64_t count = counts.to_vector<std::int64_t>()[0];
  const std::vector<std::int64_t> numbers = labels.to_vector<std::int64_t>();
  const std::vector<std::int64_t> boxes = component_statistics(labels, count).boxes.to_vector<std::int64_t>();
  std::vector<std::vector<std::uint8_t>> masks(static_cast<std::size_t>(count));
  for (auto& mask : masks) mask.resize(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] > 0) masks[static_cast<std::size_t>(numbers[i] - 1)][i] = 1;
  sheet.add("connected_components", draw_masks(picture, masks, 0.7));
  std::vector<DrawnBox> drawn;
  for (std::size_t i = 4; i < boxes.size(); i += 4) {
    const auto at = [&](std::size_t k) { return static_cast<double>(boxes[i + k]); };
    drawn.push_back({.x1 = at(0) - 1, .y1 = at(1) - 1, .x2 = at(2) + 1, .y2 = at(3) + 1});
  }
  sheet.add("draw_boxes", draw_boxes(picture, drawn, {.thickness = 1}));
}

void draw(const Run& run) {
  const Device device = Device::parse(run.device);
  const Picture picture = run.of ? read_picture(*run.of) : scene();
  const Tensor<4, Int> x(tensor_of({&picture, 1}, device)), grey = rgb_to_grey(x);
  Sheet sheet;
  sheet.add("a picture", picture);
  add_colours(sheet, x, grey);
  add_filters(sheet, x, grey);
  add_maps(sheet, x);
  add_objects(sheet, picture, grey);
  write_picture(sheet.joined(), run.picture);
  print("drawn: {}\n", run.picture);
}

const Help kHelp{
    R"(What the functions of kiln/vision make of a picture, in one picture:

  ./dev run vision [--picture vision.png] [--device cpu] [--of FILE.jpg]

Without a file it draws a scene.)",
    {{"picture", "the file that is written"},
     {"device", "the device that computes"},
     {"of", "the PNG or JPEG file that is looked at; none: a scene that is drawn"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, draw, kHelp); }
