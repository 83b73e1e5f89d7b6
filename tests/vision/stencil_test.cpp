// Stencils, and warps of float32, beside loops over doubles: any borders, windows larger than the picture, and NaN.
#include "kiln/vision/lines/stencil.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/vision/filter.hpp"
#include "kiln/vision/morphology.hpp"
#include "kiln/vision/warp.hpp"
#include "tests/vision/figures.hpp"

namespace kiln::vision {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

/// The place of element i of a line of `size` that goes on as a border says, step by step; -1 outside.
std::int64_t walked(std::int64_t i, std::int64_t size, Border border) {
  if (border == Border::Constant) return i < 0 || i >= size ? -1 : i;
  if (border == Border::Replicate) return std::min(std::max<std::int64_t>(i, 0), size - 1);
  while (i < 0 || i >= size) {
    if (border == Border::Wrap) i += i < 0 ? size : -size;
    else if (border == Border::Reflect) i = i < 0 ? -1 - i : 2 * size - 1 - i;
    else if (size == 1) return 0;
    else i = i < 0 ? -i : 2 * size - 2 - i;
  }
  return i;
}

/// A plane of doubles and what lies around it.
struct Plane {
  const TensorData& x;
  std::int64_t number, rows, columns;
  Border border;
  double outside;

  double at(std::int64_t row, std::int64_t column) const {
    const std::int64_t y = walked(row, rows, border), z = walked(column, columns, border);
    return y < 0 || z < 0 ? outside : x.at((number * rows + y) * columns + z);
  }
};

double value_of(const Stencil& stencil, std::int64_t step, const Plane& plane, std::int64_t row, std::int64_t column) {
  if (step < 0) return plane.at(row, column);
  const Step& own = stencil.steps[static_cast<std::size_t>(step)];
  std::vector<double> elements;
  double sum = 0;
  for (const Window& window : own.windows)
    for (std::int64_t i = 0; i < window.rows; ++i)
      for (std::int64_t j = 0; j < window.columns; ++j) {
        const double element = value_of(stencil, window.step, plane, row + window.row + i, column + window.column + j);
        elements.push_back(element);
        sum +=
            element * (window.weights.empty() ? 1 : window.weights[static_cast<std::size_t>(i * window.columns + j)]);
      }
  if (own.fold == Fold::Sum) return sum * own.scale + own.delta;
  if (std::ranges::any_of(elements, [](double element) { return std::isnan(element); })) return kNotANumber;
  std::ranges::sort(elements);
  return own.fold == Fold::Least     ? elements.front()
         : own.fold == Fold::Largest ? elements.back()
                                     : elements[elements.size() / 2];
}

void expect_stencil(const Stencil& stencil, const TensorData& x, double outside, double tolerance) {
  const Value on_cpu = from_data(x.to(DType::F32), test::cpu);
  TensorData wanted(x.shape(), DType::F64);
  const std::int64_t rows = x.shape()[2], columns = x.shape()[3];
  const TensorData rounded = x.to(DType::F32).to(DType::F64);
  std::size_t next = 0;
  for (std::int64_t plane = 0; plane < x.shape()[0] * x.shape()[1]; ++plane)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        wanted.as<double>()[next++] = value_of(stencil, std::ssize(stencil.steps) - 1,
                                               {rounded, plane, rows, columns, stencil.border, outside}, i, j);
  const std::string what = text("border ", static_cast<int>(stencil.border), " of ", x.shape());
  const auto expect = [&](const Value& y, const char* by) {
    EXPECT_EQ(difference(y.data().to(DType::F64), wanted, {0, tolerance}), "") << what << by;
  };
  expect(run_stencil(on_cpu, stencil, outside), " by lines");
  expect(stencil_by_ops(on_cpu, stencil, outside), " by operations");
}

const Shape kShapes[] = {{1, 2, 1, 1}, {1, 1, 3, 2}, {2, 1, 9, 131}, {1, 1, 150, 5}};
constexpr Border kBorders[] = {Border::Constant, Border::Replicate, Border::Reflect, Border::Reflect101, Border::Wrap};

TEST(Stencil, IsWhatItsStepsSay) {
  for (const Shape& shape : kShapes)
    for (const Border border : kBorders) {
      const TensorData x = numbers_of(shape, -1, 1);
      expect_stencil(
          {.steps =
               {{.windows = {{.row = -1, .column = -4, .rows = 2, .columns = 3, .weights = {0.5, 0, -1, 2, 0.25, 0}}}}},
           .border = border},
          x, 0.5, 1e-5);
      // Steps that are read far away from where they are made, one of them twice.
      expect_stencil({.steps = {{.windows = {{.column = 2, .columns = 2}}},
                                {.fold = Fold::Largest, .windows = {{.step = 0, .row = -3, .rows = 2}, {.row = 4}}},
                                {.windows = {{.step = 1, .row = 5}, {.step = 0, .row = -2, .column = -6}},
                                 .scale = 0.5,
                                 .delta = -1}},
                      .border = border},
                     x, -2, 1e-5);
      expect_stencil({.steps = {{.windows = {{.row = -1, .rows = 3, .columns = 2, .weights = std::vector(6, 0.0)}}}},
                      .border = border},
                     x, 1, 0);
      for (const std::int64_t size : {3, 5})
        expect_stencil(
            {.steps = {{.fold = Fold::Median,
                        .windows = {{.row = -size / 2, .column = -size / 2, .rows = size, .columns = size}}}},
             .border = border},
            x, 0, 0);
    }
}

TEST(Stencil, FoldsLongLines) {
  for (const std::int64_t size : {1, 2, 8, 9, 16, 31, 40})
    for (const Fold fold : {Fold::Sum, Fold::Least, Fold::Largest})
      for (const bool down : {false, true}) {
        Stencil stencil{.border = Border::Wrap};
        const std::int64_t last = add_line_fold(stencil, -1, fold, {size, -3, down});
        EXPECT_EQ(last, std::ssize(stencil.steps) - 1);
        const Window window{
            .row = down ? -3 : 0, .column = down ? 0 : -3, .rows = down ? size : 1, .columns = down ? 1 : size};
        const TensorData x = numbers_of({1, 1, 11, 13}, -1, 1);
        const Value found = run_stencil(from_data(x.to(DType::F32), test::cpu), stencil);
        TensorData wanted(x.shape(), DType::F64);
        const Stencil plain{.steps = {{.fold = fold, .windows = {window}}}, .border = Border::Wrap};
        for (std::int64_t i = 0; i < 143; ++i)
          wanted.as<double>()[static_cast<std::size_t>(i)] =
              value_of(plain, 0, {x, 0, 11, 13, Border::Wrap, 0}, i / 13, i % 13);
        EXPECT_EQ(difference(found.data().to(DType::F64), wanted, {0, 1e-5}), "") << size << " " << down;
      }
}

TEST(Stencil, PassesNanOn) {
  TensorData x = numbers_of({1, 1, 40, 70}, -1, 1);
  x.as<double>()[20 * 70 + 33] = kNotANumber;
  for (const Fold fold : {Fold::Sum, Fold::Least, Fold::Largest, Fold::Median})
    expect_stencil({.steps = {{.fold = fold, .windows = {{.row = -1, .column = -1, .rows = 3, .columns = 3}}}}}, x, 0,
                   1e-5);
}

TEST(Stencil, ReadsFarOnOneSide) {
  const TensorData x = numbers_of({1, 2, 4, 10}, -1, 1);
  for (const std::int64_t far : {-200, -11, 11, 200})
    for (const Fold fold : {Fold::Sum, Fold::Largest})
      for (const std::int64_t row : {-9, 0, 7})
        expect_stencil({.steps = {{.fold = fold, .windows = {{.row = row, .column = far, .rows = 2, .columns = 1}}}}},
                       x, 0, 1e-5);
}

TEST(Stencil, TakesKernelsLargerThanPictures) {
  const Value small = from_data(numbers_of({1, 1, 2, 3}).to(DType::F32), test::cpu);
  const std::vector<double> down(600, 1.0 / 600), across(41, 1.0 / 41);
  for (const Border border : kBorders) {
    const Filter options{.border = border};
    const Value by_boxes = box_blur(small, 600, 41, options);
    EXPECT_EQ(difference(separable_filter(small, down, across, options).data(), by_boxes.data(), {0, 1e-5}), "");
    // A sum of so many is exact enough in float64 alone; that of a few runs by lines.
    const Value wide = cast(small, DType::F64), even = full({600, 41}, 1.0 / (600 * 41), test::cpu, DType::F64);
    EXPECT_EQ(difference(filter2d(wide, even, options).data(), box_blur(wide, 600, 41, options).data(), {0, 1e-9}), "");
    EXPECT_EQ(difference(filter2d(small, full({9, 14}, 1.0 / (9 * 14), test::cpu), options).data(),
                         box_blur(small, 9, 14, options).data(), {0, 1e-5}),
              "");
  }
  EXPECT_EQ(difference(dilate(small, rectangle(50, 60)).data(), expand(max(small), {1, 1, 2, 3}).data()), "");
  EXPECT_EQ(difference(erode(small, rectangle(50, 60)).data(), expand(min(small), {1, 1, 2, 3}).data()), "");
}

// ---- warps ---------------------------------------------------------------------------------------------------------

double cubic(double distance) {
  const double x = std::abs(distance), slope = -0.75;
  if (x <= 1) return (slope + 2) * x * x * x - (slope + 3) * x * x + 1;
  return x < 2 ? slope * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
}

double read_at(const Plane& plane, double x, double y, bool is_cubic) {
  double sum = 0;
  for (std::int64_t i = -2; i < 3; ++i)
    for (std::int64_t j = -2; j < 3; ++j) {
      const double row = std::floor(y) + static_cast<double>(i), column = std::floor(x) + static_cast<double>(j);
      const auto weight = [&](double d) { return is_cubic ? cubic(d) : std::max(0.0, 1 - std::abs(d)); };
      sum += weight(y - row) * weight(x - column) *
             plane.at(static_cast<std::int64_t>(row), static_cast<std::int64_t>(column));
    }
  return sum;
}

TEST(Warp, ReadsWhatIsAroundEachPosition) {
  const TensorData x = numbers_of({2, 2, 21, 40}, -1, 1).to(DType::F32).to(DType::F64);
  const TensorData matrices = TensorData::of<double>(
      {2, 3, 3}, {0.9, 0.2, -4, -0.25, 0.85, 6, 0, 0, 1, 1.1, -0.1, 2, 0.15, 0.9, -3, 0.002, -0.004, 1.01});
  for (const Border border : kBorders)
    for (const bool is_cubic : {false, true}) {
      const Warp options{.height = 30,
                         .width = 37,
                         .mode = is_cubic ? Interpolation::Cubic : Interpolation::Linear,
                         .border = border,
                         .value = 0.25};
      const Value y = warp(from_data(x.to(DType::F32), test::cpu), from_data(matrices, test::cpu), options);
      TensorData wanted({2, 2, 30, 37}, DType::F64);
      std::size_t next = 0;
      for (std::int64_t plane = 0; plane < 4; ++plane)
        for (int row = 0; row < 30; ++row)
          for (int column = 0; column < 37; ++column) {
            const auto line = [&](int i) {
              const auto entry = [&](int k) { return matrices.at(9 * (plane / 2) + 3 * i + k); };
              return entry(0) * (column + 0.5) + entry(1) * (row + 0.5) + entry(2);
            };
            wanted.as<double>()[next++] =
                read_at({x, plane, 21, 40, border, 0.25}, line(0) / line(2) - 0.5, line(1) / line(2) - 0.5, is_cubic);
          }
      EXPECT_EQ(difference(y.data().to(DType::F64), wanted, {0, 2e-5}), "") << static_cast<int>(border) << is_cubic;
    }
}

TEST(Warp, TakesMatricesWithoutMeaning) {
  const Value x = ones({1, 1, 5, 9}, test::cpu);
  for (const double number : {0.0, 1e300, -std::numeric_limits<double>::infinity(), kNotANumber})
    for (const Border border : kBorders)
      EXPECT_EQ(warp(x, full({1, 3, 3}, number, test::cpu, DType::F64), {.border = border}).data().shape(), x.shape());
}

// ---- what is wrong -------------------------------------------------------------------------------------------------

TEST(Pictures, OfNoPixelsOrOneAreTaken) {
  const std::pair<const char*, std::function<Value(const Value&)>> functions[] = {
      {"separable_filter", [](const Value& x) { return separable_filter(x, std::array{1.0}, std::array{0.5, 0.5}); }},
      {"gaussian_blur", [](const Value& x) { return gaussian_blur(x, {.rows = 3, .columns = 5}); }},
      {"dilate", [](const Value& x) { return dilate(x, ellipse(4, 6)); }},
      {"top_hat", [](const Value& x) { return top_hat(x, cross(3, 3)); }},
  };
  for (const Shape& shape :
       {Shape{0, 3, 4, 4}, Shape{2, 3, 0, 5}, Shape{2, 3, 5, 0}, Shape{1, 0, 2, 2}, Shape{1, 3, 1, 1}})
    for (const auto& [name, f] : functions)
      for (const DType dtype : {DType::F32, DType::U8, DType::F16})
        EXPECT_EQ(f(ones(shape, test::cpu, dtype)).data().shape(), shape) << name;
}

TEST(Pictures, HaveNoUnknownBorder) {
  const auto border = static_cast<Border>(9);
  const Value x = ones({1, 1, 4, 4}, test::cpu);
  EXPECT_EQ(sentence_of([&] { return filter2d(x, ones({3, 3}, test::cpu), {.border = border}); }),
            "ArgumentError: filter2d: there is no border of number 9");
  EXPECT_EQ(sentence_of([&] { return gaussian_blur(x, {.rows = 3, .columns = 3, .border = border}); }),
            "ArgumentError: gaussian_blur: there is no border of number 9");
  EXPECT_EQ(sentence_of([&] { return erode(x, cross(3, 3), {.border = border}); }),
            "ArgumentError: erode: there is no border of number 9");
  EXPECT_EQ(sentence_of([&] { return warp(x, Transform2D(), {.border = border}); }),
            "ArgumentError: warp: there is no border of number 9");
}

}  // namespace
}  // namespace kiln::vision
