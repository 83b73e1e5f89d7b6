// The generator and what is drawn with it, evaluated as trees, against random.hpp and the reference kernels.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/expression/draw.hpp"
#include "kiln/ops/expression/evaluate.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"
#include "tests/ops/expression/operands.hpp"
#include "tests/ops/expression/portable.hpp"

namespace kiln::expr {
namespace {

constexpr std::uint64_t kKey = 0x9876543210abcdef;

PhiloxWords philox_of_trees(const PhiloxWords& counter, std::uint32_t k, std::uint32_t l, const Dialect* dialect) {
  std::vector<Cell<float>> in;
  for (const std::uint32_t word : {counter[0], counter[1], counter[2], counter[3], k, l}) in.push_back({0, word});
  const std::vector<Cell<float>> words = evaluate<float>(*find_function("philox"), in, dialect);
  return {words[0].word, words[1].word, words[2].word, words[3].word};
}

std::uint32_t word(std::uint64_t place) {
  const std::uint64_t block = place / 4;
  const PhiloxWords counter{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0};
  return philox_of_trees(counter, static_cast<std::uint32_t>(kKey), static_cast<std::uint32_t>(kKey >> 32),
                         nullptr)[place % 4];
}

TEST(ExpressionRandom, TurnsAsPhiloxDoes) {
  // The known answers of the paper's authors (Random123, philox4x32-10).
  EXPECT_EQ(philox_of_trees({0, 0, 0, 0}, 0, 0, nullptr),
            (PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox_of_trees({ones, ones, ones, ones}, ones, ones, nullptr),
            (PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // With the product of halves that stands for multiply_high.
  EXPECT_EQ(philox_of_trees({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0, &portable()),
            (PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  for (std::uint64_t i = 0; i < 9; ++i) EXPECT_EQ(word(i), random_word(Key{kKey}, i));
}

template <class T>
T drawn(op::Distribution distribution, std::uint64_t i, T a, T b, const Dialect* dialect) {
  const std::uint64_t each = sizeof(T) == 8 && distribution != op::Distribution::Bernoulli ? 2 : 1;
  const bool normal = distribution == op::Distribution::Normal;
  const std::uint64_t first = (normal ? i & ~std::uint64_t{1} : i) * each, other = first + each;
  const Cell<T> in[] = {{.number = a},
                        {.number = b},
                        {{}, word(first)},
                        {{}, word(first + 1)},
                        {{}, word(other)},
                        {{}, word(other + 1)},
                        {{}, static_cast<std::uint32_t>(i % 2)}};
  return evaluate<T>(*draw(distribution), in, dialect).number;
}

template <class T>
void expect_drawn(op::Distribution distribution, double a, double b, double tolerance) {
  const std::int64_t count = 2000;
  const TensorData expected = emit(Device::parse("reference"), op::Random{distribution, {count}, dtype_of<T>},
                                   {Value(static_cast<std::int64_t>(kKey)), Value(a), Value(b)})
                                  .data();
  for (const Dialect* dialect : {static_cast<const Dialect*>(nullptr), &portable()})
    for (std::int64_t i = 0; i < count; ++i) {
      const T found =
          drawn<T>(distribution, static_cast<std::uint64_t>(i), static_cast<T>(a), static_cast<T>(b), dialect);
      ASSERT_LE(distance(found, expected.as<T>()[static_cast<std::size_t>(i)], 1.0), tolerance)
          << static_cast<int>(distribution) << "[" << i << "]";
      if (distribution == op::Distribution::Uniform) {
        ASSERT_TRUE(found >= static_cast<T>(a) && found < static_cast<T>(b));
      }
    }
}

TEST(ExpressionRandom, DrawsWhatTheReferenceDraws) {
  using op::Distribution;
  expect_drawn<float>(Distribution::Uniform, 0, 1, 0);
  expect_drawn<float>(Distribution::Uniform, -3, 2.5, 3e-7);
  expect_drawn<double>(Distribution::Uniform, -3, 2.5, 0);
  expect_drawn<float>(Distribution::Normal, 1, 2, 2e-6);
  expect_drawn<double>(Distribution::Normal, 1, 2, 1e-15);
  expect_drawn<float>(Distribution::Bernoulli, 0.3, 0, 0);
  expect_drawn<double>(Distribution::Bernoulli, 0.3, 0, 0);
  expect_drawn<float>(Distribution::Exponential, 1.5, 0, 1e-6);
  expect_drawn<double>(Distribution::Exponential, 1.5, 0, 1e-15);
  EXPECT_EQ(draw(Distribution::Gamma), nullptr);
  EXPECT_EQ(sample(Distribution::Normal), nullptr);
}

template <class T>
T sampled(op::Distribution distribution, std::uint64_t i, T a, T b, const Dialect* dialect) {
  const Cell<T> in[] = {{.number = a},
                        {.number = b},
                        {{}, static_cast<std::uint32_t>(i)},
                        {{}, static_cast<std::uint32_t>(i >> 32)},
                        {{}, static_cast<std::uint32_t>(kKey)},
                        {{}, static_cast<std::uint32_t>(kKey >> 32)}};
  return evaluate<T>(*sample(distribution), in, dialect).number;
}

/// In float64 every element is the reference's; in float32 nearly every one is near it.
void expect_sampled(op::Distribution distribution, double a, double b) {
  const std::int64_t count = 500;
  const TensorData expected = emit(Device::parse("reference"), op::Random{distribution, {count}, DType::F64},
                                   {Value(static_cast<std::int64_t>(kKey)), Value(a), Value(b)})
                                  .data();
  int others = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double right = expected.as<double>()[static_cast<std::size_t>(i)];
    const auto place = static_cast<std::uint64_t>(i);
    for (const Dialect* dialect : {static_cast<const Dialect*>(nullptr), &portable()})
      ASSERT_LE(distance(sampled<double>(distribution, place, a, b, dialect), right, 1e-3), 1e-12)
          << static_cast<int>(distribution) << " of " << a << ", " << b << "[" << i << "]";
    const auto single = sampled<float>(distribution, place, static_cast<float>(a), static_cast<float>(b), &portable());
    if (!(distance(static_cast<double>(single), right, 1e-3) <= 1e-3)) ++others;
  }
  EXPECT_LE(others, 2) << static_cast<int>(distribution) << " of " << a << ", " << b;
}

TEST(ExpressionRandom, SamplesWhatTheReferenceSamples) {
  using op::Distribution;
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [a, b] : {std::pair{-1.0, 2.0},
                             {0.5, 0.75},
                             {1.0, infinity},
                             {3.0, 9.0},
                             {-infinity, -2.0},
                             {-0.25, 0.125},
                             {2.0, 2.0},
                             {1.0, -1.0},
                             {-4.0, 0.0}})
    expect_sampled(Distribution::TruncatedNormal, a, b);
  for (const double shape : {0.25, 1.0, 2.5, 40.0, infinity, nan}) expect_sampled(Distribution::Gamma, shape, 0);
  for (const auto& [a, b] : {std::pair{0.5, 0.5}, {2.0, 5.0}, {1e-300, 1e-300}, {infinity, infinity}})
    if (a == 1e-300) {
      for (std::uint64_t i = 0; i < 20; ++i) {
        const double drawn = sampled<double>(Distribution::Beta, i, a, b, nullptr);
        EXPECT_TRUE(drawn == 0 || drawn == 1);
      }
    } else {
      expect_sampled(Distribution::Beta, a, b);
    }
  for (const double rate : {0.0, 0.5, 4.0, 9.75, 10.0, 30.0, 500.0, infinity, nan})
    expect_sampled(Distribution::Poisson, rate, 0);
}

TEST(ExpressionRandom, SamplesIntegersWithoutBias) {
  using op::Distribution;
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  for (const auto& [low, high] :
       {std::pair<std::int64_t, std::int64_t>{0, 10}, {-7, 1000003}, {kLeast, kMost}, {-3, kMost}}) {
    const TensorData expected = emit(Device::parse("reference"), op::Random{Distribution::Integer, {300}, DType::I64},
                                     {Value(static_cast<std::int64_t>(kKey)), Value(low), Value(high)})
                                    .data();
    for (std::uint64_t i = 0; i < 300; ++i)
      ASSERT_EQ(
          static_cast<std::int64_t>(sampled<std::uint64_t>(Distribution::Integer, i, static_cast<std::uint64_t>(low),
                                                           static_cast<std::uint64_t>(high), nullptr)),
          expected.as<std::int64_t>()[i]);
  }
}

TEST(ExpressionRandom, NamesTheClassByItsRunningSum) {
  using op::Distribution;
  const std::vector<double> weights{0.5, 0, 2, 1.25, 0.25, 0};
  TensorData data({1, 6}, DType::F64);
  std::copy(weights.begin(), weights.end(), data.as<double>().begin());
  const Device device = Device::parse("reference");
  const TensorData expected =
      emit(op::Random{Distribution::Categorical, {1, 400}, DType::I64},
           {Value(static_cast<std::int64_t>(kKey)), from_data(std::move(data), device), Value(0.0)})
          .data();
  for (std::uint64_t i = 0; i < 400; ++i) {
    const double below = sampled<double>(Distribution::Categorical, i, 4.0, 0.0, nullptr);
    std::int64_t place = 0;
    for (double sum = weights[0]; sum <= below; sum += weights[static_cast<std::size_t>(place)]) ++place;
    ASSERT_EQ(place, expected.as<std::int64_t>()[i]);
  }
}

TEST(ExpressionRandom, SamplesOnEveryDevice) {
  using op::Distribution;
  for (const Distribution distribution : {Distribution::TruncatedNormal, Distribution::Gamma, Distribution::Beta,
                                          Distribution::Poisson, Distribution::Categorical})
    for (const Dialect* dialect : {&kCpp, &kCuda, &kHip, &kGlsl, &kWgsl})
      EXPECT_TRUE(supports(*dialect, *sample(distribution), DType::F32)) << dialect->name;
  // Of 64 bits, which WGSL lacks.
  EXPECT_TRUE(supports(kCuda, *sample(Distribution::Integer), DType::U64));
  EXPECT_FALSE(supports(kWgsl, *sample(Distribution::Integer), DType::U64));
}

TEST(ExpressionRandom, StaysBelowTheUpperEnd) {
  // The largest draw of [0, 1) times a distance that rounds up to the end.
  const Cell<float> in[] = {{.number = 1.0f}, {.number = 1.0f + 0x1p-22f}, {0, 0xffffffff}, {}, {}, {}, {}};
  for (const Dialect* dialect : {static_cast<const Dialect*>(nullptr), &portable()})
    EXPECT_LT(evaluate<float>(*draw(op::Distribution::Uniform), in, dialect).number, 1.0f + 0x1p-22f);
  const Cell<float> largest[] = {{.number = 1.0f}, {}, {0, 0xffffffff}, {}, {}, {}, {}};
  EXPECT_GT(evaluate<float>(*draw(op::Distribution::Exponential), largest).number, 0);
}

TEST(ExpressionRandom, DropsWhatTheReferenceDrops) {
  const std::int64_t count = 1000;
  const Value x = arange(1.0, static_cast<double>(count) + 1, 1.0, Device::parse("reference"), DType::F32);
  const TensorData expected = emit(op::Dropout{}, {x, Value(static_cast<std::int64_t>(kKey)), Value(0.4)}).data();
  const DropoutThreshold drops(0.4);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    const Cell<float> in[] = {{.number = static_cast<float>(i + 1)},
                              {.number = static_cast<float>(drops.scale)},
                              {0, drops.threshold},
                              {0, word(i / 2)},
                              {0, static_cast<std::uint32_t>(i % 2)}};
    ASSERT_EQ(evaluate<float>(dropout(), in).number, expected.as<float>()[i]) << i;
  }
}

/// Halves by the functions of trees, of all kinds of floats.
TEST(ExpressionHalves, AreRoundedAsTheProcessorRounds) {
  const auto of = [](std::string_view function, float x) {
    const Cell<float> in[] = {{.number = x}};
    return evaluate<float>(*find_function(function), in)[0];
  };
  std::mt19937 engine(5);
  for (int i = 0; i < 40000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(engine()));
    const float near = std::bit_cast<float>(
        (std::bit_cast<std::uint32_t>(static_cast<float>(F16::from_bits(static_cast<std::uint16_t>(engine())))) &
         ~0xfffu) |
        (engine() % 3 ? 0x1000u : 0u));
    for (const float value : {x, near}) {
      ASSERT_EQ(of("bits_of_f16", value).word, F16(value).bits) << shown(value);
      ASSERT_EQ(of("bits_of_bf16", value).word, BF16(value).bits) << shown(value);
      ASSERT_TRUE(same(of("round_to_f16", value).number, static_cast<float>(F16(value)))) << shown(value);
      ASSERT_TRUE(same(of("round_to_bf16", value).number, static_cast<float>(BF16(value)))) << shown(value);
    }
  }
}

/// An integer, and what is next to the middle of two halves, as round_to_odd() has them.
template <class T>
void expect_rounded_once(std::uint64_t drawn) {
  const T any = static_cast<T>(drawn >> drawn % 61);
  const T middle = static_cast<T>((T{257} << (sizeof(T) * 8 - 11)) >> drawn % 30);
  for (const T x : {any, static_cast<T>(0 - any), middle, static_cast<T>(middle + 1), static_cast<T>(middle - 1),
                    static_cast<T>(0 - middle), std::numeric_limits<T>::max(), std::numeric_limits<T>::min()}) {
    const Cell<T> in[] = {{.number = x}};
    const float odd = static_cast<float>(evaluate<T>(*find_function("round_to_odd"), in)[0].number);
    ASSERT_EQ(BF16(odd).bits, BF16(x).bits) << x;
    ASSERT_EQ(F16(odd).bits, F16(x).bits) << x;
  }
}

TEST(ExpressionHalves, AreRoundedOnceFromIntegersOfAllTypes) {
  std::mt19937_64 engine(7);
  for (int i = 0; i < 5000; ++i) {
    expect_rounded_once<std::int64_t>(engine());
    expect_rounded_once<std::uint64_t>(engine());
    expect_rounded_once<std::int32_t>(engine());
    expect_rounded_once<std::uint32_t>(engine());
  }
}

TEST(ExpressionHalves, AreRoundedOnceFromIntegersAndDoubles) {
  std::mt19937_64 engine(6);
  for (int i = 0; i < 20000; ++i) {
    const auto x = static_cast<std::int64_t>(engine()) >> engine() % 60;
    const Cell<std::int64_t> in[] = {{.number = x}};
    const float odd = static_cast<float>(evaluate<std::int64_t>(*find_function("round_to_odd"), in)[0].number);
    ASSERT_EQ(BF16(odd).bits, BF16(x).bits) << x;
    ASSERT_EQ(F16(odd).bits, F16(x).bits) << x;
    const double wide =
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(engine())), static_cast<int>(engine() % 120) - 100);
    const Cell<double> number[] = {{.number = wide}};
    const auto bits = evaluate<double>(*find_function("bits_of_odd_float"), number)[0].word;
    ASSERT_EQ(bits, std::bit_cast<std::uint32_t>(round_to_odd(wide))) << shown(wide);
  }
}

}  // namespace
}  // namespace kiln::expr
