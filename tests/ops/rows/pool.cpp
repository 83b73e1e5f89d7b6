#include "kiln/ops/spatial/pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/autodiff/backward.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

Spatial or_else(const Spatial& given, const Spatial& otherwise) { return given.empty() ? otherwise : given; }

/// For every result element: the indices (spatial) of its window that lie inside the input.
void each_window(
    const Shape& x, const Shape& y, const PoolOptions& o,
    const std::function<void(const Dims& result, const std::vector<Dims>& inside, std::int64_t padded)>& f) {
  const int axes = x.size() - 2;
  const Spatial ones = Spatial::filled(axes, 1), none = Spatial::filled(axes, 0);
  const Spatial stride = or_else(o.stride, o.kernel), padding = or_else(o.padding, none),
                after = or_else(o.padding_after, padding), dilation = or_else(o.dilation, ones);
  each_index(y, [&](const Dims& yi) {
    std::vector<Dims> inside;
    std::int64_t padded = 0;
    each_index(Shape(o.kernel.begin(), o.kernel.end()), [&](const Dims& tap) {
      Dims xi{yi[0], yi[1]};
      bool in = true, in_padding = true;
      for (int a = 0; a < axes; ++a) {
        const std::int64_t at = yi[a + 2] * stride[a] - padding[a] + tap[a] * dilation[a];
        in &= at >= 0 && at < x[a + 2];
        in_padding &= at < x[a + 2] + after[a];
        xi.push_back(at);
      }
      padded += in_padding;
      if (in) inside.push_back(xi);
    });
    f(yi, inside, padded);
  });
}

Shape pooled(const Shape& x, const PoolOptions& o) {
  const int axes = x.size() - 2;
  const Spatial stride = or_else(o.stride, o.kernel), padding = or_else(o.padding, Spatial::filled(axes, 0)),
                after = or_else(o.padding_after, padding), dilation = or_else(o.dilation, Spatial::filled(axes, 1));
  Shape shape{x[0], x[1]};
  for (int a = 0; a < axes; ++a) {
    const double room = static_cast<double>(x[a + 2] + padding[a] + after[a] - dilation[a] * (o.kernel[a] - 1) - 1) /
                        static_cast<double>(stride[a]);
    std::int64_t count = static_cast<std::int64_t>(o.ceil ? std::ceil(room) : std::floor(room)) + 1;
    if (o.ceil && (count - 1) * stride[a] >= x[a + 2] + padding[a]) --count;  // a window must begin inside
    shape.push_back(count);
  }
  return shape;
}

/// The index in the flattened spatial sizes.
double flat_index(const Shape& x, const Dims& xi) {
  std::int64_t flat = 0;
  for (int a = 2; a < xi.size(); ++a) flat = flat * x[a] + xi[a];
  return static_cast<double>(flat);
}

OpCase max_row(std::string name, const Shape& x, const PoolOptions& o) {
  return {.name = std::move(name),
          .operands = {{x}},
          .function =
              [o](const Values& in) {
                const MaxPoolResult result = max_pool_with_indices(in[0], o);
                return Values{result.values, result.indices, max_pool(in[0], o)};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array values(pooled(x, o)), indices = values;
                each_window(x, values.shape, o, [&](const Dims& yi, const std::vector<Dims>& inside, std::int64_t) {
                  double best = -std::numeric_limits<double>::infinity();
                  for (const Dims& xi : inside)
                    if (in[0](xi) > best) {
                      best = values(yi) = in[0](xi);
                      indices(yi) = flat_index(x, xi);
                    }
                });
                return std::vector<Array>{values, indices, values};
              }};
}

