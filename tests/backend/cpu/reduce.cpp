#include <algorithm>
#include <cmath>

#include "tests/backend/cpu/grid.hpp"

namespace kiln {
namespace {

class CpuReduce : public OnEachCpu {};
KILN_ON_EACH_CPU(CpuReduce);

/// x folded over `dims` in float64, beginning with `start`.
Grid folded(const Grid& x, const Dims& dims, double start, const std::function<double(double, double)>& step) {
  Shape shape = x.shape;
  for (const auto dim : dims) shape[static_cast<int>(dim)] = 1;
  Grid result = grid(shape, [&](auto&) { return start; });
  x.each([&](const Dims& index) { result[index] = step(result[index], x[index]); });
  return result;
}

TEST_P(CpuReduce, FoldsAnyDimensionsOfAnyLayout) {
  for (const Value& x :
       {numbers(device, {7, 300, 5}, DType::F32), scattered(device, {7, 300, 5}, DType::F32),
        expand(scattered(device, {300, 1}, DType::F32), {7, 300, 5}),
        flip(numbers(device, {7, 300, 5}, DType::F32), {0}), flip(numbers(device, {7, 300, 5}, DType::F32), {1}),
        expand(numbers(device, {1, 300, 5}, DType::F32), {70, 300, 5})}) {
    const Grid from(x);
    for (const Dims& dims : {Dims{0}, Dims{1}, Dims{2}, Dims{0, 2}, Dims{0, 1, 2}}) {
      const Grid sums = folded(from, dims, 0, std::plus{});
      const std::size_t of_each = from.values.size() / sums.values.size();
      const auto count = static_cast<double>(of_each);
      EXPECT_EQ(difference(sum(x, dims, true).data(), sums.to(DType::F32), {1e-5, 1e-4}), "") << text(dims);
      EXPECT_EQ(difference(mean(x, dims, true).data(),
                           grid(sums.shape, [&](auto& i) { return sums[i] / count; }).to(DType::F32), {1e-5, 1e-6}),
                "")
          << text(dims);
      EXPECT_EQ(
          difference(max(x, dims, true).data(),
                     folded(from, dims, -INFINITY, [](double a, double b) { return std::max(a, b); }).to(DType::F32),
                     {0, 0}),
          "");
      EXPECT_EQ(
          difference(min(x, dims, true).data(),
                     folded(from, dims, INFINITY, [](double a, double b) { return std::min(a, b); }).to(DType::F32),
                     {0, 0}),
          "");
    }
  }
}

TEST_P(CpuReduce, SumsManyNumbersWithoutDrifting) {
  const Value x = full({1 << 20}, 0.1, device);
  EXPECT_NEAR(sum(x).item(), 0.1f * (1 << 20), 0.05);
  EXPECT_NEAR(sum(cast(x, DType::BF16)).item(), 0.10009765625 * (1 << 20), 256);  // 0.1 as a bfloat16
}

TEST_P(CpuReduce, GivesNeutralElementsForNothing) {
  const Value none = zeros({3, 0}, device);
  EXPECT_EQ(sum(none, {1}).data().to_vector<double>(), (std::vector{0.0, 0.0, 0.0}));
  EXPECT_EQ(prod(none, {1}).data().to_vector<double>(), (std::vector{1.0, 1.0, 1.0}));
  EXPECT_TRUE(std::isnan(mean(none, {1}).data().at(0)));
  EXPECT_EQ(all(cast(none, DType::Bool)).item(), 1);
  EXPECT_EQ(any(cast(none, DType::Bool)).item(), 0);
  EXPECT_EQ(sum(none, {0}).data().shape(), Shape{0});
  EXPECT_EQ(argmax(none, 0).data().shape(), Shape{0});
  EXPECT_THROW(max(none, {1}), ShapeError);
}

TEST_P(CpuReduce, LetsNaNWin) {
  const Value x = from_data(TensorData::of<float>({4}, {1, NAN, 5, NAN}), device);
  EXPECT_TRUE(std::isnan(max(x).item()) && std::isnan(min(x).item()));
  EXPECT_EQ(argmax(x, 0).item(), 1);
  EXPECT_EQ(argmin(x, 0).item(), 1);
}

TEST_P(CpuReduce, FindsTheFirstExtreme) {
  const Value x = from_data(TensorData::of<std::int32_t>({2, 4}, {3, 9, 9, 1, 0, -5, 2, -5}), device);
  EXPECT_EQ(argmax(x, 1).data().to_vector<int>(), (std::vector{1, 2}));
  EXPECT_EQ(argmin(x, 1).data().to_vector<int>(), (std::vector{3, 1}));
  EXPECT_EQ(argmax(transpose(x), 1).data().to_vector<int>(), (std::vector{0, 0, 0, 0}));
  EXPECT_EQ(argmax(flip(x, {1}), 1).data().to_vector<int>(), (std::vector{1, 1}));
}

TEST_P(CpuReduce, KeepsIntegersExact) {
  const Value x = from_data(TensorData::of<std::int64_t>({2}, {(std::int64_t{1} << 60) + 1, 1}), device);
  EXPECT_EQ(sum(x).data().to_vector<std::int64_t>()[0], (std::int64_t{1} << 60) + 2);
  EXPECT_EQ(max(x).data().to_vector<std::int64_t>()[0], (std::int64_t{1} << 60) + 1);
  const Value huge = from_data(TensorData::of<std::uint64_t>({2}, {UINT64_MAX, 3}), device);
  EXPECT_EQ(max(huge).data().to_vector<std::uint64_t>()[0], UINT64_MAX);
  EXPECT_EQ(sum(from_data(TensorData::of<bool>({3}, {true, true, false}), device)).item(), 2);
}

}  // namespace
}  // namespace kiln
