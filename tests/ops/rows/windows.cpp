// What convolutions read: windows as columns, deformed windows, and channels that become places.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

Spatial or_else(const Spatial& given, int axes, std::int64_t otherwise) {
  return given.empty() ? Spatial::filled(axes, otherwise) : given;
}

/// Calls f(x index, column index) for every element that a window shows.
void each_column(const Shape& x, const UnfoldOptions& o, const std::function<void(const Dims&, const Dims&)>& f) {
  const int axes = x.size() - 2;
  const Spatial stride = or_else(o.stride, axes, 1), padding = or_else(o.padding, axes, 0),
                dilation = or_else(o.dilation, axes, 1);
  Shape counts;
  for (int a = 0; a < axes; ++a)
    counts.push_back((x[a + 2] + 2 * padding[a] - dilation[a] * (o.kernel[a] - 1) - 1) / stride[a] + 1);
  const Shape kernel(o.kernel.begin(), o.kernel.end());
  each_index({x[0], x[1]}, [&](const Dims& image) {
    std::int64_t window = 0;
    each_index(counts, [&](const Dims& place) {
      std::int64_t tap = image[1] * numel(kernel);
      each_index(kernel, [&](const Dims& k) {
        Dims xi = image;
        bool inside = true;
        for (int a = 0; a < axes; ++a) {
          xi.push_back(place[a] * stride[a] - padding[a] + k[a] * dilation[a]);
          inside &= xi.back() >= 0 && xi.back() < x[a + 2];
        }
        if (inside) f(xi, {image[0], tap, window});
        ++tap;
      });
      ++window;
    });
  });
}

OpCase unfold_row(std::string name, const Shape& x, const Shape& columns, const UnfoldOptions& o) {
  return {.name = std::move(name),
          .operands = {{x}},
          .function = [=](const Values& in) { return Values{unfold(in[0], o)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array y(columns);
                each_column(x, o, [&](const Dims& xi, const Dims& yi) { y(yi) = in[0](xi); });
                return std::vector<Array>{y};
              }};
}

OpCase fold_row(std::string name, const Shape& x, const Shape& columns, const UnfoldOptions& o) {
  return {.name = std::move(name),
          .operands = {{columns}},
          .function = [=](const Values& in) { return Values{fold(in[0], Spatial(x.begin() + 2, x.end()), o)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array image(x);
                each_column(x, o, [&](const Dims& xi, const Dims& yi) { image(xi) += in[0](yi); });
                return std::vector<Array>{image};
              },
          .tolerance = 2};
}

OpCase shuffle_row(std::string name, const Shape& small, std::int64_t factor, bool back) {
  const int axes = small.size() - 2;
  Shape large{small[0], small[1]};
  for (int a = 0; a < axes; ++a) {
    large[1] /= factor;
    large.push_back(small[a + 2] * factor);
  }
  return {.name = std::move(name),
          .operands = {{back ? large : small}},
          .function =
              [=](const Values& in) {
                return Values{back ? pixel_unshuffle(in[0], factor) : pixel_shuffle(in[0], factor)};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result(back ? small : large);
                each_index(large, [&](const Dims& at) {
                  std::int64_t channel = at[1];
                  Dims from{at[0], 0};
                  for (int a = 0; a < axes; ++a) {
                    channel = channel * factor + at[a + 2] % factor;
                    from.push_back(at[a + 2] / factor);
                  }
                  from[1] = channel;
                  if (back) result(from) = in[0](at);
                  else result(at) = in[0](from);
                });
                return std::vector<Array>{result};
              }};
}

struct Deformation {
  Shape x, weight;
  Spatial stride{1, 1}, padding{0, 0}, dilation{1, 1};
  std::int64_t groups = 1, parts = 1;
  bool mask = false, bias = false;
  double reach = 1.5;
};

/// x between its elements, and 0 outside.
double bilinear(const Array& x, std::int64_t n, std::int64_t c, double row, double column) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.shape[2]; ++i)
    for (std::int64_t j = 0; j < x.shape[3]; ++j)
      sum += std::max(0.0, 1 - std::abs(row - static_cast<double>(i))) *
             std::max(0.0, 1 - std::abs(column - static_cast<double>(j))) * x({n, c, i, j});
  return sum;
}