OpCase average_row(std::string name, const Shape& x, const PoolOptions& o) {
  return {.name = std::move(name),
          .operands = {{x}},
          .function = [o](const Values& in) { return Values{avg_pool(in[0], o)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result(pooled(x, o));
                each_window(x, result.shape, o,
                            [&](const Dims& yi, const std::vector<Dims>& inside, std::int64_t padded) {
                              double total = 0;
                              for (const Dims& xi : inside) total += in[0](xi);
                              const auto count = o.count_padding ? padded : static_cast<std::int64_t>(inside.size());
                              result(yi) = total / static_cast<double>(o.divisor ? o.divisor : count);
                            });
                return std::vector<Array>{result};
              },
          .tolerance = 2};
}

/// Calls f(result, x indices) for the parts of an adaptive pool.
void each_part(const Shape& x, const Shape& y, const std::function<void(const Dims&, const std::vector<Dims>&)>& f) {
  each_index(y, [&](const Dims& yi) {
    Shape extent;
    Dims begin;
    for (int a = 0; a < y.size() - 2; ++a) {
      const double scale = static_cast<double>(x[a + 2]) / static_cast<double>(y[a + 2]);
      begin.push_back(static_cast<std::int64_t>(std::floor(static_cast<double>(yi[a + 2]) * scale + 1e-9)));
      extent.push_back(static_cast<std::int64_t>(std::ceil(static_cast<double>(yi[a + 2] + 1) * scale - 1e-9)) -
                       begin[a]);
    }
    std::vector<Dims> part;
    each_index(extent, [&](const Dims& offset) {
      Dims xi{yi[0], yi[1]};
      for (int a = 0; a < offset.size(); ++a) xi.push_back(begin[a] + offset[a]);
      part.push_back(xi);
    });
    f(yi, part);
  });
}

Shape with_sizes(const Shape& x, const Spatial& sizes) {
  Shape shape{x[0], x[1]};
  for (const auto size : sizes) shape.push_back(size);
  return shape;
}

OpCase adaptive_row(std::string name, const Shape& x, const Spatial& sizes) {
  return {.name = std::move(name),
          .operands = {{x}},
          .function = [sizes](const Values& in) { return Values{adaptive_avg_pool(in[0], sizes)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result(with_sizes(x, sizes));
                each_part(x, result.shape, [&](const Dims& yi, const std::vector<Dims>& part) {
                  for (const Dims& xi : part) result(yi) += in[0](xi) / static_cast<double>(part.size());
                });
                return std::vector<Array>{result};
              },
          .tolerance = 2};
}

OpCase adaptive_max_row(std::string name, const Shape& x, const Spatial& sizes) {
  return {.name = std::move(name),
          .operands = {{x}},
          .function =
              [sizes](const Values& in) {
                const MaxPoolResult result = adaptive_max_pool_with_indices(in[0], sizes);
                return Values{result.values, result.indices, adaptive_max_pool(in[0], sizes)};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array values(with_sizes(x, sizes)), indices = values;
                each_part(x, values.shape, [&](const Dims& yi, const std::vector<Dims>& part) {
                  values(yi) = -std::numeric_limits<double>::infinity();
                  for (const Dims& xi : part)
                    if (in[0](xi) > values(yi)) values(yi) = in[0](xi), indices(yi) = flat_index(x, xi);
                });
                return std::vector<Array>{values, indices, values};
              }};
}

OpCase unpool_row(std::string name, const Shape& y, const Spatial& sizes) {
  double places = 1;
  for (const auto size : sizes) places *= static_cast<double>(size);
  return {.name = std::move(name),
          .operands = {{y}, {y, 0, places, OperandSpec::Index}},
          .function =
              [=](const Values& in) {
                return Values{max_unpool(in[0], in[1], sizes), max_pool_backward(in[0], in[1], sizes)};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array last(with_sizes(y, sizes)), sum = last;
                const auto plane = static_cast<std::int64_t>(places);
                each_index(y, [&](const Dims& yi) {
                  const auto at =
                      static_cast<std::size_t>((yi[0] * y[1] + yi[1]) * plane + static_cast<std::int64_t>(in[1](yi)));
                  last.v[at] = in[0](yi);
                  sum.v[at] += in[0](yi);
                });
                return std::vector<Array>{last, sum};
              },
          .tolerance = 2};
}

OpCase average_backward_row(std::string name, const Shape& x, const PoolOptions& o) {
  return {.name = std::move(name),
          .operands = {{pooled(x, o)}},
          .function =
              [=](const Values& in) { return Values{avg_pool_backward(in[0], Spatial(x.begin() + 2, x.end()), o)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result(x);
                each_window(x, in[0].shape, o, [&](const Dims& yi, const std::vector<Dims>& inside, std::int64_t all) {
                  for (const Dims& xi : inside) result(xi) += in[0](yi) / static_cast<double>(all);
                });
                return std::vector<Array>{result};
              },
          .tolerance = 2};
}

OpCase lp_row(std::string name, const Shape& x, double p, const PoolOptions& o) {
  return {.name = std::move(name),
          .operands = {{x}},
          .function = [=](const Values& in) { return Values{lp_pool(in[0], p, o)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result(pooled(x, o));
                each_window(x, result.shape, o, [&](const Dims& yi, const std::vector<Dims>& inside, std::int64_t) {
                  double sum = 0;
                  for (const Dims& xi : inside) sum += std::pow(std::abs(in[0](xi)), p);
                  result(yi) = std::pow(sum, 1 / p);
                });
                return std::vector<Array>{result};
              },
          .tolerance = 4};
}

/// Sizes between which every sequence is the regular one: (size - kernel) / (count - 1) is whole.
OpCase fractional_row(std::string name, const Shape& x, const Spatial& kernel, const Spatial& sizes) {
  return {.name = std::move(name),
          .operands = {{x}},
          .function = [=](const Values& in) { return Values{fractional_max_pool(in[0], kernel, sizes, Key{7})}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                PoolOptions o{.kernel = kernel};
                for (int a = 0; a < kernel.size(); ++a) o.stride.push_back((x[a + 2] - kernel[a]) / (sizes[a] - 1));
                Array values(with_sizes(x, sizes), -std::numeric_limits<double>::infinity());
                each_window(x, values.shape, o, [&](const Dims& yi, const std::vector<Dims>& inside, std::int64_t) {
                  for (const Dims& xi : inside) values(yi) = std::max(values(yi), in[0](xi));
                });
                return std::vector<Array>{values};
              }};
}

std::vector<OpCase> pool_rows() {
  return {
      max_row("max_pool1d", {2, 3, 7}, {.kernel = {3}, .stride = {2}}),
      max_row("max_pool2d", {2, 2, 4, 6}, {.kernel = {2, 2}}),
      max_row("max_pool2d_overlapping", {1, 2, 5, 5}, {.kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 1}}),
      max_row("max_pool2d_dilated", {1, 1, 6, 6}, {.kernel = {2, 2}, .stride = {1, 1}, .dilation = {2, 3}}),
      max_row("max_pool2d_ceil", {1, 1, 5, 6}, {.kernel = {2, 3}, .stride = {2, 2}, .padding = {0, 1}, .ceil = true}),
      max_row("max_pool3d", {1, 1, 3, 4, 4}, {.kernel = {2, 2, 2}, .stride = {1, 2, 2}}),
      max_row("max_pool2d_many_channels", {1, 21, 6, 6}, {.kernel = {2, 2}}),
      max_row("max_pool2d_wide", {2, 1, 5, 75}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}),
      max_row("max_pool2d_wide_dilated", {1, 2, 7, 44}, {.kernel = {2, 3}, .stride = {1, 1}, .dilation = {3, 2}}),
      max_row("max_pool2d_wide_stride3", {1, 2, 7, 60}, {.kernel = {2, 4}, .stride = {2, 3}, .ceil = true}),
      max_row("max_pool2d_padded_unevenly", {1, 2, 4, 5},
              {.kernel = {2, 3}, .stride = {1, 2}, .padding = {0, 1}, .padding_after = {1, 0}}),
      max_row("max_pool2d_no_batch", {0, 2, 4, 4}, {.kernel = {2, 2}}),
      adaptive_max_row("adaptive_max_pool1d", {2, 2, 9}, {4}),
      adaptive_max_row("adaptive_max_pool2d", {2, 3, 6, 5}, {3, 2}),
      adaptive_max_row("adaptive_max_pool2d_larger", {1, 2, 3, 4}, {5, 4}),
      adaptive_max_row("adaptive_max_pool2d_many_channels", {1, 19, 5, 7}, {2, 3}),
      adaptive_max_row("adaptive_max_pool3d", {1, 2, 3, 4, 5}, {2, 2, 3}),
      unpool_row("max_unpool1d", {2, 2, 3}, {7}),
      unpool_row("max_unpool2d", {2, 3, 2, 3}, {4, 6}),
      unpool_row("max_unpool3d", {1, 2, 2, 1, 2}, {3, 2, 4}),
      lp_row("lp_pool1d", {2, 2, 7}, 2, {.kernel = {3}, .stride = {2}}),
      lp_row("lp_pool2d", {2, 2, 5, 4}, 3, {.kernel = {2, 2}, .stride = {1, 2}}),
      lp_row("lp_pool2d_ceil", {1, 2, 5, 5}, 2, {.kernel = {2, 2}, .stride = {2, 2}, .ceil = true}),
      lp_row("lp_pool2d_power1", {1, 2, 4, 4}, 1, {.kernel = {2, 2}}),
      lp_row("lp_pool3d", {1, 2, 3, 2, 4}, 1.5, {.kernel = {2, 1, 2}}),
      fractional_row("fractional_max_pool2d", {2, 2, 8, 7}, {2, 3}, {3, 5}),
      fractional_row("fractional_max_pool3d", {1, 1, 4, 5, 4}, {2, 1, 2}, {2, 3, 3}),
      average_row("avg_pool1d", {2, 3, 7}, {.kernel = {3}, .stride = {2}}),
      average_row("avg_pool2d", {2, 2, 4, 6}, {.kernel = {2, 2}}),
      average_row("avg_pool2d_padded", {1, 2, 5, 5}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}),
      average_row("avg_pool2d_padding_not_counted", {1, 2, 5, 5},
                  {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .count_padding = false}),
      average_row("avg_pool2d_ceil", {1, 1, 5, 6}, {.kernel = {2, 2}, .stride = {2, 2}, .ceil = true}),
      average_row("avg_pool2d_divisor", {1, 2, 5, 5},
                  {.kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 0}, .divisor = 4}),
      average_row("avg_pool1d_padded_unevenly", {1, 2, 6},
                  {.kernel = {3}, .stride = {2}, .padding = {0}, .padding_after = {1}}),
      average_backward_row("avg_pool_backward", {2, 2, 5, 5}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}),
      average_row("avg_pool3d", {1, 1, 3, 4, 4}, {.kernel = {2, 2, 2}, .stride = {1, 2, 2}}),
      average_row("avg_pool2d_no_batch", {0, 2, 4, 4}, {.kernel = {2, 2}}),
      adaptive_row("adaptive_avg_pool2d", {2, 2, 6, 4}, {3, 2}),
      adaptive_row("adaptive_avg_pool2d_uneven", {1, 2, 7, 5}, {3, 4}),
      adaptive_row("adaptive_avg_pool1d", {1, 2, 9}, {4}),
      adaptive_row("adaptive_avg_pool3d", {1, 1, 4, 3, 5}, {2, 2, 2}),
      adaptive_row("adaptive_avg_pool2d_many_channels", {1, 19, 6, 6}, {2, 2})};
}

