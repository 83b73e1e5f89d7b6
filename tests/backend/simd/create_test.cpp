#include <cmath>

#include "kiln/backend/cpu/simd/random/draw.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/core/random.hpp"
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

using op::Distribution;

constexpr std::uint64_t kSeed = 0x123456789abcdefull;
const Value kKey{static_cast<std::int64_t>(kSeed)};

double uniform_at(std::int64_t i) { return to_uniform(random_word(Key{kSeed}, static_cast<std::uint64_t>(i))); }

TEST(SimdRandom, DrawsTheWordsOfTheStream) {
  for_each_target([] {
    for (const std::int64_t size : {0, 1, 5, 1000, 1024, 1025, 20000}) {
      std::vector<double> uniform, doubles, ones, normal;
      for (std::int64_t i = 0; i < size; ++i) {
        const double u = uniform_at(i);
        uniform.push_back(static_cast<float>(-2 + u * 5));
        const auto first = static_cast<std::uint64_t>(2 * i);  // of two words
        const std::uint32_t high = random_word(Key{kSeed}, first), low = random_word(Key{kSeed}, first + 1);
        doubles.push_back(-2 + static_cast<double>(std::uint64_t{high} << 21 | low >> 11) * 0x1p-53 * 5);
        ones.push_back(u < 0.3);
        const std::int64_t pair = i / 2 * 2;
        const double distance = std::sqrt(-2 * std::log(1 - uniform_at(pair))), angle = 2 * M_PI * uniform_at(pair + 1);
        normal.push_back(1 + 2 * distance * (i == pair ? std::cos(angle) : std::sin(angle)));
      }
      const Shape shape{size};
      EXPECT_EQ(numbers(run_op(op::Random{Distribution::Uniform, shape, DType::F32}, {kKey, Value(-2), Value(3)})),
                uniform);
      EXPECT_EQ(numbers(run_op(op::Random{Distribution::Uniform, shape, DType::F64}, {kKey, Value(-2), Value(3)})),
                doubles);
      EXPECT_EQ(numbers(run_op(op::Random{Distribution::Bernoulli, shape, DType::F32}, {kKey, Value(0.3), Value(0)})),
                ones);
      expect_close(numbers(run_op(op::Random{Distribution::Normal, shape, DType::F32}, {kKey, Value(1), Value(2)})),
                   normal, 1e-6, 1e-6);
    }
  });
}

TEST(SimdRandom, MakesDoublesOfTwoWords) {
  const auto word = [](std::int64_t i) { return random_word(Key{kSeed}, static_cast<std::uint64_t>(i)); };
  const auto unit = [&](std::int64_t i) {
    return std::ldexp(word(2 * i), -32) + std::ldexp(word(2 * i + 1) >> 11, -53);
  };
  for_each_target([&] {
    for (const std::int64_t size : {0, 1, 5, 511, 512, 513, 9000}) {
      std::vector<double> uniform, normal, exponential;
      for (std::int64_t i = 0; i < size; ++i) {
        uniform.push_back(-2 + unit(i) * 5);
        const double distance = std::sqrt(-2 * std::log(1 - unit(i / 2 * 2))), angle = 2 * M_PI * unit(i / 2 * 2 + 1);
        normal.push_back(1 + 2 * distance * (i % 2 ? std::sin(angle) : std::cos(angle)));
        exponential.push_back(-std::log(std::ldexp(word(2 * i), -32) + std::ldexp((word(2 * i + 1) >> 12) + 0.5, -52)) /
                              3);
      }
      const Shape shape{size};
      EXPECT_EQ(numbers(run_op(op::Random{Distribution::Uniform, shape, DType::F64}, {kKey, Value(-2), Value(3)})),
                uniform);
      expect_close(numbers(run_op(op::Random{Distribution::Normal, shape, DType::F64}, {kKey, Value(1), Value(2)})),
                   normal, 1e-14, 1e-14);
      expect_close(
          numbers(run_op(op::Random{Distribution::Exponential, shape, DType::F64}, {kKey, Value(3), Value(0)})),
          exponential, 1e-14);
    }
    const double high = 1 + 0x1p-51;
    for (const double number :
         numbers(run_op(op::Random{Distribution::Uniform, {5000}, DType::F64}, {kKey, Value(1), Value(high)})))
      ASSERT_LT(number, high);
  });
}

TEST(SimdRandom, StaysBelowTheUpperEnd) {
  // In floats, nearly all of [1, 1 + 2^-24) rounds to one of its ends.
  for_each_target([] {
    const double high = 1 + 0x1p-24;
    for (const double number :
         numbers(run_op(op::Random{Distribution::Uniform, {5000}, DType::F32}, {kKey, Value(1), Value(high)})))
      ASSERT_LT(number, high);
    // In doubles, half of [1, 1 + 2^-52).
    const double next = std::nextafter(1.0, 2.0);
    for (const double number :
         numbers(run_op(op::Random{Distribution::Uniform, {500}, DType::F64}, {kKey, Value(1), Value(next)})))
      ASSERT_EQ(number, 1);
  });
}

std::vector<double> dropped(const std::vector<double>& x, double probability) {
  std::vector<double> z;
  const auto scale = static_cast<float>(1 / (1 - probability));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint32_t bits = random_word(Key{kSeed}, i / 2) >> 16 * (i % 2) & 0xffff;
    z.push_back(bits >= probability * 65536 ? static_cast<float>(x[i]) * scale : 0);
  }
  return z;
}

TEST(SimdDropout, KeepsByRowMajorPlaceInAnyMemoryOrder) {
  for_each_target([] {
    for (const Shape& shape : {Shape{3, 5, 7, 9}, Shape{2, 8, 26, 26}, Shape{1, 4, 3, 3}}) {
      const auto x = rounded(DType::F32, random_numbers(numel(shape), -1, 1));
      for (const Dims& order : {Dims{0, 1, 2, 3}, Dims{0, 2, 3, 1}, Dims{0, 3, 1, 2}})
        for (const double probability : {0.0, 0.25, 0.5, 1.0}) {
          const Value operand = tensor(DType::F32, shape, x, order);
          const Value z = run_op(op::Dropout{}, {operand, kKey, Value(probability)});
          EXPECT_EQ(z.node()->strides, operand.node()->strides);
          EXPECT_EQ(numbers(z), probability < 1 ? dropped(x, probability) : std::vector<double>(x.size(), 0));
        }
    }
  });
}

// A uniform number is k / 2^24; so many of them are less than the probability.
TEST(SimdRandom, CountsTheUniformNumbersBelowAProbability) {
  for (const double probability : {0.0, 1e-9, 0x1p-24, 1.5 * 0x1p-24, 0.25, 0.3, 0.5, 1 - 1e-9, 1.0, -0.5}) {
    std::uint32_t low = 0, high = 1u << 24;  // the first k that is not less
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (middle * 0x1p-24 < probability) low = middle + 1;
      else high = middle;
    }
    EXPECT_EQ(uniform_threshold(probability), low) << probability;
  }
}

TEST(SimdDropout, IsTheSameOnAnyNumberOfThreads) {
  const int before = num_threads();
  const auto x = random_numbers(64 * 512 + 3, -1, 1);
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    EXPECT_EQ(numbers(run_op(op::Dropout{}, {tensor(DType::F32, {64 * 512 + 3}, x), kKey, Value(0.5)})),
              dropped(rounded(DType::F32, x), 0.5));
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace kiln::cpu::simd
