// Interpolation on a grid, from the definition of each kernel: a double loop over result and operand along every axis.
#include "kiln/ops/spatial/resample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kiln/ops/value.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

using enum Interpolation;
constexpr double kPi = 3.14159265358979323846;

double sinc(double x) { return x == 0 ? 1 : std::sin(kPi * x) / (kPi * x); }

double kernel(Interpolation mode, bool antialias, double x) {
  const double d = std::abs(x), a = antialias ? -0.5 : -0.75;
  if (mode == Linear) return d < 1 ? 1 - d : 0;
  if (mode == Lanczos3) return d < 3 ? sinc(x) * sinc(x / 3) : 0;
  if (d < 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

/// What element `i` of `from` counts for in element `o` of `to`.
double weight(const InterpolateOptions& options, std::int64_t from, std::int64_t to, double factor, std::int64_t o,
              std::int64_t i) {
  const auto n = static_cast<double>(from), at = static_cast<double>(o), place = static_cast<double>(i);
  double step = factor > 0 ? 1 / factor : n / static_cast<double>(to);
  if (options.align_corners) step = to > 1 ? (n - 1) / static_cast<double>(to - 1) : 0;
  if (options.mode == Nearest) return place == std::min(std::floor(at * step + 1e-9), n - 1);
  if (options.mode == NearestExact) return place == std::min(std::floor((at + 0.5) * step + 1e-9), n - 1);
  if (options.mode == Area) {
    const double begin = std::floor(at * n / static_cast<double>(to) + 1e-9);
    const double end = std::ceil((at + 1) * n / static_cast<double>(to) - 1e-9);
    return place >= begin && place < end ? 1 / (end - begin) : 0;
  }
  const double centre = options.align_corners ? at * step : (at + 0.5) * step - 0.5;
  const auto plain = [&](double j) {
    return kernel(options.mode, options.antialias, (centre - j) / (options.antialias ? std::max(step, 1.0) : 1));
  };
  if (options.antialias || options.mode == Lanczos3) {
    double sum = 0;
    for (std::int64_t j = 0; j < from; ++j) sum += plain(static_cast<double>(j));
    return plain(place) / sum;
  }
  double sum = plain(place);  // what lies outside counts for the border
  for (std::int64_t j = 1; j < 8; ++j) {
    if (i == 0) sum += plain(-static_cast<double>(j));
    if (i == from - 1) sum += plain(n - 1 + static_cast<double>(j));
  }
  return sum;
}

OpCase row(std::string name, const Shape& x, const InterpolateOptions& options, bool gradient = true) {
  return {.name = std::move(name),
          .operands = {{x}},
          .function = [=](const Values& in) { return Values{interpolate(in[0], options)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array y = in[0];
                for (int axis = 2; axis < x.size(); ++axis) {
                  const double factor = options.scale.empty() ? 0 : options.scale[axis - 2];
                  const std::int64_t from = x[axis];
                  const std::int64_t to = factor > 0
                                              ? static_cast<std::int64_t>(static_cast<double>(from) * factor + 1e-9)
                                              : options.size[axis - 2];
                  Shape shape = y.shape;
                  shape[axis] = to;
                  Array z(shape);
                  each_index(shape, [&](const Dims& index) {
                    for (std::int64_t i = 0; i < from; ++i) {
                      Dims at = index;
                      at[axis] = i;
                      z(index) += weight(options, from, to, factor, index[axis], i) * y(at);
                    }
                  });
                  y = z;
                }
                return std::vector<Array>{y};
              },
          .tolerance = 3,
          .gradient = gradient};
}

std::vector<OpCase> resample_rows() {
  return {
      row("interpolate_nearest1d", {2, 2, 5}, {.size = {8}}),
      row("interpolate_nearest2d", {1, 2, 4, 5}, {.size = {7, 3}}),
      row("interpolate_nearest2d_factor", {1, 1, 3, 5}, {.scale = {2.5, 1.7}}),
      row("interpolate_nearest3d", {1, 2, 2, 3, 4}, {.size = {4, 5, 2}}),
      row("interpolate_nearest_exact2d", {1, 2, 4, 5}, {.size = {7, 3}, .mode = NearestExact}),
      row("interpolate_nearest_exact_factor", {1, 2, 6}, {.scale = {0.7}, .mode = NearestExact}),
      row("interpolate_linear1d", {2, 3, 6}, {.size = {9}, .mode = Linear}),
      row("interpolate_linear1d_corners", {2, 3, 6}, {.size = {9}, .mode = Linear, .align_corners = true}),
      row("interpolate_bilinear", {2, 2, 4, 3}, {.size = {7, 6}, .mode = Linear}),
      row("interpolate_bilinear_smaller", {2, 2, 7, 9}, {.size = {3, 4}, .mode = Linear}),
      row("interpolate_bilinear_both_ways", {1, 2, 6, 3}, {.size = {4, 5}, .mode = Linear}),
      row("interpolate_bilinear_corners", {1, 2, 4, 5}, {.size = {6, 1}, .mode = Linear, .align_corners = true}),
      row("interpolate_bilinear_two_corners", {1, 2, 4, 5}, {.size = {2, 2}, .mode = Linear, .align_corners = true}),
      row("interpolate_bilinear_factor", {1, 2, 5, 4}, {.scale = {1.3, 0.6}, .mode = Linear}),
      row("interpolate_bilinear_antialias", {1, 2, 9, 8}, {.size = {4, 3}, .mode = Linear, .antialias = true}),
      row("interpolate_trilinear", {1, 2, 2, 3, 4}, {.size = {3, 5, 2}, .mode = Linear}),
      row("interpolate_bicubic", {1, 2, 4, 5}, {.size = {7, 3}, .mode = Cubic}),
      row("interpolate_bicubic_corners", {1, 1, 4, 5}, {.size = {6, 8}, .mode = Cubic, .align_corners = true}),
      row("interpolate_bicubic_factor", {1, 1, 4, 5}, {.scale = {2.2, 0.9}, .mode = Cubic}),
      row("interpolate_bicubic_antialias", {1, 2, 9, 8}, {.size = {4, 11}, .mode = Cubic, .antialias = true}),
      row("interpolate_lanczos", {1, 2, 6, 5}, {.size = {9, 11}, .mode = Lanczos3}),
      row("interpolate_lanczos_corners", {1, 1, 6, 5}, {.size = {9, 3}, .mode = Lanczos3, .align_corners = true}),
      row("interpolate_lanczos_antialias", {1, 1, 9, 8}, {.size = {4, 5}, .mode = Lanczos3, .antialias = true}),
      row("interpolate_area", {1, 2, 7, 6}, {.size = {3, 9}, .mode = Area}),
      row("interpolate_one_element", {1, 2, 1, 1}, {.size = {3, 2}, .mode = Cubic}),
      row("interpolate_no_batch", {0, 2, 3, 3}, {.size = {5, 5}, .mode = Linear}),
      row("interpolate_bilinear_wide", {3, 20, 17, 40}, {.size = {34, 75}, .mode = Linear}, false),
      row("interpolate_bicubic_wide", {2, 19, 40, 33}, {.size = {21, 50}, .mode = Cubic}, false),
  };
}

const Family kResample(&resample_rows);

Value images(const Shape& shape, const std::vector<float>& numbers) {
  return from_data(TensorData::of<float>(shape, numbers), Device::cpu());
}

TEST(Interpolate, TakesOneEntryForAllDimensions) {
  const Value x = ones({1, 1, 2, 3}, Device::cpu());
  EXPECT_EQ(interpolate(x, {.scale = {2}}).shape(), (Shape{1, 1, 4, 6}));
  EXPECT_EQ(interpolate(x, {.size = {5}, .mode = Linear}).shape(), (Shape{1, 1, 5, 5}));
}

TEST(Interpolate, LetsAnInfiniteElementReachItsNeighboursAlone) {
  const double inf = INFINITY;
  // Corners stay in place, so every second result is an element itself, which the neighbours do not touch.
  std::vector<float> numbers(40, 1.0f);
  numbers[20] = INFINITY;
  const Value z = interpolate(images({1, 1, 40}, numbers), {.size = {79}, .mode = Linear, .align_corners = true});
  const TensorData data = z.data();
  for (std::int64_t i = 0; i < 79; ++i) EXPECT_EQ(data.at(i), i >= 39 && i <= 41 ? inf : 1.0) << i;
}

TEST(Interpolate, TakesIntegersAndBooleansInTheNearestModes) {
  const Value labels = from_data(TensorData::of<std::int32_t>({1, 1, 1, 3}, {4, 5, 6}), Device::cpu());
  const Value larger = interpolate(labels, {.size = {1, 6}});
  EXPECT_EQ(larger.dtype(), DType::I32);
  EXPECT_EQ(larger.data().to_vector<int>(), (std::vector<int>{4, 4, 5, 5, 6, 6}));
  EXPECT_EQ(interpolate(gt(labels, 4), {.size = {2, 2}, .mode = NearestExact}).data().to_vector<bool>(),
            (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(interpolate(zeros({0, 1, 4}, Device::cpu(), DType::U8), {.size = {9}}).shape(), (Shape{0, 1, 9}));
}

TEST(Interpolate, TakesChannelsLastMemoryAsItIs) {
  for (const std::int64_t channels : {3, 20}) {
    const Value pixels = arange(0, 2 * 5 * 6 * channels, 1, Device::cpu(), DType::F32);
    const Value x = permute(reshape(pixels, {2, 5, 6, channels}), {0, 3, 1, 2});
    const Value planes = from_data(x.data(), Device::cpu());
    const InterpolateOptions options{.size = {9, 4}, .mode = Cubic};
    const Value z = interpolate(x, options);
    const std::vector<float> found = z.data().to_vector<float>();
    EXPECT_EQ(z.node()->strides[1], 1);
    const std::vector<float> expected = interpolate(planes, options).data().to_vector<float>();
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-3);
  }
}

}  // namespace
}  // namespace kiln::test