const Family kPool(&pool_rows);

Value image(const Shape& shape, const std::vector<float>& numbers, const char* device) {
  return from_data(TensorData::of<float>(shape, numbers), Device::parse(device));
}

TEST(MaxPool, TakesTheFirstOfEqualsAndTheFirstNaN) {
  const float nan = std::nanf("");
  for (const char* device : {"cpu", "reference"}) {
    std::vector<float> numbers(40, 1.0f);
    numbers[3] = numbers[39] = nan;
    numbers[2] = 9;
    // As planes, and with the same numbers in each of twenty channels side by side.
    const Value plane = image({1, 1, 1, 40}, numbers, device);
    const Value pixels = permute(expand(plane, {1, 20, 1, 40}) * 1.0, {0, 2, 3, 1});
    const Value side_by_side = permute(from_data(pixels.data(), pixels.device()), {0, 3, 1, 2});
    for (const Value& x : {plane, side_by_side}) {
      const MaxPoolResult result = max_pool_with_indices(x, {.kernel = {1, 3}, .stride = {1, 1}});
      const TensorData values = result.values.data(), indices = result.indices.data();
      for (std::int64_t i = 0; i < 38; ++i) {
        const bool none = (i >= 1 && i <= 3) || i == 37;
        EXPECT_EQ(std::isnan(values.at(i)), none) << device << i;
        const std::int64_t expected = none ? (i == 37 ? 39 : 3) : i == 0 ? 2 : i;
        EXPECT_EQ(indices.at(i), static_cast<double>(expected)) << device << i;
      }
    }
  }
}

