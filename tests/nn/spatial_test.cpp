// Padding of convolutions and pools, and the modules that resize and rearrange, against loops in float64.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/nn/module.hpp"
#include "kiln/nn/spatial/conv.hpp"
#include "kiln/nn/spatial/pool.hpp"
#include "kiln/nn/spatial/resize.hpp"

#include "differences.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff, test::cpu;

/// Element i of n that are continued by `mode`; -1: a zero.
std::int64_t continued(std::int64_t i, std::int64_t n, PadMode mode) {
  switch (mode) {
    case PadMode::Reflect: return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
    case PadMode::Edge: return std::clamp<std::int64_t>(i, 0, n - 1);
    case PadMode::Circular: return (i + n) % n;
    default: return i < 0 || i >= n ? -1 : i;
  }
}

/// One channel of x in one dimension, windows beginning at -before, as many as `results`.
std::vector<double> convolved(const std::vector<double>& x, const std::vector<double>& kernel, std::int64_t before,
                              std::int64_t stride, std::int64_t dilation, std::int64_t results, PadMode mode) {
  std::vector<double> y;
  for (std::int64_t r = 0; r < results; ++r) {
    double sum = 0;
    for (std::size_t k = 0; k < kernel.size(); ++k) {
      const std::int64_t at = continued(r * stride - before + static_cast<std::int64_t>(k) * dilation,
                                        static_cast<std::int64_t>(x.size()), mode);
      if (at >= 0) sum += x[static_cast<std::size_t>(at)] * kernel[k];
    }
    y.push_back(sum);
  }
  return y;
}

void expect_near(const auto& actual, const std::vector<double>& right) {
  const auto found = actual.template to_vector<double>();
  ASSERT_EQ(found.size(), right.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], right[i], 1e-5) << "element " << i;
}

TEST(Conv, WithSamePaddingDividesSizesByTheStride) {
  for (const std::int64_t size : {1, 2, 5, 6, 7})
    for (const std::int64_t kernel : {1, 2, 3, 4})
      for (const std::int64_t stride : {1, 2, 3})
        for (const std::int64_t dilation : {1, 2}) {
          const nn::Conv1d layer = nn::Conv1dConfig{.in = 1,
                                                    .out = 1,
                                                    .kernel = {kernel},
                                                    .stride = {stride},
                                                    .dilation = {dilation},
                                                    .same = true,
                                                    .bias = false}
                                       .init(cpu);
          const auto x = sines_of<3>({1, 1, size});
          const std::int64_t results = (size + stride - 1) / stride;
          const std::int64_t total =
              std::max<std::int64_t>((results - 1) * stride + (kernel - 1) * dilation + 1 - size, 0);
          SCOPED_TRACE(text(size, ' ', kernel, ' ', stride, ' ', dilation));
          expect_near(layer.forward(x), convolved(x.to_vector<double>(), layer.weight.to_vector<double>(), total / 2,
                                                  stride, dilation, results, PadMode::Constant));
        }
}

TEST(Conv, PadsBothEndsByThemselves) {
  const auto x = sines_of<3>({1, 1, 6});
  const auto in = x.to_vector<double>();
  for (const PadMode mode : {PadMode::Constant, PadMode::Reflect, PadMode::Edge, PadMode::Circular}) {
    const nn::Conv1d layer =
        nn::Conv1dConfig{
            .in = 1, .out = 1, .kernel = {2}, .padding = {2}, .padding_after = {1}, .padding_mode = mode, .bias = false}
            .init(cpu);
    expect_near(layer.forward(x), convolved(in, layer.weight.to_vector<double>(), 2, 1, 1, 8, mode));
  }
  const nn::Conv1d circular =
      nn::Conv1dConfig{.in = 1, .out = 1, .kernel = {4}, .same = true, .padding_mode = PadMode::Circular, .bias = false}
          .init(cpu);
  expect_near(circular.forward(x), convolved(in, circular.weight.to_vector<double>(), 1, 1, 1, 6, PadMode::Circular));
}

TEST(Conv, HasRightGradientsWithItsBorders) {
  expect_right_gradients(nn::Conv2dConfig{.in = 1, .out = 2, .kernel = {2, 4}, .same = true}.init(autodiff),
                         [](const nn::Conv2d& m) { return weighted(m.forward(input<4>({1, 1, 4, 5})).tanh()); });
  expect_right_gradients(
      nn::Conv1dConfig{
          .in = 1, .out = 2, .kernel = {3}, .padding = {1}, .padding_after = {2}, .padding_mode = PadMode::Reflect}
          .init(autodiff),
      [](const nn::Conv1d& m) { return weighted(m.forward(input<3>({2, 1, 4})).tanh()); });
}

