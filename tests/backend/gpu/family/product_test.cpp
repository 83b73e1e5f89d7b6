// Products of matrices by the GPU families' own kernels, against loops over doubles.
#include "tests/backend/gpu/family/device.hpp"

namespace kiln::test {
namespace {

std::vector<double> doubles(const Value& value) {
  const TensorData data = value.data().to(DType::F64);
  const auto* first = reinterpret_cast<const double*>(data.bytes().data());
  return {first, first + data.numel()};
}

/// a [batch, m, k] x b [batch, k, n], or b without a batch.
void expect_product(const Value& a, const Value& b) {
  const Value c = matmul(a, b);
  const std::vector<double> x = doubles(a), y = doubles(b), z = doubles(c);
  const std::int64_t m = a.dim(-2), k = a.dim(-1), n = b.dim(-1), batch = c.numel() / std::max<std::int64_t>(m * n, 1);
  for (std::int64_t i = 0; i < batch; ++i)
    for (std::int64_t row = 0; row < m; ++row)
      for (std::int64_t column = 0; column < n; ++column) {
        double sum = 0;
        for (std::int64_t d = 0; d < k; ++d)
          sum += x[static_cast<std::size_t>((i * m + row) * k + d)] *
                 y[static_cast<std::size_t>(((b.rank() == 2 ? 0 : i * k) + d) * n + column)];
        // Whole numbers, small enough to be exact.
        ASSERT_EQ(z[static_cast<std::size_t>((i * m + row) * n + column)], sum)
            << text(a, " x ", b, " at ", row, ", ", column);
      }
}

Value filled(const Shape& shape, DType dtype, unsigned seed) {
  return Value(simulated().backend().upload(whole_numbers(shape, dtype, is_float(dtype) ? 5 : 3, seed), simulated()));
}

struct Sizes {
  std::int64_t m, k, n;
};

TEST(GpuProducts, CrossTheEdgesOfAllTiles) {
  for (const auto& [m, k, n] : std::initializer_list<Sizes>{{1, 1, 1},
                                                            {16, 16, 16},
                                                            {17, 15, 3},
                                                            {3, 33, 17},
                                                            {16, 40, 130},
                                                            {130, 17, 16},
                                                            {32, 31, 33},
                                                            {65, 16, 64},
                                                            {70, 33, 70},
                                                            {64, 48, 128},
                                                            {8, 4, 200},
                                                            {200, 4, 8}})
    for (const DType dtype : {DType::F32, DType::F64}) {
      expect_product(filled({m, k}, dtype, 1), filled({k, n}, dtype, 2));
      expect_product(filled({m, k}, dtype, 1), transpose(filled({n, k}, dtype, 2)));
      expect_product(transpose(filled({k, m}, dtype, 1)), filled({k, n}, dtype, 2));
    }
}

TEST(GpuProducts, KnowAllTypes) {
  for (const DType dtype : kAllTypes) {
    if (dtype == DType::Bool) continue;
    expect_product(filled({5, 6}, dtype, 3), filled({6, 7}, dtype, 4));
    expect_product(filled({40, 12}, dtype, 3), filled({12, 36}, dtype, 4));
    expect_product(filled({9, 24}, dtype, 3), filled({24, 1}, dtype, 4));
    expect_product(filled({1, 24}, dtype, 3), filled({24, 40}, dtype, 4));
  }
}

TEST(GpuProducts, OfOneRowOrColumn) {
  for (const std::int64_t other : {1, 7, 8, 31, 64, 130})
    for (const std::int64_t depth : {1, 3, 128, 260})
      for (const DType dtype : {DType::F32, DType::F16}) {
        expect_product(filled({other, depth}, dtype, 5), filled({depth, 1}, dtype, 6));
        expect_product(transpose(filled({depth, other}, dtype, 5)), filled({depth, 1}, dtype, 6));
        expect_product(filled({1, depth}, dtype, 5), filled({depth, other}, dtype, 6));
        expect_product(filled({1, depth}, dtype, 5), transpose(filled({other, depth}, dtype, 6)));
      }
}

// The simulated device has one multiprocessor: long sums beside few results are shared by two blocks.
TEST(GpuProducts, ShareLongSums) {
  expect_product(filled({3, 1100}, DType::F32, 7), filled({1100, 5}, DType::F32, 8));
  expect_product(filled({3, 1100}, DType::I64, 7), filled({1100, 5}, DType::I64, 8));
  expect_product(filled({20, 517}, DType::F64, 7), filled({517, 40}, DType::F64, 8));
  expect_product(filled({5, 2100}, DType::F32, 7), filled({2100, 1}, DType::F32, 8));
  expect_product(transpose(filled({2100, 5}, DType::BF16, 7)), filled({2100, 1}, DType::BF16, 8));
}

TEST(GpuProducts, OfBatches) {
  for (const DType dtype : {DType::F32, DType::I32}) {
    expect_product(filled({3, 5, 6}, dtype, 9), filled({3, 6, 4}, dtype, 10));
    expect_product(filled({3, 5, 6}, dtype, 9), filled({6, 4}, dtype, 10));  // one product
    expect_product(filled({40, 1, 6}, dtype, 9), filled({6, 20}, dtype, 10));
    expect_product(permute(filled({5, 3, 6}, dtype, 9), {1, 0, 2}), filled({6, 4}, dtype, 10));
    expect_product(permute(filled({20, 3, 8}, dtype, 9), {1, 0, 2}), permute(filled({24, 3, 8}, dtype, 9), {1, 2, 0}));
    expect_product(filled({4, 1, 6}, dtype, 9), filled({4, 6, 1}, dtype, 10));
  }
}

TEST(GpuProducts, OfOddStrides) {
  const Value big = filled({40, 60}, DType::F32, 11);
  const std::array<Range, 2> every_other{Range{{}, {}, 2}, Range{1, {}, 2}}, backwards{Range{}, Range{{}, {}, -1}};
  expect_product(slice(big, every_other), filled({30, 8}, DType::F32, 12));
  expect_product(slice(big, backwards), filled({60, 20}, DType::F32, 12));
  expect_product(expand(filled({1, 60}, DType::F32, 13), {40, 60}), filled({60, 20}, DType::F32, 12));
  const std::array<Range, 2> inner{Range{1, 37}, Range{3, 59}};  // lies at no multiple of 16 bytes
  expect_product(slice(big, inner), filled({56, 20}, DType::F32, 12));
}

TEST(GpuProducts, OfNothing) {
  EXPECT_EQ(matmul(filled({0, 3}, DType::F32, 1), filled({3, 2}, DType::F32, 1)).shape(), (Shape{0, 2}));
  EXPECT_EQ(doubles(matmul(filled({2, 0}, DType::F32, 1), filled({0, 3}, DType::F32, 1))), std::vector<double>(6, 0.0));
  EXPECT_EQ(matmul(filled({0, 2, 3}, DType::F32, 1), filled({3, 2}, DType::F32, 1)).shape(), (Shape{0, 2, 2}));
}

}  // namespace
}  // namespace kiln::test