TEST(MaxPool, OfNothingButTheLeastNumberFindsTheFirst) {
  for (const char* device : {"cpu", "reference"}) {
    const Value x = image({1, 1, 1, 20}, std::vector<float>(20, -std::numeric_limits<float>::infinity()), device);
    const MaxPoolResult result = max_pool_with_indices(x, {.kernel = {1, 2}});
    for (std::int64_t i = 0; i < 10; ++i) EXPECT_EQ(result.indices.data().at(i), static_cast<double>(2 * i));
  }
}

TEST(MaxPool, TakesIntegers) {
  const Value x = from_data(TensorData::of<std::uint8_t>({1, 1, 4}, {3, 200, 7, 1}), Device::cpu());
  EXPECT_EQ(max_pool(x, {.kernel = {2}}).data().to_vector<int>(), (std::vector<int>{200, 7}));
}

TEST(MaxPool, HasTheGradientOfChannelsLastMemory) {
  for (const std::int64_t channels : {3, 40}) {
    const Device device = Device::cpu().autodiff();
    const Value ramp = remainder(arange(0, 2 * 6 * 7 * channels, 1, device, DType::F32) * 37, 101.0);
    const Value x = permute(reshape(ramp, {2, 6, 7, channels}), {0, 3, 1, 2}).require_grad();
    const Value same = from_data(x.data(), device).require_grad();
    const PoolOptions options{.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 0}};
    const Value found = grad(sum(square(max_pool(x, options))), {&x, 1})[0];
    const Value expected = grad(sum(square(max_pool(same, options))), {&same, 1})[0];
    EXPECT_EQ(found.data().to_vector<float>(), expected.data().to_vector<float>());
  }
}

