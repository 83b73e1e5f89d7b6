// Matrix products, convolutions and pools against the definition, written out in float64.
#include <algorithm>
#include <cmath>

#include "kiln/ops/spatial/conv_ops.hpp"
#include "kiln/ops/spatial/pool_ops.hpp"

#include "tests/backend/cpu/grid.hpp"

namespace kiln {
namespace {

class CpuContraction : public OnEachCpu {};
KILN_ON_EACH_CPU(CpuContraction);

Grid product(const Grid& a, const Grid& b, const Shape& shape) {
  return grid(shape, [&](const Dims& index) {
    double total = 0;
    Dims left = index, right = index;
    for (std::int64_t k = 0; k < a.shape.back(); ++k) {
      left[index.size() - 1] = right[index.size() - 2] = k;
      total += a[left] * b[right];
    }
    return total;
  });
}

TEST_P(CpuContraction, MultipliesMatricesOfAnyLayoutAndBatch) {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::I32}) {
    const bool whole = dtype == DType::I32;
    const double bound = whole ? 100 : 1;
    const auto check = [&](const Value& a, const Value& b, const Shape& shape) {
      const Tolerance tolerance = dtype == DType::F16 ? Tolerance{2e-3, 2e-2} : Tolerance{1e-5, 1e-5};
      EXPECT_EQ(difference(matmul(a, b).data(), product(Grid(a), Grid(b), shape).to(dtype), tolerance), "")
          << text(shape);
    };
    check(numbers(device, {5, 7}, dtype, -bound, bound), scattered(device, {7, 300}, dtype, -bound, bound), {5, 300});
    check(scattered(device, {4, 1, 5, 7}, dtype, -bound, bound), numbers(device, {3, 7, 2}, dtype, -bound, bound),
          {4, 3, 5, 2});
    check(transpose(numbers(device, {6, 3}, dtype, -bound, bound)), numbers(device, {2, 6, 1}, dtype, -bound, bound),
          {2, 3, 1});
  }
}

TEST_P(CpuContraction, MultipliesEmptyMatrices) {
  EXPECT_EQ(matmul(zeros({3, 0}, device), zeros({0, 2}, device)).data().to_vector<float>(),
            std::vector<float>(6, 0.0f));
  EXPECT_EQ(matmul(zeros({0, 4}, device), zeros({4, 2}, device)).data().shape(), (Shape{0, 2}));
  EXPECT_EQ(matmul(zeros({0, 3, 4}, device), zeros({4, 2}, device)).data().shape(), (Shape{0, 3, 2}));
}

/// Calls f(index of y, index of x, index of weight) for all that a convolution multiplies, by the definition.
void each_product(const op::Conv& conv, const Shape& x, const Shape& weight, const Shape& y,
                  const std::function<void(const Dims&, const Dims&, const Dims&)>& f) {
  Grid(y).each([&](const Dims& at) {
    Grid(weight).each([&](const Dims& tap) {
      if (tap[0] != at[1]) return;
      const std::int64_t group = at[1] / (weight[0] / conv.groups);
      Dims from{at[0], group * weight[1] + tap[1]};
      for (int i = 0; i < x.size() - 2; ++i) {
        from.push_back(at[i + 2] * conv.stride[i] - conv.padding[i] + tap[i + 2] * conv.dilation[i]);
        if (from.back() < 0 || from.back() >= x[i + 2]) return;
      }
      f(at, from, tap);
    });
  });
}

struct ConvCase {
  Shape x, weight;
  op::Conv conv;
};

std::vector<ConvCase> conv_cases() {
  return {
      {{2, 3, 9}, {4, 3, 3}, {.stride = {2}, .padding = {1}, .padding_after = {0}, .dilation = {2}}},
      {{2, 4, 7, 6},
       {6, 2, 3, 2},
       {.stride = {1, 2}, .padding = {1, 0}, .padding_after = {1, 3}, .dilation = {1, 1}, .groups = 2}},
      {{1, 2, 8, 8},
       {2, 1, 3, 3},
       {.stride = {3, 2}, .padding = {2, 2}, .padding_after = {2, 2}, .dilation = {2, 1}, .groups = 2}},
      {{2, 1, 4, 5, 3},
       {2, 1, 2, 3, 2},
       {.stride = {1, 1, 2}, .padding = {1, 0, 1}, .padding_after = {0, 1, 1}, .dilation = {1, 1, 1}}},
      {{1, 1, 2, 2}, {1, 1, 1, 1}, {.stride = {1, 1}, .padding = {3, 3}, .padding_after = {3, 3}, .dilation = {1, 1}}},
  };
}

