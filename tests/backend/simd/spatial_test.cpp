// Pooling, resizing, blending and sampling, on every instruction set against the plain kernels or the definition.
#include <algorithm>
#include <cmath>

#include "kiln/backend/cpu/reference/reference.hpp"
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

/// Every result of the plain kernel.
template <class Op>
std::vector<std::vector<double>> plain(const Op& op, const std::vector<Value>& in) {
  const Descs descs = op.infer(in);
  std::vector<Value> out;
  for (const Desc& desc : descs) out.push_back(Value(make_ref<Node>(desc, in[0].device())));
  reference::run(op, {in, out});
  std::vector<std::vector<double>> results;
  for (const Value& value : out) results.push_back(numbers(value));
  return results;
}

template <class Op>
void expect_plain_results(const Op& op, const std::vector<Value>& in, double tolerance) {
  const auto expected = plain(op, in);
  const int count = static_cast<int>(expected.size());
  for (int i = 0; i < count; ++i)
    expect_close(numbers(run_op(op, in, count, i)), expected[static_cast<std::size_t>(i)], tolerance, tolerance);
}

/// Random numbers, some of them equal.
Value random_tensor(const Shape& shape, const Dims& order = {}) {
  std::vector<double> x = random_numbers(numel(shape), -1, 1);
  for (double& number : x) number = std::round(number * 64) / 64;
  return tensor(DType::F32, shape, x, order);
}

op::MaxPool max_window(Spatial kernel, Spatial stride, Spatial padding, Spatial dilation) {
  return {.window =
              {.kernel = kernel, .stride = stride, .padding = padding, .padding_after = padding, .dilation = dilation},
          .adaptive = {}};
}

TEST(SimdMaxPool, FindsWhatThePlainKernelFinds) {
  const std::pair<Shape, op::MaxPool> cases[] = {
      {{2, 3, 9, 70}, max_window({2, 2}, {2, 2}, {0, 0}, {1, 1})},
      {{2, 20, 9, 11}, max_window({3, 3}, {2, 2}, {1, 1}, {1, 1})},
      {{1, 5, 8, 41}, max_window({2, 3}, {1, 1}, {1, 1}, {2, 1})},
      {{1, 2, 6, 65}, max_window({3, 4}, {2, 3}, {0, 2}, {1, 1})},
      {{1, 2, 100}, max_window({5}, {2}, {2}, {1})},
      {{1, 3, 4, 5, 33}, max_window({2, 3, 2}, {1, 2, 2}, {1, 1, 0}, {1, 1, 1})},
      {{2, 18, 7, 9}, {.window = {}, .adaptive = {3, 2}}},
      {{2, 3, 6, 64}, {.window = {}, .adaptive = {3, 32}}},
  };
  for_each_target([&] {
    for (const auto& [shape, pool] : cases)
      for (const Dims& order : {Dims{}, channels_last(shape.size())}) {
        const Value x = random_tensor(shape, order);
        expect_plain_results(pool, {x}, 0);
        const Value indices = run_op(pool, {x}, 2, 1), y = random_tensor(indices.shape(), order);
        expect_plain_results(op::MaxPoolGrad{Spatial(shape.begin() + 2, shape.end())}, {y, indices}, 1e-6);
      }
  });
}

TEST(SimdResample, AddsWhatThePlainKernelAdds) {
  const Interpolation modes[] = {Interpolation::Nearest, Interpolation::Linear, Interpolation::Cubic,
                                 Interpolation::Lanczos3};
  for_each_target([&] {
    for (const Interpolation mode : modes)
      for (const auto& [from, to] : {std::pair{7, 19}, std::pair{40, 83}, std::pair{70, 9}, std::pair{5, 1}})
        for (const bool antialias : {false, true})
          for (const bool transposed : {false, true})
            for (const int dim : {2, 3}) {
              Shape shape{2, 3, 6, 5};
              shape[dim] = transposed ? to : from;
              for (const Dims& order : {Dims{}, channels_last(4)}) {
                const op::Resample op{.dim = dim,
                                      .from = from,
                                      .to = to,
                                      .mode = mode,
                                      .antialias = antialias && mode != Interpolation::Nearest,
                                      .transposed = transposed};
                expect_plain_results(op, {random_tensor(shape, order)}, 1e-5);
              }
            }
  });
}