TEST(ConvTranspose, CutsBothEndsByThemselves) {
  const nn::ConvTranspose1d whole =
      nn::ConvTranspose1dConfig{.in = 1, .out = 1, .kernel = {3}, .stride = {2}}.init(cpu);
  nn::ConvTranspose1d cut = whole;
  cut.padding = {0};
  cut.padding_after = {1};
  const auto x = sines_of<3>({1, 1, 4});
  const auto all = whole.forward(x).to_vector();
  EXPECT_EQ(cut.forward(x).to_vector(), std::vector<float>(all.begin(), all.end() - 1));
}

TEST(Pools, TakeSameAndAsymmetricPadding) {
  const auto x = sines_of<3>({1, 1, 5});
  const auto in = x.to_vector<double>();
  // Kernel 2, stride 1: one element behind, which is none.
  std::vector<double> largest, mean, halves;
  for (std::size_t i = 0; i < 5; ++i) {
    const double next = i + 1 < 5 ? in[i + 1] : -INFINITY;
    largest.push_back(std::max(in[i], next));
    mean.push_back(i + 1 < 5 ? (in[i] + next) / 2 : in[i]);
    halves.push_back(i + 1 < 5 ? (in[i] + next) / 2 : in[i] / 2);
  }
  expect_near(nn::MaxPool1d{.kernel = {2}, .stride = {1}, .same = true}.forward(x), largest);
  expect_near(nn::AvgPool1d{.kernel = {2}, .stride = {1}, .count_padding = false, .same = true}.forward(x), mean);
  expect_near(nn::AvgPool1d{.kernel = {2}, .stride = {1}, .padding = {0}, .padding_after = {1}}.forward(x), halves);
  EXPECT_EQ((nn::MaxPool2d{.kernel = {3, 2}, .stride = {2}, .same = true}.forward(sines_of<4>({1, 1, 5, 4})).shape()),
            (Shape{1, 1, 3, 2}));
}

TEST(Pools, OfNormsAndOfParts) {
  const auto x = sines_of<3>({1, 1, 4});
  const auto in = x.to_vector<double>();
  expect_near(nn::LpPool1d{.p = 3, .kernel = {2}}.forward(x * x),
              {std::cbrt(std::pow(in[0], 6) + std::pow(in[1], 6)), std::cbrt(std::pow(in[2], 6) + std::pow(in[3], 6))});
  expect_near(nn::AdaptiveMaxPool1d{.sizes = {2}}.forward(x), {std::max(in[0], in[1]), std::max(in[2], in[3])});
}

TEST(Pad, ContinuesBothEnds) {
  const auto x = sines_of<3>({1, 1, 4});
  const auto in = x.to_vector<double>();
  for (const PadMode mode : {PadMode::Constant, PadMode::Reflect, PadMode::Edge, PadMode::Circular}) {
    std::vector<double> right;
    for (std::int64_t i = -2; i < 7; ++i) {
      const std::int64_t at = continued(i, 4, mode);
      right.push_back(at < 0 ? 0 : in[static_cast<std::size_t>(at)]);
    }
    expect_near(nn::Pad1d{.before = {2}, .after = {3}, .mode = mode}.forward(x), right);
  }
  const auto y = nn::Pad2d{.before = {1, 0}, .value = 7}.forward(Tensor<4, Int>::ones({1, 1, 1, 2}, cpu));
  EXPECT_EQ(y.to_vector(), (std::vector<std::int64_t>{7, 7, 1, 1, 7, 7}));
  EXPECT_EQ(nn::Pad3d{.before = {1}}.forward(sines_of<5>({1, 1, 1, 1, 1})).shape(), (Shape{1, 1, 3, 3, 3}));
  EXPECT_EQ(sentence_of([&] { return nn::Pad1d{.before = {1}, .mode = PadMode::Edge, .value = 1}.forward(x); }),
            "ArgumentError: Pad1d: a value of 1 requires PadMode::Constant");
}