TEST(MaxPoolBackward, SaysWhichIndexIsOutOfRange) {
  for (const char* device : {"cpu", "reference"}) {
    const Value gradient = ones({1, 1, 2}, Device::parse(device));
    for (const int index : {4, -1}) {
      const Value indices = full({1, 1, 2}, index, gradient.device(), DType::I64);
      EXPECT_THROW((void)max_pool_backward(gradient, indices, {4}).data(), IndexError);
    }
  }
}

TEST(MaxUnpool, UndoesAMaxPool) {
  const Value x = from_data(TensorData::of<float>({1, 1, 2, 4}, {1, 5, 2, 4, 3, 0, 8, 7}), Device::cpu());
  const MaxPoolResult pooled = max_pool_with_indices(x, {.kernel = {2, 2}});
  EXPECT_EQ(max_unpool(pooled.values, pooled.indices, {2, 4}).data().to_vector<float>(),
            (std::vector<float>{0, 5, 0, 0, 0, 0, 8, 0}));
  // Windows that overlap name one place more than once.
  const MaxPoolResult both = max_pool_with_indices(x, {.kernel = {2, 2}, .stride = {1, 1}});
  EXPECT_EQ(max_unpool(both.values, both.indices, {2, 4}).data().to_vector<float>(),
            (std::vector<float>{0, 5, 0, 0, 0, 0, 8, 0}));
}

TEST(LpPool, HasTheGradientZeroWhereAWindowIsZero) {
  const Value x = zeros({1, 1, 4}, Device::cpu().autodiff()).require_grad();
  const Value pooled = lp_pool(x, 2, {.kernel = {2}});
  EXPECT_EQ(pooled.data().to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(grad(sum(pooled), {&x, 1})[0].data().to_vector<float>(), std::vector<float>(4, 0));
}

TEST(FractionalMaxPool, DrawsRegionsThatAdvanceByOneOfTwoSteps) {
  const Value x = reshape(arange(0, 50, 1, Device::cpu(), DType::F32), {1, 1, 50});
  std::vector<float> before;
  bool drawn = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> ends = fractional_max_pool(x, {2}, {29}, Key{seed}).data().to_vector<float>();
    EXPECT_EQ(ends.front(), 1);
    EXPECT_EQ(ends.back(), 49);
    for (std::size_t i = 1; i < ends.size(); ++i) {
      EXPECT_GE(ends[i] - ends[i - 1], 1);
      EXPECT_LE(ends[i] - ends[i - 1], 2);
    }
    drawn |= !before.empty() && ends != before;
    before = ends;
  }
  EXPECT_TRUE(drawn);
}

}  // namespace
}  // namespace kiln::test