TEST(SimdBlend, AddsWhatThePlainKernelAdds) {
  for_each_target([] {
    for (const std::int64_t channels : {1, 3, 8, 37, 100}) {
      const Shape image{2, channels, 23}, points{2, 17, 5}, result{2, channels, 17};
      std::vector<double> places = random_numbers(numel(points), -2, 25);
      for (double& place : places) place = std::floor(place);
      const Value index = tensor(DType::I64, points, places), weight = random_tensor(points);
      for (const Dims& order : {Dims{}, channels_last(3)}) {
        const Value x = random_tensor(image, order), y = random_tensor(result, order);
        expect_plain_results(op::Blend{}, {x, index, weight}, 1e-5);
        expect_plain_results(op::BlendTranspose{23}, {y, index, weight}, 1e-5);
        expect_plain_results(op::BlendWeightGrad{}, {x, index, y}, 1e-4);
      }
    }
  });
}

/// How much element `i` counts at a coordinate, and how fast that grows with the coordinate.
struct Counts {
  double weight, slope;
};
Counts counts(const GridSampleOptions& options, std::int64_t size, double coordinate, std::int64_t i) {
  const auto n = static_cast<double>(size);
  const double step = (options.align_corners ? n - 1 : n) / 2, place = coordinate * step + (n - 1) / 2;
  const bool held = options.padding == SamplePadding::Border && (place < 0 || place > n - 1);
  const double distance = (held ? std::min(std::max(place, 0.0), n - 1) : place) - static_cast<double>(i);
  if (std::abs(distance) >= 1) return {0, 0};
  return {1 - std::abs(distance), held ? 0 : distance < 0 ? step : -step};
}

// More points than are looked at at once, in odd numbers, inside and outside.
TEST(SimdGridSample, AddsWhatTheDefinitionAdds) {
  constexpr std::int64_t kHeight = 7, kWidth = 9, kRows = 19, kColumns = 23, kPoints = kRows * kColumns;
  for_each_target([&] {
    for (const GridSampleOptions& options :
         {GridSampleOptions{}, GridSampleOptions{.align_corners = true},
          GridSampleOptions{.padding = SamplePadding::Border},
          GridSampleOptions{.padding = SamplePadding::Border, .align_corners = true}})
      for (const std::int64_t channels : {1, 3, 8, 37})
        for (const Dims& order : {Dims{}, channels_last(4)}) {
          const Shape image{2, channels, kHeight, kWidth}, read{2, channels, kRows, kColumns},
              places{2, kRows, kColumns, 2};
          const Value x = random_tensor(image, order), g = random_tensor(read, order);
          const Value grid = tensor(DType::F32, places, random_numbers(numel(places), -1.4, 1.4));
          const std::vector<double> xs = numbers(x), gs = numbers(g), at = numbers(grid);
          std::vector<double> y(gs.size()), dx(xs.size()), dgrid(at.size());
          for (std::int64_t n = 0; n < 2; ++n)
            for (std::int64_t p = 0; p < kPoints; ++p)
              for (std::int64_t i = 0; i < kHeight * kWidth; ++i) {
                const auto place = static_cast<std::size_t>(2 * (n * kPoints + p));
                const Counts across = counts(options, kWidth, at[place], i % kWidth),
                             down = counts(options, kHeight, at[place + 1], i / kWidth);
                if (across.weight * down.weight == 0) continue;
                for (std::int64_t c = 0; c < channels; ++c) {
                  const auto from = static_cast<std::size_t>((n * channels + c) * kHeight * kWidth + i),
                             to = static_cast<std::size_t>((n * channels + c) * kPoints + p);
                  y[to] += across.weight * down.weight * xs[from];
                  dx[from] += across.weight * down.weight * gs[to];
                  dgrid[place] += across.slope * down.weight * xs[from] * gs[to];
                  dgrid[place + 1] += across.weight * down.slope * xs[from] * gs[to];
                }
              }
          expect_close(numbers(run_op(op::GridSample{options}, {x, grid})), y, 0, 1e-5);
          expect_close(numbers(run_op(op::GridSampleTranspose{options, {kHeight, kWidth}}, {g, grid})), dx, 0, 1e-4);
          expect_close(numbers(run_op(op::GridSampleGridGrad{options}, {x, grid, g})), dgrid, 1e-4, 2e-4);
        }
  });
}

}  // namespace
}  // namespace kiln::cpu::simd
