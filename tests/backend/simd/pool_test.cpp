#include <algorithm>
#include <cmath>

#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

struct PoolCase {
  Shape image;
  op::AvgPool pool;
};

op::AvgPool window(Spatial kernel, Spatial stride, Spatial padding, bool count_padding) {
  const Spatial ones = Spatial::filled(kernel.size(), 1);
  return {
      .window = {.kernel = kernel, .stride = stride, .padding = padding, .padding_after = padding, .dilation = ones},
      .count_padding = count_padding,
      .adaptive = {}};
}
op::AvgPool adaptive(Spatial sizes) { return {.window = {}, .count_padding = true, .adaptive = sizes}; }

const PoolCase kCases[] = {
    {{2, 16, 12, 12}, adaptive({4, 4})},
    {{3, 21, 7, 10}, adaptive({3, 4})},
    {{2, 3, 5, 5}, adaptive({1, 1})},
    {{2, 5, 9, 8}, window({3, 2}, {2, 2}, {1, 0}, true)},
    {{2, 12, 9, 8}, window({3, 3}, {1, 1}, {1, 1}, false)},
    {{2, 4, 17}, window({4}, {3}, {2}, true)},
    {{1, 6, 5, 6, 7}, window({2, 3, 2}, {1, 2, 2}, {1, 1, 0}, false)},
};

/// Calls f(element of the image, element of the pooled image, weight) for all pairs, both row-major.
void each_pair(const PoolCase& c, const Shape& pooled, const std::function<void(std::size_t, std::size_t, double)>& f) {
  const Dims x_strides = contiguous_strides(c.image), z_strides = contiguous_strides(pooled);
  const int axes = c.image.size() - 2;
  for (std::int64_t i = 0; i < numel(c.image); ++i)
    for (std::int64_t o = 0; o < numel(pooled); ++o) {
      if (i / x_strides[1] != o / z_strides[1]) continue;  // another plane
      double weight = 1;
      for (int axis = 0; axis < axes; ++axis) {
        const std::int64_t size = c.image[axis + 2], at = i / x_strides[axis + 2] % size;
        const std::int64_t result = o / z_strides[axis + 2] % pooled[axis + 2];
        double begin = 0, end = 0, divisor = 0;
        if (!c.pool.adaptive.empty()) {
          const auto count = static_cast<double>(c.pool.adaptive[axis]);
          begin = std::floor(static_cast<double>(result * size) / count);
          end = std::ceil(static_cast<double>((result + 1) * size) / count);
          divisor = end - begin;
        } else {
          const op::Window& w = c.pool.window;
          begin = static_cast<double>(result * w.stride[axis] - w.padding[axis]);
          end = std::min(begin + static_cast<double>(w.kernel[axis]), static_cast<double>(size + w.padding[axis]));
          divisor =
              c.pool.count_padding ? end - begin : std::min(end, static_cast<double>(size)) - std::max(begin, 0.0);
        }
        weight *= static_cast<double>(at) >= begin && static_cast<double>(at) < end ? 1 / divisor : 0;
      }
      if (weight != 0) f(static_cast<std::size_t>(i), static_cast<std::size_t>(o), weight);
    }
}

TEST(SimdAvgPool, AveragesWindowsInBothLayouts) {
  for_each_target([] {
    for (const PoolCase& c : kCases) {
      const auto x = rounded(DType::F32, random_numbers(numel(c.image), -1, 1));
      for (const Dims& order : {Dims{}, channels_last(c.image.size())}) {
        const Value z = run_op(c.pool, {tensor(DType::F32, c.image, x, order)});
        std::vector<double> expected(static_cast<std::size_t>(z.numel()));
        each_pair(c, z.shape(), [&](std::size_t i, std::size_t o, double weight) { expected[o] += weight * x[i]; });
        expect_close(numbers(z), expected, 1e-6, 1e-6);
        if (!order.empty()) { EXPECT_EQ(z.node()->strides[1], 1); }
      }
    }
  });
}