TEST(Interpolate, ResizesBySizeOrScale) {
  const auto x = sines_of<3>({1, 1, 3});
  const auto in = x.to_vector<double>();
  expect_near(nn::Interpolate{.scale = {2}}.forward(x), {in[0], in[0], in[1], in[1], in[2], in[2]});
  expect_near(nn::Interpolate{.size = {5}, .mode = Interpolation::Linear, .align_corners = true}.forward(x),
              {in[0], (in[0] + in[1]) / 2, in[1], (in[1] + in[2]) / 2, in[2]});
  EXPECT_THROW(nn::Interpolate{}.forward(x), ArgumentError);
}

TEST(PixelShuffle, MovesChannelsToPlaces) {
  const auto x = Tensor<4>(reshape(arange(0, 8, 1, cpu, DType::F32), {1, 4, 1, 2}));
  const auto y = nn::PixelShuffle{.factor = 2}.forward(x);
  expect_values(y, {1, 1, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7});
  EXPECT_EQ(nn::PixelUnshuffle{.factor = 2}.forward(y).to_vector(), x.to_vector());
}

TEST(Fold, AddsUpTheWindowsOfUnfold) {
  const auto x = Tensor<4>(reshape(arange(1, 7, 1, cpu, DType::F32), {1, 1, 2, 3}));
  const auto windows = nn::Unfold2d{.kernel = {2, 2}}.forward(x);
  expect_values(windows, {1, 4, 2}, {1, 2, 2, 3, 4, 5, 5, 6});
  expect_values(nn::Fold2d{.sizes = {2, 3}, .kernel = {2}}.forward(windows), {1, 1, 2, 3}, {1, 4, 3, 4, 10, 6});
  EXPECT_EQ(sentence_of([&] { return nn::Unfold2d{}.forward(x); }),
            "ArgumentError: Unfold2d: the kernel's size is missing");
}

TEST(DeformConv2d, ReadsWhereItsOffsetsSay) {
  const nn::DeformConv2d layer = nn::DeformConv2dConfig{.in = 1, .out = 1, .kernel = {1}, .bias = false}.init(autodiff);
  const float weight = layer.weight.to_vector()[0];
  const auto x = sines_of<4>({1, 1, 3, 3});
  const auto in = x.to_vector<double>();
  // Everywhere half an element down and one across, at half strength.
  Tensor<4> offset(cat(Values{full({1, 1, 3, 3}, 0.5, cpu), full({1, 1, 3, 3}, 1.0, cpu)}, 1));
  const Tensor<4> mask(full({1, 1, 3, 3}, 0.5, cpu));
  std::vector<double> right;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const auto at = [&](std::size_t row, std::size_t column) {
        return row < 3 && column < 3 ? in[row * 3 + column] : 0;
      };
      right.push_back(weight * 0.5 * (at(i, j + 1) + at(i + 1, j + 1)) / 2);
    }
  expect_near(layer.forward(x, offset, mask), right);
  EXPECT_EQ(num_params(nn::DeformConv2dConfig{.in = 4, .out = 6, .kernel = {3}, .groups = 2}.init(cpu)), 6 * 2 * 9 + 6);
}

TEST(SpatialModules, SayWhatIsWrong) {
  EXPECT_EQ(
      sentence_of([] { nn::Conv1dConfig{.in = 1, .out = 1, .kernel = {2}, .padding = {1}, .same = true}.init(cpu); }),
      "ArgumentError: Conv1dConfig: same = true excludes other padding");
  EXPECT_EQ(sentence_of([] { nn::Conv1dConfig{.in = 1, .out = 1, .kernel = {2}, .padding_after = {-1}}.init(cpu); }),
            "ArgumentError: Conv1dConfig: padding [-1] must not be negative");
  const auto x = sines_of<3>({1, 1, 4});
  EXPECT_EQ(sentence_of([&] { return nn::MaxPool1d{.kernel = {2}, .padding = {1}, .same = true}.forward(x); }),
            "ArgumentError: MaxPool1d: same = true excludes other padding");
  EXPECT_EQ(sentence_of([&] { return nn::MaxPool1d{.kernel = {2}, .stride = {0}, .same = true}.forward(x); }),
            "ArgumentError: MaxPool1d: stride [0] must be positive");
  EXPECT_EQ(sentence_of([&] { return nn::Pad2d{.before = {1, 2, 3}}.forward(sines_of<4>({1, 1, 2, 2})); }),
            "ArgumentError: Pad2d: before [1, 2, 3] needs 2 entries, or one for all");
}

}  // namespace
}  // namespace kiln
