// Random tensors as a user draws them; what they follow is proven in tests/ops/random.cpp.
#include "kiln/tensor/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/text/format.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::best;

template <int D, class K>
testing::AssertionResult within(const Tensor<D, K>& x, double low, double high) {
  if (((x >= low) & (x <= high)).value().rank() == 0 || kiln::all((x >= low).value()).item() == 0 ||
      kiln::all((x <= high).value()).item() == 0)
    return testing::AssertionFailure() << to_text(x);
  return testing::AssertionSuccess();
}

TEST(RandomTensor, ShapesStandInBracesAndTypesBehindTheKey) {
  Generator generator(7);
  EXPECT_TRUE(within(rand({50, 2}, best(), generator), 0, 1));
  EXPECT_EQ(randn({2, 3}, best(), generator, DType::F64).dtype(), DType::F64);
  EXPECT_TRUE(within(uniform({50}, -1, 3, best(), generator), -1, 3));
  EXPECT_EQ(normal({2, 1}, 0, 1, best(), generator, DType::BF16).dtype(), DType::BF16);
  EXPECT_TRUE(within(truncated_normal({50}, {0, 1, 0.5, 0.75}, best(), generator), 0.5, 0.75));
  EXPECT_TRUE(within(bernoulli({50}, 0.5, best(), generator), 0, 1));
  EXPECT_TRUE(within(exponential({50}, 2, best(), generator), 0, 20));
  EXPECT_TRUE(within(gamma({50}, 2, 3, best(), generator), 0, 100));
  EXPECT_TRUE(within(beta({50}, 2, 3, best(), generator), 0, 1));
  EXPECT_TRUE(within(poisson({50}, 4, best(), generator), 0, 30));
  EXPECT_TRUE(within(randint({50}, -2, 3, best(), generator), -2, 2));
  EXPECT_EQ(randint({2}, 0, 9, best(), generator, DType::I8).dtype(), DType::I8);
  std::vector<std::int64_t> order = randperm(5, best(), generator).to_vector();
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(RandomTensor, ParametersMayBeTensors) {
  const auto low = Tensor<2>::of({{0}, {10}}, best());
  const auto high = Tensor<1>::of({1, 2}, best());
  EXPECT_TRUE(within(uniform(low, low + 1), 0, 11));
  static_assert(std::is_same_v<decltype(normal(low, high)), Tensor<2>>);
  EXPECT_EQ(to_text(normal(low, 0.0)), "[[ 0.]\n [10.]]");
  EXPECT_EQ(to_text(bernoulli(Tensor<1>::of({0, 1, 0}, best()))), "[0. 1. 0.]");
  EXPECT_EQ(to_text(poisson(Tensor<1>::of({0, 0}, best()))), "[0. 0.]");
  EXPECT_TRUE(within(exponential(high), 0, 30));
  EXPECT_TRUE(within(gamma(high), 0, 50));
  EXPECT_TRUE(within(beta(high, 2), 0, 1));
  const auto weights = Tensor<2>::of({{0, 1, 0}, {0, 0, 5}}, best());
  EXPECT_EQ(to_text(categorical(weights)), "[1 2]");
  EXPECT_EQ(to_text(multinomial(weights, 2, true)), "[[1 1]\n [2 2]]");
  EXPECT_EQ(to_text(multinomial(weights, 1)), "[[1]\n [2]]");
}

TEST(RandomTensor, LikeAnother) {
  const auto x = zeros({2, 3}, best(), DType::F64);
  const Key key{1};
  for (const Tensor<2>& y : {rand_like(x, key), randn_like(x, key), uniform_like(x, 1, 2, key),
                             normal_like(x, 5, 0.1, key), bernoulli_like(x, 0.5, key), exponential_like(x, 1, key)}) {
    EXPECT_EQ(y.dtype(), DType::F64);
    EXPECT_EQ(y.shape(), x.shape());
  }
  EXPECT_EQ(randint_like(zeros<Int>({4}, best(), DType::U8), 0, 256, key).dtype(), DType::U8);
}

TEST(RandomTensor, AGeneratorIsAPlaceInASequenceOfKeys) {
  Generator generator(3);
  const auto first = randn({4}, best(), generator).to_vector();
  Generator copy = generator;
  EXPECT_EQ(copy, generator);
  EXPECT_EQ(randn({4}, best(), copy).to_vector(), randn({4}, best(), generator).to_vector());
  Generator child = generator.split();
  EXPECT_NE(copy, generator);
  EXPECT_NE(randn({4}, best(), child).to_vector(), randn({4}, best(), generator).to_vector());
  Generator again(3);
  EXPECT_EQ(randn({4}, best(), again).to_vector(), first);
  EXPECT_EQ(Generator(3).next(), Key{3}.split(0));
}

TEST(RandomTensor, AWeightedChoiceOfSeveral) {
  // Three of five, the heavy one nearly always first.
  const auto weights = Tensor<1>::of({1, 1, 1e9, 1, 1}, best());
  const auto chosen = multinomial(weights, 3, false, Key{5}).to_vector();
  EXPECT_EQ(chosen[0], 2);
  EXPECT_NE(chosen[1], chosen[2]);
  EXPECT_EQ(sentence_of([&] { return multinomial(weights * 0 + arange(5, best()), 5); }),
            "ArgumentError: multinomial: cannot sample 5 times without replacement from a row of 4 weights");
}

}  // namespace
}  // namespace kiln
