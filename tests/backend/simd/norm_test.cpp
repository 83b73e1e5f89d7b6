#include <cmath>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

const std::int64_t kLengths[] = {1, 3, 8, 10, 15, 16, 17, 100, 1000};
constexpr std::int64_t kRows = 37;  // more than go through a kernel together

TEST(SimdSoftmax, SharesOutOneAlongRows) {
  for_each_target([] {
    for (const std::int64_t length : kLengths)
      for (const double shift : {0., 500., -500.}) {
        const auto x = rounded(DType::F32, random_numbers(kRows * length, shift - 5, shift + 5));
        std::vector<double> shares, logs;
        for (std::int64_t row = 0; row < kRows; ++row) {
          const double* from = x.data() + row * length;
          double sum = 0;
          for (std::int64_t i = 0; i < length; ++i) sum += std::exp(from[i] - shift);
          for (std::int64_t i = 0; i < length; ++i) {
            shares.push_back(std::exp(from[i] - shift) / sum);
            logs.push_back(from[i] - shift - std::log(sum));
          }
        }
        for (const Dims& order : {Dims{0, 1}, Dims{1, 0}}) {
          const Value operand = tensor(DType::F32, {kRows, length}, x, order);
          expect_close(numbers(run_op(op::Softmax{1, false}, {operand})), shares, 2e-6);
          expect_close(numbers(run_op(op::Softmax{1, true}, {operand})), logs, 1e-6, 2e-6);
        }
      }
  });
}

TEST(SimdSoftmax, PassesNanAndTakesInfinity) {
  for_each_target([] {
    const auto poisoned = numbers(run_op(op::Softmax{0, false}, {tensor(DType::F32, {4}, {1, NAN, 2, 3})}));
    EXPECT_TRUE(std::isnan(poisoned[0]) && std::isnan(poisoned[3]));
    expect_close(numbers(run_op(op::Softmax{0, false}, {tensor(DType::F32, {3}, {-INFINITY, 1, 1})})), {0, .5, .5},
                 1e-7);
  });
}

TEST(SimdLayerNorm, CentresAndScalesTheLastDimensions) {
  for_each_target([] {
    for (const std::int64_t length : kLengths)
      for (const DType dtype : {DType::F32, DType::BF16}) {
        const auto x = rounded(dtype, random_numbers(kRows * length, 10, 14));
        const auto weight = rounded(dtype, random_numbers(length, -1, 1, 2)),
                   bias = rounded(dtype, random_numbers(length, -1, 1, 3));
        std::vector<double> expected, about_zero;
        for (std::int64_t row = 0; row < kRows; ++row) {
          const double* from = x.data() + row * length;
          double mean = 0, variance = 0, square = 0;
          for (std::int64_t i = 0; i < length; ++i) mean += from[i] / static_cast<double>(length);
          for (std::int64_t i = 0; i < length; ++i) {
            variance += (from[i] - mean) * (from[i] - mean) / static_cast<double>(length);
            square += from[i] * from[i] / static_cast<double>(length);
          }
          for (std::int64_t i = 0; i < length; ++i) {
            const auto k = static_cast<std::size_t>(i);
            expected.push_back((from[i] - mean) / std::sqrt(variance + 1e-3) * weight[k] + bias[k]);
            about_zero.push_back(from[i] / std::sqrt(square + 1e-3) * weight[k] + bias[k]);
          }
        }
        const double relative = dtype == DType::F32 ? 1e-5 : 0x1p-8;
        const Value z = run_op(op::LayerNorm{},
                               {tensor(dtype, {kRows, 1, length}, x, {2, 1, 0}), tensor(dtype, {1, length}, weight),
                                tensor(dtype, {1, length}, bias), Value(1e-3)});
        expect_close(numbers(z), expected, relative, 2e-5);
        const Value all = tensor(dtype, {kRows, length}, x);
        for (const bool centred : {false, true}) {
          const op::GroupNorm norm{.groups = 1, .centred = centred};
          const Value y =
              run_op(norm, {all, tensor(dtype, {length}, weight), tensor(dtype, {length}, bias), Value(1e-3)});
          expect_close(numbers(y), centred ? expected : about_zero, relative, 2e-5);
        }
      }
  });
}

TEST(SimdCrossEntropy, IsTheLogOfTheTargetsShare) {
  for_each_target([] {
    for (const std::int64_t classes : kLengths) {
      const auto x = rounded(DType::F32, random_numbers(6 * classes, 90, 100));
      std::vector<double> targets, expected, largest, log_sums;
      for (std::int64_t row = 0; row < 6; ++row) {
        const double *from = x.data() + row * classes, most = *std::max_element(from, from + classes);
        const std::int64_t target = (row * 7) % classes;
        double sum = 0;
        for (std::int64_t i = 0; i < classes; ++i) sum += std::exp(from[i] - most);
        targets.push_back(static_cast<double>(target));
        largest.push_back(most);
        log_sums.push_back(std::log(sum));
        expected.push_back(std::log(sum) + most - from[target]);
      }
      for (const DType index : {DType::I64, DType::I32, DType::U8}) {
        const bool fits = classes < 256 || index != DType::U8;
        if (!fits) continue;
        const auto result = [&](DType dtype, DType loss, int which) {
          return numbers(
              run_op(op::CrossEntropy{loss}, {tensor(dtype, {6, classes}, x), tensor(index, {6}, targets)}, 3, which));
        };
        expect_close(result(DType::F32, DType::F32, op::CrossEntropy::losses), expected, 1e-6, 2e-6);
        expect_close(result(DType::F32, DType::F32, op::CrossEntropy::largest), largest, 0, 0);
        expect_close(result(DType::F32, DType::F32, op::CrossEntropy::log_sum), log_sums, 1e-6, 2e-6);
      }
    }
  });
}

TEST(SimdCrossEntropy, ReadsHalvesForLossesOfFloats) {
  const auto x = rounded(DType::BF16, random_numbers(4 * 33, -5, 5));
  const std::vector<double> targets{0, 7, 32, 7};
  std::vector<double> expected;
  for (std::size_t row = 0; row < 4; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < 33; ++i) sum += std::exp(x[row * 33 + i]);
    expected.push_back(std::log(sum) - x[row * 33 + static_cast<std::size_t>(targets[row])]);
  }
  const auto losses = [&](DType dtype) {
    return run_op(op::CrossEntropy{dtype}, {tensor(DType::BF16, {4, 33}, x), tensor(DType::I64, {4}, targets)}, 3);
  };
  EXPECT_EQ(losses(DType::F32).dtype(), DType::F32);
  expect_close(numbers(losses(DType::F32)), expected, 1e-6, 2e-6);
  expect_close(numbers(losses(DType::BF16)), rounded(DType::BF16, expected), 4e-3, 0);
  EXPECT_THROW(
      op::CrossEntropy{DType::F32}.infer(Values{tensor(DType::F64, {4, 33}, x), tensor(DType::I64, {4}, targets)}),
      ArgumentError);
}

TEST(SimdCrossEntropy, NamesATargetThatIsNoClass) {
  for (const double target : {-1., 3.}) {
    try {
      run_op(op::CrossEntropy{DType::F32}, {tensor(DType::F32, {1, 3}, {0, 0, 0}), tensor(DType::I64, {1}, {target})},
             3);
      FAIL() << "took target " << target;
    } catch (const IndexError& error) {
      EXPECT_EQ(without_calls(error.message()),
                text("cross_entropy: target ", static_cast<std::int64_t>(target), " is out of range for 3 classes"));
    }
  }
}

}  // namespace
}  // namespace kiln::cpu::simd
