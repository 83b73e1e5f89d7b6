// Tensors from numbers and from keys: what lies at the ends of blocks, and the words of the generator.
#include <cmath>
#include <numbers>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/core/random.hpp"
#include "kiln/ops/create/random.hpp"
#include "tests/backend/gpu/family/naming.hpp"

namespace kiln::test {
namespace {

const Key kKey{0x123456789abcdef0};
const Value kNamed = Scalar(static_cast<std::int64_t>(kKey.bits));

constexpr std::int64_t kCounts[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 255, 1024, 1025, 4097};

TEST(GpuCreate, FillsToTheLastElementAndNoFurther) {
  for (const DType dtype : kAllTypes)
    for (const std::int64_t count : kCounts)
      for (const double number : {0.0, 1.0, 0.3, -0.0}) {
        const TensorData z = full({count}, number, simulated(), dtype).data();
        const std::vector<double> all(static_cast<std::size_t>(count), number);
        ASSERT_TRUE(same_bytes(z, TensorData::of<double>({count}, std::span<const double>(all)).to(dtype))) << dtype;
      }
}

TEST(GpuCreate, CountsInWholeNumbersOrNot) {
  for (const DType dtype : kAllTypes)
    for (const std::int64_t count : kCounts) {
      if (dtype == DType::Bool) continue;
      std::vector<std::int64_t> whole;
      std::vector<double> real;
      for (std::int64_t i = 0; i < count; ++i) {
        whole.push_back(-3 + i * 5);
        real.push_back(0.25 + static_cast<double>(i) * 1.5);
      }
      ASSERT_TRUE(same_bytes(emit(simulated(), op::Arange{count, dtype}, {-3, 5}).data(),
                             TensorData::of<std::int64_t>({count}, std::span<const std::int64_t>(whole)).to(dtype)));
      ASSERT_TRUE(same_bytes(emit(simulated(), op::Arange{count, dtype}, {0.25, 1.5}).data(),
                             TensorData::of<double>({count}, std::span<const double>(real)).to(dtype)))
          << dtype << " " << count;
    }
}

TEST(GpuArange, IsExactWithAndWithoutFloat64) {
  const gpu::Profile& metal = *std::ranges::find(gpu::profiles(), "simulated:metal", &gpu::Profile::name);
  const auto driver = make_ref<NamingDriver>(metal);
  const Device device(make_ref<gpu::Gpu>(driver));
  struct Case {
    double start, step;
    std::int64_t count;
    bool exact;  // in float32
  };
  for (const Case& c : {Case{0, 0.25, 1000, true}, Case{-16777215, 1, 300, true}, Case{16777000, 1, 300, false},
                        Case{1, -0.0078125, 129, true}, Case{0, 0.1, 11, false}, Case{0x1p100, 0x1p80, 4, true},
                        Case{0x1p-149, 0x1p-149, 5, false}, Case{0.5, 0, 7, true}, Case{1e300, 1e300, 2, false},
                        Case{1, 0x1p-24, 3, false}, Case{3.0, 0.5, 1, true}}) {
    SCOPED_TRACE(text(c.start, " by ", c.step));
    std::vector<double> wanted;
    for (std::int64_t i = 0; i < c.count; ++i) wanted.push_back(c.start + static_cast<double>(i) * c.step);
    for (const DType dtype : {DType::F32, DType::BF16}) {
      const TensorData expected = TensorData::of<double>({c.count}, std::span<const double>(wanted)).to(dtype);
      EXPECT_TRUE(same_bytes(emit(device, op::Arange{c.count, dtype}, {c.start, c.step}).data(), expected)) << dtype;
      EXPECT_TRUE(same_bytes(emit(simulated(), op::Arange{c.count, dtype}, {c.start, c.step}).data(), expected));
    }
    const auto twice = make_ref<NamingDriver>(metal);
    (void)emit(Device(make_ref<gpu::Gpu>(twice)), op::Arange{c.count, DType::F32}, {c.start, c.step}).data();
    EXPECT_EQ(twice->names.contains("arange"), c.exact);
  }
}

Value draw(op::Distribution distribution, const Shape& shape, DType dtype, const Value& a, const Value& b) {
  return emit(simulated(), op::Random{distribution, shape, dtype}, {kNamed, a, b});
}

double unit(std::uint64_t i, bool wide) {
  return wide ? to_uniform(random_word(kKey, 2 * i), random_word(kKey, 2 * i + 1)) : to_uniform(random_word(kKey, i));
}

TEST(GpuRandom, MakesUniformNumbersOfTheWords) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (const std::int64_t count : kCounts) {
      const TensorData z = draw(op::Distribution::Uniform, {count}, dtype, 0.0, 1.0).data();
      for (std::int64_t i = 0; i < count; ++i) {
        const double exact = unit(static_cast<std::uint64_t>(i), dtype == DType::F64);
        const double step = size_of(dtype) == 2 ? 0x1p-8 : 0;
        ASSERT_NEAR(z.at(i), exact, step) << dtype;
        ASSERT_LT(z.at(i), 1);
      }
    }
}

TEST(GpuRandom, RoundsUniformNumbersOfHalvesToBelowTheEnd) {
  // Every 512th of them would be rounded to 1 in bfloat16.
  const TensorData z = draw(op::Distribution::Uniform, {20000}, DType::BF16, -1.0, 1.0).data();
  double largest = -2;
  for (std::int64_t i = 0; i < z.numel(); ++i) largest = std::max(largest, z.at(i));
  EXPECT_EQ(largest, 1 - 0x1p-8);
  const TensorData below = draw(op::Distribution::Uniform, {20000}, DType::F16, -1.0, 0.0).data();
  for (std::int64_t i = 0; i < below.numel(); ++i) ASSERT_LT(below.at(i), 0);
}

TEST(GpuRandom, MakesNormalAndExponentialNumbersOfTheWords) {
  for (const DType dtype : {DType::F64, DType::F32}) {
    const bool wide = dtype == DType::F64;
    const TensorData normal = draw(op::Distribution::Normal, {1001}, dtype, 3.0, 2.0).data(),
                     exponential = draw(op::Distribution::Exponential, {1001}, dtype, 2.0, 0.0).data();
    for (std::uint64_t i = 0; i < 1001; ++i) {
      const std::uint64_t pair = i / 2 * 2;
      const double distance = std::sqrt(-2 * std::log(1 - unit(pair, wide))),
                   angle = 2 * std::numbers::pi * unit(pair + 1, wide);
      const auto at = static_cast<std::int64_t>(i);
      ASSERT_NEAR(normal.at(at), 3 + 2 * distance * (i % 2 ? std::sin(angle) : std::cos(angle)), wide ? 1e-12 : 1e-4);
      const double word = random_word(kKey, wide ? 2 * i : i), low = random_word(kKey, 2 * i + 1) >> 12;
      const double open = wide ? (word * 0x1p20 + low + 0.5) * 0x1p-52 : (word + 0.5) * 0x1p-32;
      ASSERT_NEAR(exponential.at(at), -std::log(open) / 2, wide ? 1e-12 : 1e-5);
    }
  }
}

TEST(GpuRandom, DrawsTruthsOfOneWordEach) {
  for (const DType dtype : kAllTypes)
    for (const std::int64_t count : {1, 5, 1030}) {
      const TensorData z = draw(op::Distribution::Bernoulli, {count}, dtype, 0.3, 0.0).data();
      for (std::int64_t i = 0; i < count; ++i)
        ASSERT_EQ(z.at(i), unit(static_cast<std::uint64_t>(i), false) < 0.3 ? 1 : 0) << dtype << " " << i;
    }
  const TensorData p = TensorData::of<float>({5}, {0, 0.25f, 0.5f, 0.75f, 1});
  const TensorData z = draw(op::Distribution::Bernoulli, {40, 5}, DType::Bool, from_data(p, simulated()), 0.0).data();
  for (std::int64_t i = 0; i < 200; ++i)
    ASSERT_EQ(z.at(i), unit(static_cast<std::uint64_t>(i), false) < p.at(i % 5) ? 1 : 0) << i;
}

/// The draws that take as many words as they need are the processor's, but for the last bits of its logarithms.
TEST(GpuRandom, DrawsWhatTheProcessorDraws) {
  const Device processor = Device::parse("reference");
  const TensorData shapes = TensorData::of<float>({3}, {0.5f, 2, 20});
  for (const auto& [distribution, dtype, tensors] :
       {std::tuple{op::Distribution::TruncatedNormal, DType::F32, false},
        std::tuple{op::Distribution::Gamma, DType::F32, true}, std::tuple{op::Distribution::Beta, DType::F64, true},
        std::tuple{op::Distribution::Poisson, DType::F32, true},
        std::tuple{op::Distribution::Integer, DType::I64, false},
        std::tuple{op::Distribution::Integer, DType::U8, false}}) {
    const auto on = [&, distribution = distribution, dtype = dtype, tensors = tensors](const Device& device) {
      const Value a = tensors                                     ? from_data(shapes, device)
                      : distribution == op::Distribution::Integer ? Value(-4)
                                                                  : Value(-1.5);
      const Value b = tensors                                     ? from_data(shapes, device)
                      : distribution == op::Distribution::Integer ? Value(1000)
                                                                  : Value(0.5);
      return emit(device, op::Random{distribution, {100, 3}, dtype}, {kNamed, a, b}).data();
    };
    EXPECT_EQ(difference(on(simulated()), on(processor), {1e-5, 1e-6}), "") << static_cast<int>(distribution);
  }
}

TEST(GpuRandom, DrawsClassesByTheirWeights) {
  const std::int64_t rows = 3, classes = 2500, draws = 300;
  std::mt19937 random(3);
  std::vector<float> weights(static_cast<std::size_t>(rows * classes));
  for (float& weight : weights) weight = random() % 3 == 0 ? static_cast<float>(random() % 1000) / 16 : 0;
  const Value a = from_data(TensorData::of<float>({rows, classes}, std::span<const float>(weights)), simulated());
  const TensorData z = draw(op::Distribution::Categorical, {rows, draws}, DType::I64, a, 0.0).data();
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* const line = weights.data() + row * classes;
    double total = 0;
    for (std::int64_t i = 0; i < classes; ++i) total += static_cast<double>(line[i]);
    for (std::int64_t i = 0; i < draws; ++i) {
      ElementWords words(kKey, static_cast<std::uint64_t>(row * draws + i));
      const double high = words.next(), low = words.next() >> 12;
      const double target = (high * 0x1p20 + low + 0.5) * 0x1p-52 * total;
      std::int64_t expected = 0;
      for (double sum = static_cast<double>(line[0]); sum <= target;) sum += static_cast<double>(line[++expected]);
      ASSERT_EQ(z.at(row * draws + i), static_cast<double>(expected));
    }
  }
}

