#include "kiln/core/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

// The known answers that Random123 1.14 publishes for philox4x32 with ten rounds (tests/kat_vectors).
TEST(Random, PhiloxGivesThePublishedKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, KeyAndBlockFillKeyAndCounterLowWordFirst) {
  EXPECT_EQ(philox(Key{0}, 0), (PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const Key key{0x0123456789abcdef};
  EXPECT_EQ(philox(key, 0x1122334455667788), philox({0x55667788, 0x11223344, 0, 0}, {0x89abcdef, 0x01234567}));
}

TEST(Random, AWordIsAPureFunctionOfKeyAndIndex) {
  const Key key{42};
  Random sequence(key);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(sequence.word(), random_word(key, i)) << i;
}

TEST(Random, SplittingGivesDifferentStreams) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    keys.insert(seed);
    for (std::uint64_t i = 0; i < 1000; ++i) keys.insert(Key{seed}.split(i).bits);
    for (std::uint64_t i = 0; i < 1000; ++i) keys.insert(Key{seed}.split(7).split(i).bits);
  }
  EXPECT_EQ(keys.size(), 10u * 2001u);
  EXPECT_EQ(Key{1}.split(2), Key{1}.split(2));
}

// Streams below one key: the correlation of 100,000 pairs is within 4 / sqrt(100,000) of none.
TEST(Random, SplitStreamsAreUncorrelated) {
  Random a(Key{3}.split(0)), b(Key{3}.split(1)), parent(Key{3});
  double ab = 0, ap = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double x = a.uniform() - 0.5, y = b.uniform() - 0.5, z = parent.uniform() - 0.5;
    ab += x * y * 12 / kCount;
    ap += x * z * 12 / kCount;
  }
  EXPECT_LT(std::abs(ab), 4 / std::sqrt(kCount));
  EXPECT_LT(std::abs(ap), 4 / std::sqrt(kCount));
}

TEST(Random, UniformNumbersLieInTheHalfOpenIntervalWithItsMoments) {
  EXPECT_EQ(to_uniform(0), 0.0f);
  EXPECT_EQ(to_uniform(0xffffffff), 1 - 0x1p-24f);
  Random random(std::uint64_t{1});
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.uniform(-2, 4);
    ASSERT_GE(x, -2);
    ASSERT_LT(x, 4);
    sum += x;
    squares += x * x;
  }
  // Mean 1, variance 36 / 12; four standard errors.
  EXPECT_NEAR(sum / kCount, 1, 4 * std::sqrt(3.0 / kCount));
  EXPECT_NEAR(squares / kCount - 1, 3, 0.1);
  EXPECT_LT(random.uniform(1, std::nextafter(1, 2)), std::nextafter(1, 2));
}

TEST(Random, NormalNumbersHaveTheirFourMoments) {
  Random random(std::uint64_t{5});
  double moments[4] = {};
  constexpr int kCount = 200000;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.normal();
    ASSERT_TRUE(std::isfinite(x));
    for (int k = 0; k < 4; ++k) moments[k] += std::pow(x, k + 1) / kCount;
  }
  EXPECT_NEAR(moments[0], 0, 0.01);
  EXPECT_NEAR(moments[1], 1, 0.02);
  EXPECT_NEAR(moments[2], 0, 0.04);
  EXPECT_NEAR(moments[3], 3, 0.12);
}

TEST(Random, BelowIsUniformAndRejectsALimitBelowOne) {
  Random random(std::uint64_t{9});
  int counts[7] = {};
  for (int i = 0; i < 70000; ++i) ++counts[random.below(7)];
  // Chi squared with six degrees of freedom is below 22.5 with probability 0.999.
  double chi_squared = 0;
  for (const int count : counts) chi_squared += (count - 10000.0) * (count - 10000.0) / 10000;
  EXPECT_LT(chi_squared, 22.5);
  EXPECT_EQ(random.below(1), 0);
  for (int i = 0; i < 100; ++i) EXPECT_GE(random.below(INT64_MAX), 0);
  EXPECT_THROW(random.below(0), ArgumentError);
  EXPECT_THROW(random.below(-5), ArgumentError);
}

}  // namespace
}  // namespace kiln
