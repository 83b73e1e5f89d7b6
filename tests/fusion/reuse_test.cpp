// Results take the memory of operands that are not read afterwards, and of no others.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/parallel.hpp"
#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

using std::int64_t;

constexpr int64_t kMany = 1 << 20;

/// What a chain makes of one element: in the numbers here without rounding.
using Expected = std::function<double(double x, int64_t at)>;

void expect_elements(const Value& actual, const Expected& expected, const std::function<double(int64_t)>& x) {
  const std::vector<double> found = actual.data().to_vector<double>();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    ASSERT_EQ(found[i], expected(x(at), at)) << i;
  }
}

double quarter(int64_t at) { return 0.25 * static_cast<double>(at); }

/// How many bytes more than before are in use at most while `program` runs.
int64_t growth(const FusedDevice& fused, const std::function<void()>& program) {
  fused.device.flush();
  Device::cpu().reset_memory_peak();
  const int64_t before = Device::cpu().memory().in_use;
  program();
  fused.device.flush();
  return Device::cpu().memory().peak - before;
}

struct Case {
  const char* name;
  /// Takes its operand, [numel] with a quarter between neighbours, whose memory may go to one of the results.
  std::function<Values(Value)> program;
  std::vector<Expected> expected;
};

const Case kCases[] = {
    {"read twice", [](const Value& x) { return Values{x * 2 + x}; }, {[](double x, int64_t) { return 3 * x; }}},
    {"read after the first result is stored",
     [](const Value& x) {
       const Value next = x + 1, product = next * 2 - x;
       return Values{next, product};
     },
     {[](double x, int64_t) { return x + 1; }, [](double x, int64_t) { return x + 2; }}},
    {"read by two results",
     [](const Value& x) { return Values{x + 1, x * 2}; },
     {[](double x, int64_t) { return x + 1; }, [](double x, int64_t) { return 2 * x; }}},
    {"folded at the end",
     [](const Value& x) {
       const Value y = x - 1;
       return Values{y, reshape(sum(y * 0, {0}, true), {1})};
     },
     {[](double x, int64_t) { return x - 1; }, [](double, int64_t) { return 0; }}},
    {"of one step", [](const Value& x) { return Values{neg(x)}; }, {[](double x, int64_t) { return -x; }}},
    {"added to itself", [](const Value& x) { return Values{x + x}; }, {[](double x, int64_t) { return 2 * x; }}},
    {"with another type in between",
     [](const Value& x) { return Values{where(gt(x, 10), x, neg(x)) + 1}; },
     {[](double x, int64_t) { return (x > 10 ? x : -x) + 1; }}},
};

TEST(Reuse, ChangesNoNumbers) {
  const int threads_before = num_threads();
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    // Less than a block, blocks and a rest, pieces for several threads.
    for (const int64_t count : {7, 128, 1000, 300'001}) {
      for (const Case& c : kCases) {
        SCOPED_TRACE(c.name);
        const FusedDevice fused;
        Value x = fused.of({count});
        fused.device.flush();
        const Values results = c.program(std::move(x));
        for (std::size_t i = 0; i < results.size(); ++i) expect_elements(results[i], c.expected[i], quarter);
      }
    }
  }
  set_num_threads(threads_before);
}

TEST(Reuse, NeedsNoMoreMemoryForAChain) {
  const FusedDevice fused;
  Value x = fused.of({kMany});
  for (int i = 0; i < 3; ++i) EXPECT_LT(growth(fused, [&] { x = tanh(x * 0.5 + 1) * x; }), kMany) << i;
  EXPECT_LT(growth(fused, [&] { x = neg(x); }), kMany);
  // Both results are stored while both operands are there.
  Value y = exp(x);
  fused.device.flush();
  EXPECT_LT(growth(fused,
                   [&] {
                     const Value sum = x + y, product = x * y;
                     x = sum;
                     y = product;
                   }),
            5 * kMany);
}

TEST(Reuse, NeedsNoMoreMemoryForAnOptimizersStep) {
  const FusedDevice fused;
  Value weight = fused.of({kMany}), mean = weight * 0.1, square = weight * weight, gradient = weight * 0.01;
  for (const Value* value : {&weight, &mean, &square, &gradient}) (void)slice(*value, {}).data();
  const double before = weight.data().at(5), slope = gradient.data().at(5);
  const double new_mean = 0.9 * mean.data().at(5) + 0.1 * slope;
  const double new_square = 0.99 * square.data().at(5) + 0.01 * slope * slope;
  EXPECT_LT(growth(fused,
                   [&] {
                     mean = mean * 0.9 + gradient * 0.1;
                     square = square * 0.99 + gradient * gradient * 0.01;
                     weight = weight - mean / (sqrt(square) + 1e-8) * 0.01;
                     gradient = Value();
                   }),
            kMany);
  EXPECT_NEAR(weight.data().at(5), before - 0.01 * new_mean / (std::sqrt(new_square) + 1e-8), 1e-6);
  EXPECT_NEAR(mean.data().at(5), new_mean, 1e-6);
  EXPECT_NEAR(square.data().at(5), new_square, 1e-6);
}