TEST(GpuRandom, SaysWhichWeightIsWrong) {
  for (const std::vector<float>& weights : {std::vector<float>{1, 2, 0, 1, -1, 3}, std::vector<float>{1, 2, 1, 0, 0, 0},
                                            std::vector<float>{1, INFINITY, 1, NAN, 0, 0}}) {
    const auto told = [&](const Device& device) -> std::string {
      const Value a = from_data(TensorData::of<float>({2, 3}, std::span<const float>(weights)), device);
      try {
        emit(device, op::Random{op::Distribution::Categorical, {2, 4}, DType::I64}, {kNamed, a, 0.0}).data();
      } catch (const Error& error) { return std::string(without_calls(error.what())); }
      return "";
    };
    EXPECT_NE(told(simulated()), "");
    EXPECT_EQ(told(simulated()), told(Device::parse("reference")));
  }
}

TEST(GpuRandom, DropsWhatTheKeySays) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (const std::int64_t count : kCounts)
      for (const double probability : {0.25, 1.0}) {
        const TensorData x = whole_numbers({count}, dtype, 100, 8);
        const TensorData z = emit(op::Dropout{}, {from_data(x, simulated()), kNamed, probability}).data();
        const DropoutThreshold threshold(probability);
        for (std::int64_t i = 0; i < count; ++i) {
          const std::uint32_t word = random_word(kKey, static_cast<std::uint64_t>(i / 2));
          const bool kept = threshold.keeps(static_cast<std::uint16_t>(word >> 16 * (i % 2)));
          const double expected = kept ? x.at(i) * threshold.scale : 0;
          ASSERT_NEAR(z.at(i), expected, std::abs(expected) * (size_of(dtype) == 2 ? 0x1p-8 : 1e-6))
              << dtype << " " << i;
        }
      }
}

}  // namespace
}  // namespace kiln::test