OpCase deform_row(std::string name, const Deformation& d) {
  const std::int64_t rows = d.weight[2], columns = d.weight[3], taps = rows * columns;
  Shape y{d.x[0], d.weight[0]};
  for (int a = 0; a < 2; ++a)
    y.push_back((d.x[a + 2] + 2 * d.padding[a] - d.dilation[a] * (d.weight[a + 2] - 1) - 1) / d.stride[a] + 1);
  std::vector<OperandSpec> operands{
      {d.x}, {{d.x[0], 2 * d.parts * taps, y[2], y[3]}, -d.reach, d.reach}, {d.weight, -1, 1}};
  const int bias = 3, mask = d.bias ? 4 : 3;
  if (d.bias) operands.push_back({{d.weight[0]}});
  if (d.mask) operands.push_back({{d.x[0], d.parts * taps, y[2], y[3]}, 0, 1});
  return {
      .name = std::move(name),
      .operands = operands,
      .function =
          [=](const Values& in) {
            const ConvOptions options{
                .stride = d.stride, .padding = d.padding, .dilation = d.dilation, .groups = d.groups};
            return Values{deform_conv2d(in[0], in[1], in[2], d.bias ? in[bias] : Value(),
                                        d.mask ? in[static_cast<std::size_t>(mask)] : Value(), options)};
          },
      .meaning =
          [=](const std::vector<Array>& in) {
            Array result(y);
            const std::int64_t per_group = d.weight[1], out_per_group = y[1] / d.groups;
            each_index(y, [&](const Dims& yi) {
              if (d.bias) result(yi) += in[bias]({yi[1]});
              for (std::int64_t i = 0; i < per_group; ++i)
                for (std::int64_t tap = 0; tap < taps; ++tap) {
                  const std::int64_t channel = yi[1] / out_per_group * per_group + i;
                  const std::int64_t first = channel / (d.x[1] / d.parts) * taps + tap;
                  const std::int64_t tap_row = tap / columns, tap_column = tap % columns;
                  const double row = in[1]({yi[0], 2 * first, yi[2], yi[3]}) +
                                     static_cast<double>(yi[2] * d.stride[0] - d.padding[0] + tap_row * d.dilation[0]);
                  const double column =
                      in[1]({yi[0], 2 * first + 1, yi[2], yi[3]}) +
                      static_cast<double>(yi[3] * d.stride[1] - d.padding[1] + tap_column * d.dilation[1]);
                  const double share = d.mask ? in[static_cast<std::size_t>(mask)]({yi[0], first, yi[2], yi[3]}) : 1;
                  result(yi) +=
                      share * bilinear(in[0], yi[0], channel, row, column) * in[2]({yi[1], i, tap_row, tap_column});
                }
            });
            return std::vector<Array>{result};
          },
      .tolerance = 10};
}