TEST(Reuse, NeedsNoMoreMemoryForBlocksOfRows) {
  const Threads few(4);  // each holds a block
  const FusedDevice fused;
  Value x = sin(fused.of({4096, 1024}));
  (void)slice(x, {}).data();
  const std::vector<float> from = x.data().to_vector<float>();
  EXPECT_LT(growth(fused,
                   [&] {
                     const Value power = exp(x - max(x, {1}, true));
                     x = power / sum(power, {1}, true);
                   }),
            4096 * 1024);
  const std::vector<float> to = x.data().to_vector<float>();
  for (std::size_t row = 0; row < 4096; row += 315) {
    double total = 0;
    for (std::size_t i = row * 1024; i < (row + 1) * 1024; ++i) total += std::exp(static_cast<double>(from[i]));
    for (std::size_t i = row * 1024; i < (row + 1) * 1024; ++i)
      ASSERT_NEAR(static_cast<double>(to[i]), std::exp(static_cast<double>(from[i])) / total, 1e-6);
  }
}

TEST(Reuse, NeedsNoMoreMemoryForRowsThatAreReadFirst) {
  const FusedDevice fused;
  const Value ones = full({1001}, 1, fused.device, DType::F32), zeros = full({1001}, 0, fused.device, DType::F32);
  for (const bool of_softmax : {true, false}) {
    Value x = fused.of({1024, 1001}, 1.0 / 1024);
    EXPECT_LT(growth(fused, [&] { x = of_softmax ? softmax(x, 1) : layer_norm(x, ones, zeros, 0.0); }), 1024 * 1001);
    // The rows differ by a constant, which neither sees.
    double total = 0;
    for (int i = 0; i < 1001; ++i) total += std::exp((i - 1000) / 1024.0);
    const double deviation = std::sqrt((1001.0 * 1001 - 1) / 12);
    const std::vector<double> found = x.data().to_vector<double>();
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double at = static_cast<double>(i % 1001);
      if (of_softmax) ASSERT_NEAR(found[i], std::exp((at - 1000) / 1024) / total, 2e-7) << i;
      else ASSERT_NEAR(found[i], (at - 500) / deviation, 2e-3) << i;
    }
  }
}

TEST(Reuse, LeavesRowsToTheStepsThatReadThem) {
  const FusedDevice fused;
  Value x = fused.of({2048, 1000}, 1.0 / 1024);  // rows that vectors do not fill
  fused.device.flush();
  EXPECT_GT(growth(fused, [&] { x = x - max(x, {1}, true); }), 2048 * 1000);
  expect_elements(x, [](double, int64_t at) { return static_cast<double>(at % 1000 - 999) / 1024; }, quarter);
}

TEST(Reuse, LeavesWhatTheUserKeeps) {
  const FusedDevice fused;
  const Value x = fused.of({kMany}), view = reshape(fused.of({kMany}), {kMany / 4, 4});
  fused.device.flush();
  const Value y = x * 2 + 1, z = reshape(view, {kMany}) * 2 + 1;
  fused.device.flush();
  expect_elements(x, [](double x, int64_t) { return x; }, quarter);
  expect_elements(view, [](double x, int64_t) { return x; }, quarter);
  for (const Value* value : {&y, &z}) expect_elements(*value, [](double x, int64_t) { return 2 * x + 1; }, quarter);
}

TEST(Reuse, TakesOperandsThatBroadcastForWhatTheyAre) {
  const FusedDevice fused;
  Value matrix = fused.of({300, 200}), row = fused.of({200}), column = fused.of({300, 1});
  fused.device.flush();
  const Value sum = std::exchange(matrix, Value()) + std::exchange(row, Value()) * 2 + std::exchange(column, Value());
  expect_elements(sum, [](double x, int64_t at) { return x + 2 * quarter(at % 200) + quarter(at / 200); }, quarter);
}

TEST(Reuse, TakesViewsForWhatTheyAre) {
  const FusedDevice fused;
  const auto of_view = [&](const std::function<Value(Value)>& view) {
    Value x = view(fused.of({300, 200}));
    fused.device.flush();
    return x * 2 + 1;
  };
  expect_elements(
      of_view([](const Value& x) { return transpose(x, 0, 1); }),
      [](double, int64_t at) { return 2 * quarter(at % 300 * 200 + at / 300) + 1; }, quarter);
  expect_elements(
      of_view([](const Value& x) { return slice(x, std::array{Range{100, 300}}); }),
      [](double, int64_t at) { return 2 * quarter(at + 100 * 200) + 1; }, quarter);
  expect_elements(
      of_view([](const Value& x) { return expand(slice(x, std::array{Range{0, 300}, Range{0, 1}}), {300, 200}); }),
      [](double, int64_t at) { return 2 * quarter(at / 200 * 200) + 1; }, quarter);
}

TEST(Reuse, LeavesOtherResultsRightWhereOneFails) {
  const FusedDevice fused;
  Value x = fused.of({kMany});
  const Value wrong = full({1}, kMany, fused.device, DType::I64);
  fused.device.flush();
  const Value missing = select(x, 0, wrong), y = x * 2 + 1, later = missing + 1;
  x = Value();
  EXPECT_THROW((void)later.data(), IndexError);
  expect_elements(y, [](double x, int64_t) { return 2 * x + 1; }, quarter);
}

TEST(Reuse, ForgetsWhatKernelsMadeOfTheContents) {
  const FusedDevice fused;
  const Value images = fused.of({1, 64, 18, 18}) * 0 + 1;
  Value weight = fused.of({64, 64, 3, 3}) * 0 + 0.5;
  fused.device.flush();
  // Convolutions keep the weight in an order of their own.
  for (const double expected : {288.0, 576.0, 1152.0}) {
    for (const double element : conv(images, weight, {}).data().to_vector<double>()) ASSERT_EQ(element, expected);
    weight = weight * 2;
    fused.device.flush();
  }
}

}  // namespace
}  // namespace kiln::test
