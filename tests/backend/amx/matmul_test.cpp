#include <cmath>

#include <gtest/gtest.h>

#include "kiln/backend/cpu/amx/amx.hpp"
#include "kiln/backend/cpu/matmul/choose.hpp"
#include "kiln/backend/cpu/matmul/matmul.hpp"

#include "tests/backend/products.hpp"

namespace kiln::cpu {
namespace {

class AmxMatmul : public testing::Test {
 protected:
  void SetUp() override {
    if (!amx::available()) GTEST_SKIP() << "this machine has no products of bfloat16 vectors";
  }
};

Value numbers_in(const Shape& shape, unsigned seed, std::vector<int> order = {}) {
  return random_tensor(shape, seed, std::move(order), DType::BF16);
}

Value multiply(const Value& a, const Value& b) {
  const Value in[] = {a, b};
  const Descs desc = op::Matmul{}.infer(in);
  Value out = tensor(desc[0].shape, desc[0].dtype);
  disable(algorithms_in("few_halves"));
  EXPECT_EQ(matmul::choose(matmul::MatmulCase::of(a, b)).algorithm, Algorithm::AmxMatmul);
  EXPECT_TRUE(matmul::run(op::Matmul{}, {in, {&out, 1}}));
  disable({});
  return out;
}

/// Each number is the exact sum, rounded once: the operands are eighths, so that float32 sums of them are exact.
void check(const Value& a, const Value& b) {
  const Value c = multiply(a, b);
  std::vector<double> expected = product(a, b, c.shape());
  for (double& number : expected) number = static_cast<float>(BF16(number));
  EXPECT_EQ(distance(numbers(c), expected), 0) << text(a, " x ", b);
}

TEST_F(AmxMatmul, MultipliesMatricesOfAnySizeAndOrder) {
  const std::vector<int> orders[] = {{0, 1}, {1, 0}};
  std::vector<std::array<std::int64_t, 3>> sizes;
  for (const std::int64_t m : {1, 2, 5, 11, 16, 17, 32, 33, 70})
    for (const std::int64_t n : {1, 15, 16, 17, 33, 70})
      for (const std::int64_t k : {1, 2, 31, 32, 33, 257}) sizes.push_back({m, n, k});
  for (const std::array<std::int64_t, 3>& large : std::initializer_list<std::array<std::int64_t, 3>>{
           {1, 1200, 700}, {300, 1, 600}, {300, 520, 770}, {513, 1100, 290}, {1030, 40, 530}, {64, 2100, 64}})
    sizes.push_back(large);
  for (const auto& [m, n, k] : sizes)
    for (const auto& order_a : orders)
      for (const auto& order_b : orders) check(numbers_in({m, k}, 1, order_a), numbers_in({k, n}, 2, order_b));
}

TEST_F(AmxMatmul, ReadsPartsOfLargerMatricesInPlace) {
  const Value big = numbers_in({40, 61}, 3);
  const Value part = view_of(big, {20, 30}, {61, 1}, 61 * 5 + 7);  // rows on odd addresses
  check(part, view_of(big, {30, 20}, {1, 61}, 61 * 5 + 7));
  check(part, numbers_in({30, 9}, 4));
}

TEST_F(AmxMatmul, CopiesWhatItCannotReadInPlace) { check_what_is_copied(DType::BF16, check); }

TEST_F(AmxMatmul, BroadcastsBatchDimensions) { check_batches(DType::BF16, check); }

TEST_F(AmxMatmul, ReadsAttentionHeadsInPlace) { check_attention_heads(DType::BF16, check); }

TEST_F(AmxMatmul, GivesZerosForAnEmptySumAndNothingForEmptyOperands) {
  check_products_of_nothing(DType::BF16, multiply);
}

TEST_F(AmxMatmul, KeepsWhatIsNotFiniteInItsRowAndColumn) {
  Value a = numbers_in({35, 40}, 23);
  read(a).as<BF16>()[7 * 40 + 3] = BF16(std::numeric_limits<float>::infinity());
  const std::vector<double> c = numbers(multiply(a, random_tensor({40, 50}, 24, {}, DType::BF16)));
  for (std::size_t i = 0; i < c.size(); ++i) EXPECT_TRUE(i / 50 == 7 || std::isfinite(c[i])) << i;
  EXPECT_FALSE(std::isfinite(c[7 * 50]) && std::isfinite(c[7 * 50 + 1]) && std::isfinite(c[7 * 50 + 2]));
}

/// x * 1 + y * 1 in float32, rounded once.
TEST_F(AmxMatmul, RoundsToTheNearestAndOfTwoToTheEvenOne) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN(),
              largest = 0x1.fep127f;
  const float pairs[][3] = {{1, 1.0f / 256, 1},                             // half way, below an odd number
                            {1 + 1.0f / 128, 1.0f / 256, 1 + 2.0f / 128},   // half way, above one
                            {1, 1.0f / 256 + 1.0f / 8192, 1 + 1.0f / 128},  // a little more than half way
                            {-1, -1.0f / 256, -1},
                            {largest, largest, infinity},
                            {infinity, 1, infinity},
                            {-infinity, 3, -infinity},
                            {infinity, -infinity, nan},
                            {nan, 1, nan}};
  constexpr std::int64_t count = std::size(pairs);
  const Value a = numbers_in({count, 2}, 1), ones = numbers_in({2, 40}, 2);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < 2; ++j) read(a).as<BF16>()[i * 2 + j] = BF16(pairs[i][j]);
  std::fill_n(read(ones).as<BF16>(), 80, BF16(1.0f));
  const std::vector<double> c = numbers(multiply(a, ones));
  for (std::size_t i = 0; i < c.size(); ++i) {
    const float expected = pairs[i / 40][2];
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(c[i]) : c[i] == expected) << i << ": " << c[i];
  }
}

TEST_F(AmxMatmul, LeavesOtherTypesToOtherKernels) {
  const Value half = tensor({5, 5}, DType::F16);
  EXPECT_EQ(matmul::choose(matmul::MatmulCase::of(half, half)).algorithm, Algorithm::Float32);
}

TEST_F(AmxMatmul, GivesTheSameBitsOnAnyNumberOfThreads) {
  expect_same_bits_on_any_threads({{numbers_in({512, 300}, 25), numbers_in({300, 500}, 26)},
                                   {numbers_in({64, 1024}, 25), numbers_in({1024, 512}, 26, {1, 0})},
                                   {numbers_in({1, 1000}, 25), numbers_in({1000, 900}, 26)},
                                   {numbers_in({50, 64, 65}, 25), numbers_in({50, 65, 66}, 26)}},
                                  multiply);
}

TEST_F(AmxMatmul, KeepsPackedWeightsFromTheSecondTimeOn) {
  for (const std::int64_t rows : {3, 600}) {  // in one piece and in several
    const Value x = numbers_in({rows, 80}, 1), w = numbers_in({80, 100}, 2);
    const auto kept = [&] { return static_cast<const Memory&>(*w.node()->storage).packed_forms().count(); };
    const Value first = multiply(x, w);
    EXPECT_EQ(kept(), 0);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(first, multiply(x, w)));
    EXPECT_EQ(kept(), 1);
    check(x, w);
    // The same memory in another order is another weight.
    const Value y = numbers_in({rows, 100}, 3), turned = view_of(w, {100, 80}, {1, 100});
    for (int i = 0; i < 3; ++i) check(y, turned);
    EXPECT_EQ(kept(), 2);
  }
}

}  // namespace
}  // namespace kiln::cpu