TEST_P(CpuContraction, ConvolvesByTheDefinitionAndSoDoItsAdjoints) {
  for (const auto& [x_shape, weight_shape, conv] : conv_cases()) {
    const Value x = scattered(device, x_shape, DType::F32), weight = scattered(device, weight_shape, DType::F32),
                bias = numbers(device, {weight_shape[0]}, DType::F32);
    const Value y = emit(conv, {x, weight, bias});
    const Value g = scattered(device, y.shape(), DType::F32);
    const Grid xs(x), weights(weight), biases(bias), gs(g);
    Grid ys = grid(y.shape(), [&](auto& i) { return biases[{i[1]}]; }), to_x(x_shape), to_weight(weight_shape);
    each_product(conv, x_shape, weight_shape, y.shape(), [&](const Dims& at, const Dims& from, const Dims& tap) {
      ys[at] += xs[from] * weights[tap];
      to_x[from] += gs[at] * weights[tap];
      to_weight[tap] += gs[at] * xs[from];
    });
    const Tolerance tolerance{1e-5, 1e-5};
    const Spatial sizes(x_shape.begin() + 2, x_shape.end()), kernel(weight_shape.begin() + 2, weight_shape.end());
    EXPECT_EQ(difference(y.data(), ys.to(DType::F32), tolerance), "") << text(x_shape);
    EXPECT_EQ(difference(emit(op::ConvTranspose{conv, sizes}, {g, weight}).data(), to_x.to(DType::F32), tolerance), "")
        << text(x_shape);
    EXPECT_EQ(difference(emit(op::ConvWeightGrad{conv, kernel}, {x, g}).data(), to_weight.to(DType::F32), tolerance),
              "")
        << text(x_shape);
  }
}

TEST_P(CpuContraction, ConvolvesAnEmptyBatchAndNoChannels) {
  EXPECT_EQ(conv(zeros({0, 2, 5}, device), zeros({3, 2, 3}, device), {}).data().shape(), (Shape{0, 3, 3}));
  EXPECT_EQ(conv(zeros({1, 0, 5}, device), zeros({2, 0, 3}, device), full({2}, 4, device)).data().to_vector<float>(),
            std::vector<float>(6, 4.0f));
}

TEST_P(CpuContraction, PoolsTheLargestAndRemembersTheFirstOfThem) {
  const Value x = from_data(TensorData::of<float>({1, 1, 3, 3}, {5, 5, 1, 0, -1, 2, 7, NAN, 2}), device);
  const auto [values, indices] = max_pool_with_indices(x, {.kernel = {2, 2}, .stride = {1, 1}});
  EXPECT_EQ(values.data().to_vector<float>()[0], 5);
  EXPECT_EQ(values.data().to_vector<float>()[1], 5);
  EXPECT_TRUE(std::isnan(values.data().at(2)) && std::isnan(values.data().at(3)));
  EXPECT_EQ(indices.data().to_vector<int>(), (std::vector{0, 1, 7, 7}));
}

TEST_P(CpuContraction, PoolsByTheDefinition) {
  const Value x = scattered(device, {2, 3, 8, 7}, DType::F32);
  const Grid from(x);
  const PoolOptions options{.kernel = {3, 2}, .stride = {2, 3}, .padding = {1, 1}};
  const auto inside = [](std::int64_t y, std::int64_t x) { return y >= 0 && y < 8 && x >= 0 && x < 7; };
  const Shape shape{2, 3, 4, 3};
  const auto window = [&](const Dims& at, auto&& f) {
    for (int ky = 0; ky < 3; ++ky)
      for (int kx = 0; kx < 2; ++kx) {
        const std::int64_t i = at[2] * 2 - 1 + ky, j = at[3] * 3 - 1 + kx;
        if (inside(i, j)) f(from[{at[0], at[1], i, j}]);
      }
  };
  const Grid largest = grid(shape, [&](auto& at) {
    double best = -INFINITY;
    window(at, [&](double element) { best = std::max(best, element); });
    return best;
  });
  const Grid mean = grid(shape, [&](auto& at) {
    double sum = 0, count = 0;
    window(at, [&](double element) { sum += element, ++count; });
    return sum / count;
  });
  EXPECT_EQ(difference(max_pool(x, options).data(), largest.to(DType::F32), {0, 0}), "");
  PoolOptions without_padding = options;
  without_padding.count_padding = false;
  EXPECT_EQ(difference(avg_pool(x, without_padding).data(), mean.to(DType::F32)), "");
}

TEST_P(CpuContraction, AveragesAdaptivelyAndSpreadsBack) {
  const Value x = numbers(device, {1, 1, 5}, DType::F32);
  const Grid from(x);
  const auto& v = from.values;  // parts [0, 2), [1, 4), [3, 5)
  EXPECT_EQ(
      difference(adaptive_avg_pool(x, {3}).data(),
                 TensorData::of<double>({1, 1, 3}, {(v[0] + v[1]) / 2, (v[1] + v[2] + v[3]) / 3, (v[3] + v[4]) / 2})
                     .to(DType::F32)),
      "");
  const Value g = from_data(TensorData::of<float>({1, 1, 3}, {6, 12, 18}), device);
  EXPECT_EQ(emit(op::AvgPoolGrad{op::AvgPool{.adaptive = {3}}, {5}}, {g}).data().to_vector<float>(),
            (std::vector<float>{3, 7, 4, 13, 9}));
}

}  // namespace
}  // namespace kiln
