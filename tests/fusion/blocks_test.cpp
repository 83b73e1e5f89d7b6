// Steps over large tensors that go by rows are run on a few rows at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "kiln/autodiff/backward.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

using std::int64_t;

/// Values between -2 and 2 without a pattern along rows.
Value numbers(const Device& device, const Shape& shape) {
  TensorData data(shape, DType::F32);
  std::uint32_t state = 12345;
  for (float& number : data.as<float>()) {
    state = state * 1664525 + 1013904223;
    number = static_cast<float>(state >> 8) * 0x1p-22f - 2;
  }
  return Value(device.backend().upload(std::move(data), device));
}

/// How far the elements are from f(row of x, column), in double precision, at the most.
double distance(const Value& actual, const Value& x, int64_t length,
                const std::function<void(const double* row, double* expected)>& f) {
  const std::vector<float> numbers = x.data().to_vector<float>(), found = actual.data().to_vector<float>();
  EXPECT_EQ(numbers.size(), found.size());
  const auto n = static_cast<std::size_t>(length);
  std::vector<double> row(n), expected(n);
  double most = 0;
  for (std::size_t begin = 0; begin + n <= numbers.size(); begin += n) {
    for (std::size_t i = 0; i < n; ++i) row[i] = static_cast<double>(numbers[begin + i]);
    f(row.data(), expected.data());
    for (std::size_t i = 0; i < n; ++i)
      most = std::max(most, std::abs(expected[i] - static_cast<double>(found[begin + i])));
  }
  return most;
}

Value softmax_of_parts(const Value& x) {
  const int last = x.rank() - 1;
  const Value e = exp(x - max(x, {last}, true));
  return e / sum(e, {last}, true);
}
void softmax_row(const double* x, double* expected, int64_t length) {
  double most = x[0], total = 0;
  for (int64_t i = 0; i < length; ++i) most = std::max(most, x[i]);
  for (int64_t i = 0; i < length; ++i) total += expected[i] = std::exp(x[i] - most);
  for (int64_t i = 0; i < length; ++i) expected[i] /= total;
}
double softmax_error(const Value& y, const Value& x, int64_t length) {
  return distance(y, x, length, [&](const double* row, double* expected) { softmax_row(row, expected, length); });
}

TEST(Blocks, MakeOneStepOfASoftmaxOfParts) {
  const FusedDevice fused;
  // Whole blocks, some rows left over, rows that are no multiple of a vector, and a dimension in front.
  for (const Shape& shape :
       {Shape{640, 2048}, Shape{1037, 1024}, Shape{531, 2011}, Shape{1, 700, 1600}, Shape{40, 64, 512}}) {
    const Value x = numbers(fused.device, shape);
    const Value y = softmax_of_parts(x);
    EXPECT_EQ(runs(fused), 1) << text(shape);
    EXPECT_LT(softmax_error(y, x, shape.back()), 1e-6) << text(shape);
  }
}

TEST(Blocks, GiveWhatIsSeenOfTheirParts) {
  const FusedDevice fused;
  const Shape shape{517, 2048};
  const Value x = numbers(fused.device, shape), weight = numbers(fused.device, {2048});
  const Value squares = square(x), mean_square = mean(squares, {1}, true), y = x * rsqrt(mean_square + 1e-5) * weight;
  EXPECT_EQ(runs(fused), 1);
  EXPECT_LT(distance(squares, x, 2048,
                     [](const double* row, double* expected) {
                       for (int i = 0; i < 2048; ++i) expected[i] = row[i] * row[i];
                     }),
            1e-6);
  const std::vector<float> w = weight.data().to_vector<float>(), means = mean_square.data().to_vector<float>();
  std::size_t row_index = 0;
  EXPECT_LT(distance(y, x, 2048,
                     [&](const double* row, double* expected) {
                       double total = 0;
                       for (int i = 0; i < 2048; ++i) total += row[i] * row[i];
                       EXPECT_NEAR(static_cast<double>(means[row_index++]), total / 2048, 1e-6);
                       for (std::size_t i = 0; i < 2048; ++i)
                         expected[i] = row[i] / std::sqrt(total / 2048 + 1e-5) * static_cast<double>(w[i]);
                     }),
            1e-5);
}

TEST(Blocks, NeedNoMemoryForWhatLiesBetween) {
  const int before_threads = num_threads();
  set_num_threads(2);  // each has a few rows of its own
  const FusedDevice fused;
  const Value x = numbers(fused.device, {4096, 1024});
  const int64_t before = fused.device.memory().in_use;
  Device::cpu().reset_memory_peak();
  const Value y = softmax_of_parts(x);
  fused.device.flush();
  EXPECT_LT(Device::cpu().memory().peak - before, (4096 + 512) * 1024 * 4);
  set_num_threads(before_threads);
}

