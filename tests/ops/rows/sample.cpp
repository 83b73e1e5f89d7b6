// Sampling at any positions, from the definition: each result element interpolates the image, continued as the padding
// says, at its position.
#include "kiln/ops/spatial/sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

using enum Interpolation;
using enum SamplePadding;

/// The element that an image of `size` shows at place `i`, or -1.
std::int64_t shown(std::int64_t i, std::int64_t size, const GridSampleOptions& o) {
  if (i >= 0 && i < size) return i;
  if (o.padding == Zeros) return -1;
  if (o.padding == Border) return i < 0 ? 0 : size - 1;
  while (i < 0 || i >= size) {  // mirrored at the centre of the outer element, or at its edge
    if (size == 1) return 0;
    if (i < 0) i = o.align_corners ? -i : -1 - i;
    else i = (o.align_corners ? 2 * (size - 1) : 2 * size - 1) - i;
  }
  return i;
}

double kernel(Interpolation mode, double x) {
  const double d = std::abs(x), a = -0.75;
  if (mode == Linear) return d < 1 ? 1 - d : 0;
  if (d < 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

/// How much the image's element `i` counts at `position`, in elements.
double weight(const GridSampleOptions& o, std::int64_t size, double position, std::int64_t i) {
  double total = 0;
  const auto low = static_cast<std::int64_t>(std::floor(position));
  for (std::int64_t j = low - 3; j <= low + 4; ++j) {
    if (shown(j, size, o) != i) continue;
    total += o.mode == Nearest ? static_cast<double>(j) == std::nearbyint(position)
                               : kernel(o.mode, position - static_cast<double>(j));
  }
  return total;
}

double position(const GridSampleOptions& o, std::int64_t size, double coordinate) {
  const auto n = static_cast<double>(size);
  return o.align_corners ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
}

OpCase grid_row(std::string name, const Shape& x, const Shape& result, const GridSampleOptions& options,
                double reach = 1.4, bool gradient = true) {
  const int axes = x.size() - 2;
  Shape grid{x[0]};
  for (const auto size : result) grid.push_back(size);
  grid.push_back(axes);
  return {.name = std::move(name),
          .operands = {{x}, {grid, -reach, reach}},
          .function = [=](const Values& in) { return Values{grid_sample(in[0], in[1], options)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Shape shape{x[0], x[1]};
                for (const auto size : result) shape.push_back(size);
                Array y(shape);
                const Shape sizes(x.begin() + 2, x.end());
                each_index(shape, [&](const Dims& yi) {
                  each_index(sizes, [&](const Dims& place) {
                    Dims xi{yi[0], yi[1]};
                    double product = 1;
                    for (int a = 0; a < axes; ++a) {
                      Dims gi{yi[0]};
                      for (int b = 0; b < axes; ++b) gi.push_back(yi[b + 2]);
                      gi.push_back(axes - 1 - a);
                      xi.push_back(place[a]);
                      product *= weight(options, sizes[a], position(options, sizes[a], in[1](gi)), place[a]);
                    }
                    y(yi) += product * in[0](xi);
                  });
                });
                return std::vector<Array>{y};
              },
          .tolerance = 10,  // a rounded position counts times the slope of the image
          .gradient = gradient};
}

OpCase affine_row(std::string name, const Shape& theta, const Spatial& sizes, bool corners) {
  return {.name = std::move(name),
          .operands = {{theta}},
          .function = [=](const Values& in) { return Values{affine_grid(in[0], sizes, corners)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                const int axes = sizes.size();
                Shape shape{theta[0]};
                for (const auto size : sizes) shape.push_back(size);
                shape.push_back(axes);
                Array grid(shape);
                each_index(shape, [&](const Dims& index) {
                  const std::int64_t row = index[axes + 1];
                  double sum = in[0]({index[0], row, axes});
                  for (int a = 0; a < axes; ++a) {
                    const auto at = static_cast<double>(index[a + 1]), n = static_cast<double>(sizes[a]);
                    const double base = corners ? (n > 1 ? -1 + 2 * at / (n - 1) : 0) : (2 * at + 1) / n - 1;
                    sum += in[0]({index[0], row, axes - 1 - a}) * base;
                  }
                  grid(index) = sum;
                });
                return std::vector<Array>{grid};
              },
          .tolerance = 3};
}

/// Boxes: operand 1 has the images, operand 2 the corners relative to fixed boxes, so that they stay proper.
OpCase roi_row(std::string name, const Shape& x, std::int64_t count, const RoiAlignOptions& options) {
  const auto corner = [](std::int64_t box, int side) {
    const double corners[] = {0.5, -0.7, 4.1, 5.3};
    return corners[side] + 0.37 * static_cast<double>(box) * (side % 2 ? 1 : -1);
  };
  return {.name = std::move(name),
          .operands = {{x}, {{count}, 0, static_cast<double>(x[0]), OperandSpec::Index}, {{count, 4}, -0.2, 0.2}},
          .function =
              [=](const Values& in) {
                std::vector<double> base;
                for (std::int64_t box = 0; box < count; ++box)
                  for (int side = 0; side < 4; ++side) base.push_back(corner(box, side));
                const Value corners =
                    in[2] + cast(from_data(TensorData::of<double>({count, 4}, base), in[2].device()), in[2].dtype());
                const Value parts[] = {cast(reshape(in[1], {count, 1}), in[2].dtype()), corners};
                return Values{roi_align(in[0], cat(parts, 1), options)};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                const std::int64_t rows = options.size[0], columns = options.size[1];
                Array y({count, x[1], rows, columns});
                each_index(y.shape, [&](const Dims& yi) {
                  const auto image = static_cast<std::int64_t>(in[1]({yi[0]}));
                  double begin[2], extent[2];
                  for (int a = 0; a < 2; ++a) {  // a = 0: down, the corners' y
                    const double shift = options.aligned ? 0.5 : 0;
                    const auto at = [&](int side) {
                      return (corner(yi[0], side) + in[2]({yi[0], side})) * options.spatial_scale - shift;
                    };
                    begin[a] = at(1 - a);
                    extent[a] = at(3 - a) - begin[a];
                    if (!options.aligned) extent[a] = std::max(extent[a], 1.0);
                    extent[a] /= static_cast<double>(a == 0 ? rows : columns);
                  }
                  std::int64_t samples[2];
                  for (int a = 0; a < 2; ++a)
                    samples[a] = options.sampling_ratio > 0
                                     ? options.sampling_ratio
                                     : std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(extent[a])));
                  for (std::int64_t i = 0; i < samples[0]; ++i)
                    for (std::int64_t j = 0; j < samples[1]; ++j) {
                      double at[2] = {
                          begin[0] + extent[0] * (static_cast<double>(yi[2]) +
                                                  (static_cast<double>(i) + 0.5) / static_cast<double>(samples[0])),
                          begin[1] + extent[1] * (static_cast<double>(yi[3]) +
                                                  (static_cast<double>(j) + 0.5) / static_cast<double>(samples[1]))};
                      bool counts = true;
                      for (int a = 0; a < 2; ++a) {
                        const auto size = static_cast<double>(x[a + 2]);
                        counts &= at[a] >= -1 && at[a] <= size;
                        at[a] = std::min(std::max(at[a], 0.0), size - 1);
                      }
                      if (!counts) continue;
                      for (std::int64_t r = 0; r < x[2]; ++r)
                        for (std::int64_t c = 0; c < x[3]; ++c)
                          y(yi) += kernel(Linear, at[0] - static_cast<double>(r)) *
                                   kernel(Linear, at[1] - static_cast<double>(c)) * in[0]({image, yi[1], r, c}) /
                                   static_cast<double>(samples[0] * samples[1]);
                    }
                });
                return std::vector<Array>{y};
              },
          .tolerance = 10};
}

std::vector<OpCase> sample_rows() {
  return {
      grid_row("grid_sample_bilinear", {2, 3, 4, 5}, {3, 4}, {}),
      grid_row("grid_sample_bilinear_corners", {1, 6, 4, 5}, {3, 2}, {.align_corners = true}),
      grid_row("grid_sample_bilinear_border", {1, 2, 4, 5}, {3, 4}, {.padding = Border}),
      // With 2, bends at pixels and edges are where no coordinate is near, whatever is drawn (OperandSpec).
      grid_row("grid_sample_bilinear_border_corners", {1, 2, 4, 5}, {3, 4}, {.padding = Border, .align_corners = true},
               2),
      grid_row("grid_sample_bilinear_reflection", {1, 2, 3, 5}, {3, 4}, {.padding = Reflection}, 4),
      grid_row("grid_sample_bilinear_reflection_corners", {1, 5, 3, 4}, {3, 4},
               {.padding = Reflection, .align_corners = true}, 4),
      grid_row("grid_sample_nearest", {2, 2, 4, 5}, {3, 4}, {.mode = Nearest}),
      grid_row("grid_sample_nearest_border", {1, 5, 4, 5}, {3, 4}, {.mode = Nearest, .padding = Border}),
      grid_row("grid_sample_nearest_reflection", {1, 2, 4, 5}, {3, 4}, {.mode = Nearest, .padding = Reflection}, 3),
      grid_row("grid_sample_bicubic", {1, 2, 5, 4}, {3, 3}, {.mode = Cubic}),
      grid_row("grid_sample_bicubic_border", {1, 2, 5, 4}, {3, 3}, {.mode = Cubic, .padding = Border}),
      grid_row("grid_sample_bicubic_reflection", {1, 2, 5, 4}, {3, 3}, {.mode = Cubic, .padding = Reflection}, 3),
      grid_row("grid_sample_bicubic_reflection_corners", {1, 2, 5, 4}, {3, 3},
               {.mode = Cubic, .padding = Reflection, .align_corners = true}, 3),
      grid_row("grid_sample_trilinear", {1, 2, 3, 4, 2}, {2, 2, 3}, {}),
      grid_row("grid_sample_trilinear_border", {1, 2, 3, 4, 2}, {2, 2, 3}, {.padding = Border, .align_corners = true}),
      grid_row("grid_sample_nearest3d", {1, 2, 3, 4, 2}, {2, 2, 3}, {.mode = Nearest}),
      grid_row("grid_sample_no_batch", {0, 2, 3, 4}, {2, 2}, {}),
      grid_row("grid_sample_large", {2, 19, 7, 13}, {25, 31}, {}, 1.2, false),
      affine_row("affine_grid2d", {2, 2, 3}, {3, 4}, false),
      affine_row("affine_grid2d_corners", {1, 2, 3}, {3, 1}, true),
      affine_row("affine_grid3d", {2, 3, 4}, {2, 3, 2}, false),
      roi_row("roi_align", {2, 3, 6, 7}, 3, {.size = {2, 3}, .sampling_ratio = 2}),
      roi_row("roi_align_adaptive", {2, 5, 6, 7}, 3, {.size = {2, 3}, .spatial_scale = 0.8}),
      roi_row("roi_align_first_publication", {1, 2, 6, 7}, 2,
              {.size = {3, 2}, .spatial_scale = 0.6, .sampling_ratio = 1, .aligned = false}),
  };
}

const Family kSample(&sample_rows);

TEST(GridSample, ReadsNothingAtPositionsThatAreNoNumbers) {
  const Value x = ones({1, 1, 3, 3}, Device::cpu());
  const Value grid =
      from_data(TensorData::of<float>({1, 1, 4, 2}, {NAN, 0, 0, NAN, INFINITY, 0, -1e30f, 0}), Device::cpu());
  for (const Interpolation mode : {Nearest, Linear, Cubic})
    EXPECT_EQ(grid_sample(x, grid, {.mode = mode}).data().to_vector<float>(), std::vector<float>(4, 0)) << int(mode);
  const std::vector<float> border = grid_sample(x, grid, {.padding = Border}).data().to_vector<float>();
  EXPECT_EQ(border, (std::vector<float>{0, 0, 1, 1}));
}

TEST(GridSample, TakesAHalfPrecisionImageAtSinglePrecisionPositions) {
  const Device cpu = Device::cpu();
  const Value x = reshape(arange(0, 1024, 1, cpu, DType::F16), {1, 1, 1, 1024});
  const Value grid = from_data(TensorData::of<float>({1, 1, 1, 2}, {-1 + 2 * (701.25f + 0.5f) / 1024, 0}), cpu);
  const Value read = grid_sample(x, grid);
  EXPECT_EQ(read.dtype(), DType::F32);
  EXPECT_NEAR(read.item(), 701.25, 1e-3);
}

TEST(RoiAlign, SaysWhichImageIsNotThere) {
  const Value x = ones({2, 1, 4, 4}, Device::cpu());
  const Value boxes = from_data(TensorData::of<float>({1, 5}, {2, 0, 0, 3, 3}), Device::cpu());
  EXPECT_THROW((void)roi_align(x, boxes, {.size = {2, 2}}).data(), IndexError);
}

TEST(RoiAlign, TakesNoBoxes) {
  const Value read = roi_align(ones({2, 3, 4, 4}, Device::cpu()), zeros({0, 5}, Device::cpu()), {.size = {2, 2}});
  EXPECT_EQ(read.shape(), (Shape{0, 3, 2, 2}));
}

}  // namespace
}  // namespace kiln::test
