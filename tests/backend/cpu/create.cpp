#include <algorithm>
#include <cmath>

#include "tests/backend/cpu/grid.hpp"

namespace kiln {
namespace {

class CpuCreate : public OnEachCpu {};
KILN_ON_EACH_CPU(CpuCreate);

TEST_P(CpuCreate, FillsEveryTypeWithANumber) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    const TensorData data = full({2, 300}, 1, device, dtype).data();
    EXPECT_EQ(data.dtype(), dtype);
    EXPECT_EQ(data.to_vector<int>(), std::vector<int>(600, 1));
  }
  EXPECT_EQ(full({}, std::int64_t{1} << 60, device, DType::I64).data().to_vector<std::int64_t>()[0],
            std::int64_t{1} << 60);
}

TEST_P(CpuCreate, CountsInSteps) {
  EXPECT_EQ(arange(5, -4, -3, device).data().to_vector<int>(), (std::vector{5, 2, -1}));
  EXPECT_EQ(arange(0, 1, 0.25, device, DType::F16).data().to_vector<float>(), (std::vector<float>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(arange(0, 0, 1, device).data().numel(), 0);
  EXPECT_EQ(arange(250, 260, 1, device, DType::U8).data().to_vector<int>()[6], 0);
}

TEST_P(CpuCreate, DrawsEveryElementFromItsOwnWord) {
  const Key key{42};
  const TensorData numbers = uniform({1000}, -1, 3, device, DType::F32, key).data();
  const TensorData coins = bernoulli({1000}, 0.3, device, DType::Bool, key).data();
  for (std::int64_t i = 0; i < 1000; ++i) {
    const std::uint32_t upper = random_word(key, static_cast<std::uint64_t>(i)) >> 8;
    const double unit = upper * 0x1p-24;
    EXPECT_NEAR(numbers.at(i), -1 + 4 * unit, 1e-6);
    EXPECT_EQ(coins.at(i), unit < 0.3);
  }
}

TEST_P(CpuCreate, StaysBelowTheUpperEndInEveryFloatType) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    const TensorData numbers = uniform({20000}, 0, 1, device, dtype, Key{1}).data();
    double largest = 0;
    for (std::int64_t i = 0; i < 20000; ++i) largest = std::max(largest, numbers.at(i));
    EXPECT_LT(largest, 1);
    EXPECT_GT(largest, 0.99);
  }
}

TEST_P(CpuCreate, DrawsNormalNumbersWithTheirMoments) {
  const TensorData x = normal({100001}, 2, 3, device, DType::F32, Key{5}).data();
  double mean = 0, square = 0, beyond = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double z = (x.at(i) - 2) / 3;
    mean += z / 100001, square += z * z / 100001, beyond += (std::abs(z) > 1.959964) / 100001.0;
  }
  EXPECT_NEAR(mean, 0, 0.015);  // five standard errors each
  EXPECT_NEAR(square, 1, 0.025);
  EXPECT_NEAR(beyond, 0.05, 0.004);
}

TEST_P(CpuCreate, DropsAndScalesByTheKey) {
  const Value x = scattered(device, {100, 50}, DType::F32, 1, 2);
  const Grid from(x);
  const TensorData result = dropout(x, 0.25, Key{9}).data();
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const bool kept = (random_word(Key{9}, i / 2) >> 16 * (i % 2) & 0xffff) >= 0.25 * 65536;
    EXPECT_NEAR(result.at(static_cast<std::int64_t>(i)), kept ? from.values[i] / 0.75 : 0, 1e-6);
  }
  EXPECT_EQ(sum(dropout(x, 1, Key{9})).item(), 0);
}

TEST_P(CpuCreate, DropsWithTheProbabilityAndKeepsTheMean) {
  for (const double probability : {0.1, 0.5, 0.9}) {
    constexpr std::int64_t count = 1 << 20;
    const TensorData kept = dropout(ones({count}, device), probability, Key{11}).data();
    double dropped = 0, sum = 0;
    for (std::int64_t i = 0; i < count; ++i) dropped += kept.at(i) == 0, sum += kept.at(i);
    const double error = 5 * std::sqrt(probability * (1 - probability) / count);  // five standard errors
    EXPECT_NEAR(dropped / count, probability, error);
    EXPECT_NEAR(sum / count, 1, error / (1 - probability));
  }
}

}  // namespace
}  // namespace kiln