TEST(Blocks, KeepTheOrderOfTheirOperands) {
  const FusedDevice fused;
  // Images with their channels last, of which a row is an image.
  const Value images = permute(numbers(fused.device, {40, 32, 32, 32}), {0, 3, 1, 2});
  fused.device.flush();
  const Value y = images * 2, z = relu(y) + max(y, {1, 2, 3}, true);
  fused.device.flush();
  EXPECT_EQ(z.node()->strides, images.node()->strides);
  const std::vector<float> from = images.data().to_vector<float>(), to = z.data().to_vector<float>();
  for (std::size_t image = 0; image < 40; ++image) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(image * 32768);
    const float most = 2 * *std::max_element(begin, begin + 32768);
    for (std::size_t i = image * 32768; i < (image + 1) * 32768; ++i)
      ASSERT_EQ(to[i], std::max(0.0f, 2 * from[i]) + most) << i;
  }
}

TEST(Blocks, ReadRowsThatDoNotLieTogether) {
  const FusedDevice fused;
  const Value whole = numbers(fused.device, {1100, 1000});
  for (const Value& x :
       {transpose(whole), flip(whole, {0, 1}), narrow(numbers(fused.device, {1000, 1300}), 1, 17, 1100)}) {
    const Value y = softmax_of_parts(x);
    EXPECT_LT(softmax_error(y, x, x.dim(1)), 1e-6);
  }
}

TEST(Blocks, LeaveOtherProgramsAsTheyAre) {
  const FusedDevice fused;
  const auto expect_parts = [&](const Shape& shape, const std::function<Value(const Value&)>& program) {
    const Value x = numbers(fused.device, shape);
    const Value y = program(x);
    EXPECT_GT(runs(fused), 1) << text(shape);
  };
  expect_parts({64, 256}, softmax_of_parts);                                              // small
  expect_parts({4, 1 << 19}, softmax_of_parts);                                           // rows that no cache holds
  expect_parts({1 << 20}, softmax_of_parts);                                              // one row
  expect_parts({2048, 1024}, [](const Value& x) { return x - mean(x * 2, {0}, true); });  // reductions across rows
}

TEST(Blocks, GiveTheSameBitsOnAnyNumberOfThreads) {
  const FusedDevice fused;
  const Value x = numbers(fused.device, {1037, 1024});
  const int before = num_threads();
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    results.push_back(softmax_of_parts(x).data().to_vector<float>());
  }
  set_num_threads(before);
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);
}

TEST(Blocks, ComputeWithOtherTypes) {
  const FusedDevice fused;
  const Value x = numbers(fused.device, {1100, 1024});
  const Value wide = cast(x, DType::F64);
  EXPECT_LT(softmax_error(cast(softmax_of_parts(wide), DType::F32), x, 1024), 1e-7);
  const Value half = cast(x, DType::BF16);
  EXPECT_LT(softmax_error(cast(softmax_of_parts(half), DType::F32), cast(half, DType::F32), 1024), 1e-3);
}

TEST(Blocks, RunOnABackendWithoutFastKernels) {
  const Device device(make_ref<fusion::Fusion>(Device::parse("reference").handle()));
  const Value x = numbers(device, {1031, 1024});
  EXPECT_LT(softmax_error(softmax_of_parts(x), x, 1024), 1e-6);
}

TEST(Blocks, AreDifferentiatedAsWhatTheyAreMadeOf) {
  const FusedDevice fused;
  const Value x = numbers(fused.device, {1031, 1024}).require_grad();
  const Value w = numbers(fused.device, {1031, 1024});
  const Value y = softmax_of_parts(x);
  const std::vector<float> p = y.data().to_vector<float>(), ws = w.data().to_vector<float>();
  const std::vector<float> found = backward(sum(y * w)).of(x).data().to_vector<float>();
  for (std::size_t row = 0; row < 1031; row += 10) {
    double inner = 0;
    for (std::size_t i = row * 1024; i < (row + 1) * 1024; ++i)
      inner += static_cast<double>(p[i]) * static_cast<double>(ws[i]);
    for (std::size_t i = row * 1024; i < (row + 1) * 1024; ++i)
      ASSERT_NEAR(static_cast<double>(found[i]), static_cast<double>(p[i]) * (static_cast<double>(ws[i]) - inner),
                  1e-6);
  }
}

}  // namespace
}  // namespace kiln::test
