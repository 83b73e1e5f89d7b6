// All functions give the same on devices that have no kernels of their own for them: the plain kernels, and a simulated GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "kiln/vision.hpp"
#include "tests/vision/figures.hpp"

namespace kiln::vision {
namespace {

struct Case {
  const char* name;
  std::function<Values(const Device&)> run;
};

/// Waves of float32 from 0 to 1, long ones and short ones.
Value on(const Device& device, const Shape& shape) {
  TensorData data(shape, DType::F32);
  float i = 0;
  for (float& x : data.as<float>()) {
    x = 0.5f + 0.5f * std::sin(i * 0.37f) * std::cos(i * 0.0113f);
    ++i;
  }
  return from_data(std::move(data), device);
}
Value boxes_on(const Device& device) {
  const Value numbers = from_data(numbers_of({100, 4}, 0, 1).to(DType::F32), device);
  return convert_boxes(numbers * 0.4 + 0.1, BoxFormat::CornerSize, BoxFormat::Corners);
}

std::vector<Case> cases() {
  const auto floats = [](auto f) {
    return [f](const Device& device) { return Values{f(on(device, {1, 3, 13, 17}))}; };
  };
  const auto bytes = [](auto f) {
    return [f](const Device& device) { return Values{f(cast(on(device, {1, 3, 13, 17}) * 255, DType::U8))}; };
  };
  return {
      {"gaussian_blur", bytes([](const Value& x) { return gaussian_blur(x, {.rows = 5, .columns = 3}); })},
      {"filter2d", floats([](const Value& x) { return filter2d(x, ones({3, 3}, x.device())); })},
      {"median_blur", bytes([](const Value& x) { return median_blur(x, 3); })},
      {"bilateral_blur", floats([](const Value& x) { return bilateral_blur(x, {.radius = 1}); })},
      {"sobel", bytes([](const Value& x) { return sobel(x); })},
      {"dilate", bytes([](const Value& x) { return dilate(x, ellipse(3, 5), {.border = Border::Reflect}); })},
      {"equalized", bytes([](const Value& x) { return equalized(x); })},
      {"otsu_levels", bytes([](const Value& x) { return otsu_levels(x); })},
      {"rgb_to_hsv", bytes([](const Value& x) { return rgb_to_hsv(x); })},
      {"rgb_to_lab", floats([](const Value& x) { return rgb_to_lab(clamp(x, 0.0, 1.0)); })},
      {"warp", floats([](const Value& x) { return warp(x, Transform2D::rotation(20), {.border = Border::Wrap}); })},
      {"resize", bytes([](const Value& x) { return resize(x, 7, 9); })},
      {"canny",
       [](const Device& device) {
         return Values{canny(cast(on(device, {1, 1, 20, 20}) * 255, DType::U8), {.low = 60, .high = 120})};
       }},
      {"connected_components",
       [](const Device& device) {
         const Components found = connected_components(gt(on(device, {2, 1, 23, 29}), 0.5), Connectivity::Four);
         const ComponentStatistics statistics = component_statistics(found.labels, 400);
         return Values{found.labels, found.counts, statistics.areas, statistics.boxes, statistics.centroids};
       }},
      {"nms",
       [](const Device& device) {
         const Value boxes = boxes_on(device), scores = at(boxes, 1, 0),
                     groups = remainder(arange(0, 100, 1, device), 3);
         const Scored soft = soft_nms(boxes, scores, {.most = 5});
         return Values{nms(boxes, scores, groups), soft.indices, soft.scores};
       }},
      {"roi_pool",
       [](const Device& device) {
         const Value boxes = from_data(TensorData::of<float>({2, 5}, {0, 1, 1, 9, 9, 0, -3, 2, 30, 5}), device);
         return Values{roi_pool(on(device, {1, 3, 13, 17}), boxes, {.size = {2, 3}})};
       }},
  };
}

/// Two that every machine has, or those that KILN_TEST_DEVICES names, with spaces between them.
std::vector<std::string> devices_to_try() {
  const char* const wanted = std::getenv("KILN_TEST_DEVICES");
  std::istringstream names(wanted ? wanted : "reference simulated");
  return {std::istream_iterator<std::string>(names), {}};
}

TEST(Devices, GiveTheSame) {
  for (const std::string& name : devices_to_try())
    for (const Case& each : cases()) {
      const Values wanted = each.run(test::cpu), found = each.run(Device::parse(name));
      ASSERT_EQ(wanted.size(), found.size());
      for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_EQ(difference(found[i].data(), wanted[i].data(), {1e-5, 2e-5}), "") << each.name << " on " << name;
    }
}

}  // namespace
}  // namespace kiln::vision