TEST(SimdAvgPoolGrad, SpreadsEachResultOverItsWindow) {
  for_each_target([] {
    for (const PoolCase& c : kCases) {
      const Shape pooled =
          c.pool
              .infer(std::vector<Value>{
                  tensor(DType::F32, c.image, std::vector<double>(static_cast<std::size_t>(numel(c.image))))})[0]
              .shape;
      const auto y = rounded(DType::F32, random_numbers(numel(pooled), -1, 1));
      std::vector<double> expected(static_cast<std::size_t>(numel(c.image)));
      each_pair(c, pooled, [&](std::size_t i, std::size_t o, double weight) { expected[i] += weight * y[o]; });
      Spatial sizes;
      for (int i = 2; i < c.image.size(); ++i) sizes.push_back(c.image[i]);
      for (const Dims& order : {Dims{}, channels_last(c.image.size())}) {
        const Value z = run_op(op::AvgPoolGrad{c.pool, sizes}, {tensor(DType::F32, pooled, y, order)});
        expect_close(numbers(z), expected, 1e-6, 1e-6);
      }
    }
  });
}

TEST(SimdAvgPool, ReadsAPartOfImagesInTheirMemory) {
  const auto expect = [](const auto& op, const Shape& shape, const Shape& whole) {
    for (const Dims& order : {Dims{}, channels_last(shape.size())}) {
      const Value all = tensor(DType::F32, whole, random_numbers(numel(whole), -1, 1), order);
      const Value part = first_of(all, shape), alone = tensor(DType::F32, shape, numbers(part), order);
      EXPECT_EQ(numbers(run_op(op, {part})), numbers(run_op(op, {alone}))) << text(shape, " of ", whole, ' ', order);
      // Every second element of a row is no row in memory.
      const Value some = every(2, alone), copied = tensor(DType::F32, some.shape(), numbers(some), order);
      EXPECT_EQ(numbers(run_op(op, {some})), numbers(run_op(op, {copied})));
    }
  };
  for_each_target([&] {
    for (const Shape& more : {Shape{1, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 3, 0}, {0, 0, 0, 5}, {1, 2, 3, 5}}) {
      const Shape shape{2, 19, 9, 8};
      Shape whole = shape;
      for (int i = 0; i < 4; ++i) whole[i] += more[i];
      expect(window({3, 2}, {2, 2}, {1, 0}, true), shape, whole);
      expect(adaptive({2, 3}), shape, whole);
    }
  });
  const op::AvgPool pool = window({2, 2}, {2, 2}, {0, 0}, true);
  for_each_target([&] {
    const Shape pooled{2, 5, 4, 6}, whole{2, 7, 5, 8};
    for (const Dims& order : {Dims{}, channels_last(4)}) {
      const Value all = tensor(DType::F32, whole, random_numbers(numel(whole), -1, 1), order);
      const Value part = first_of(all, pooled), alone = tensor(DType::F32, pooled, numbers(part), order);
      const op::AvgPoolGrad grad{pool, {8, 12}};
      EXPECT_EQ(numbers(run_op(grad, {part})), numbers(run_op(grad, {alone})));
    }
  });
}

TEST(SimdPool, TakesTheLargestOfShortIntegersAsOfFloats) {
  for (const DType dtype : {DType::U8, DType::I8, DType::U16, DType::I16})
    for (const Dims& order : {Dims{}, Dims{0, 2, 3, 1}}) {
      const Shape shape{2, 5, 9, 8};
      std::vector<double> whole =
          random_numbers(numel(shape), dtype == DType::I8 || dtype == DType::I16 ? -100 : 0, 100);
      for (double& number : whole) number = std::trunc(number);
      op::MaxPool op{.window = window({3, 2}, {2, 2}, {1, 0}, true).window, .adaptive = {}};
      for (const int result : {0, 1}) {
        const Value found = run_op(op, {tensor(dtype, shape, whole, order)}, 2, result);
        EXPECT_EQ(found.dtype(), result ? DType::I64 : dtype);
        EXPECT_EQ(numbers(found), numbers(run_op(op, {tensor(DType::F32, shape, whole, order)}, 2, result)));
      }
    }
}

}  // namespace
}  // namespace kiln::cpu::simd