std::vector<OpCase> window_rows() {
  return {
      unfold_row("unfold1d", {2, 3, 7}, {2, 9, 5}, {.kernel = {3}}),
      unfold_row("unfold2d", {2, 2, 4, 5}, {2, 12, 4}, {.kernel = {3, 2}, .stride = {1, 2}, .padding = {0, 0}}),
      unfold_row("unfold2d_padded_dilated", {1, 2, 4, 5}, {1, 8, 15},
                 {.kernel = {2, 2}, .padding = {1, 1}, .dilation = {3, 2}}),
      unfold_row("unfold3d", {1, 2, 3, 2, 4}, {1, 16, 6}, {.kernel = {2, 2, 2}}),
      fold_row("fold1d", {2, 3, 7}, {2, 9, 5}, {.kernel = {3}}),
      fold_row("fold2d", {2, 2, 4, 5}, {2, 12, 4}, {.kernel = {3, 2}, .stride = {1, 2}}),
      fold_row("fold2d_padded_dilated", {1, 2, 4, 5}, {1, 8, 15},
               {.kernel = {2, 2}, .padding = {1, 1}, .dilation = {3, 2}}),
      fold_row("fold3d", {1, 2, 3, 2, 4}, {1, 16, 6}, {.kernel = {2, 2, 2}}),
      shuffle_row("pixel_shuffle1d", {2, 6, 3}, 3, false),
      shuffle_row("pixel_shuffle2d", {2, 8, 2, 3}, 2, false),
      shuffle_row("pixel_shuffle3d", {1, 8, 1, 2, 2}, 2, false),
      shuffle_row("pixel_unshuffle1d", {2, 6, 3}, 3, true),
      shuffle_row("pixel_unshuffle2d", {2, 8, 2, 3}, 2, true),
      shuffle_row("pixel_unshuffle3d", {1, 8, 1, 2, 2}, 2, true),
      deform_row("deform_conv2d", {.x = {2, 2, 4, 5}, .weight = {3, 2, 2, 3}}),
      deform_row("deform_conv2d_mask",
                 {.x = {1, 3, 4, 4}, .weight = {2, 3, 2, 2}, .padding = {1, 0}, .mask = true, .bias = true}),
      deform_row("deform_conv2d_parts", {.x = {1, 4, 5, 4},
                                         .weight = {4, 2, 3, 2},
                                         .stride = {2, 1},
                                         .padding = {1, 1},
                                         .dilation = {1, 2},
                                         .groups = 2,
                                         .parts = 2,
                                         .mask = true}),
      deform_row("deform_conv2d_many_channels",
                 {.x = {1, 12, 3, 3}, .weight = {2, 6, 2, 2}, .groups = 2, .bias = true}),
  };
}

const Family kWindows(&window_rows);

Value floats(const Shape& shape) { return ones(shape, Device::cpu()); }

TEST(SamePadding, KeepsTheSizesOfOddAndEvenKernels) {
  for (const std::int64_t kernel : {1, 2, 3, 4})
    for (const std::int64_t dilation : {1, 2, 3}) {
      const ConvOptions options = same_padding({kernel, 5}, {.dilation = {dilation, 1}});
      EXPECT_EQ(conv(floats({1, 1, 9, 7}), floats({1, 1, kernel, 5}), {}, options).shape(), (Shape{1, 1, 9, 7}));
      EXPECT_GE(options.padding_after[0], options.padding[0]);
    }
  // One more behind: the first of [1, 2, 4] under [1, 1] sees 1 + 2.
  const Value x = from_data(TensorData::of<float>({1, 1, 3}, {1, 2, 4}), Device::cpu());
  EXPECT_EQ(conv(x, floats({1, 1, 2}), {}, same_padding({2})).data().to_vector<float>(), (std::vector<float>{3, 6, 4}));
}

TEST(ConvBackward, IsTheGradientOfConv) {
  const Device device = Device::cpu().autodiff();
  const auto numbers = [&](const Shape& shape) { return normal(shape, 0, 1, device, DType::F64, Key{5}); };
  const Value x = numbers({2, 4, 6, 5}).require_grad(), weight = numbers({6, 2, 3, 2}).require_grad();
  const ConvOptions options{.stride = {2, 1}, .padding = {1, 0}, .groups = 2};
  const Value y = conv(x, weight, {}, options), gradient = numbers(y.shape());
  const Value both[] = {x, weight};
  const Values expected = grad(sum(y * gradient), both);
  const auto same = [](const Value& found, const Value& wanted) {
    EXPECT_EQ(found.data().to_vector<double>(), wanted.data().to_vector<double>());
  };
  same(conv_input_backward(gradient, weight.detach(), {6, 5}, options), expected[0]);
  same(conv_weight_backward(x.detach(), gradient, {3, 2}, options), expected[1]);
}

}  // namespace
}  // namespace kiln::test
