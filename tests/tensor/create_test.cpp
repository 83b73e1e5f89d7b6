// Ways to make a tensor.
#include "kiln/tensor/create.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/text/format.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::best;

TEST(Create, NestedBracesOfAnyRank) {
  EXPECT_EQ(Tensor<0>::of(2.5, best()).item(), 2.5f);
  EXPECT_EQ((Tensor<3, Int>::of({{{1}, {2}}, {{3}, {4}}}, best()).shape()), (Shape{2, 2, 1}));
  EXPECT_EQ(to_text(Tensor<2, Bool>::of({{true}, {false}}, best())), "[[ true]\n [false]]");
  EXPECT_EQ(Tensor<2>::of({{}, {}}, best()).shape(), (Shape{2, 0}));
  EXPECT_EQ(Tensor<2>::of({}, best()).shape(), (Shape{0, 0}));
  EXPECT_EQ(Tensor<1>::of({0.1}, best(), DType::F64).to_vector<double>()[0], 0.1);
  EXPECT_EQ((Tensor<1, Int>::of({9007199254740993}, best()).to_vector()[0]), 9007199254740993);
  EXPECT_EQ(sentence_of([&] { return Tensor<3>::of({{{1, 2}}, {{1, 2, 3}}}, best()); }),
            "ShapeError: of: the rows of dimension 2 differ in length: 2 and 3");
}

TEST(Create, FromWhatLiesInMemory) {
  const std::vector<float> numbers{1, 2, 3, 4};
  const std::array<std::int32_t, 2> small{5, 6};
  EXPECT_EQ(to_text(Tensor<1>::of(numbers, best())), "[1. 2. 3. 4.]");
  EXPECT_EQ(to_text(Tensor<2>::of(numbers, {2, 2}, best())), "[[1. 2.]\n [3. 4.]]");
  EXPECT_EQ((Tensor<1, Int>::of(small, best()).dtype()), DType::I32);
  EXPECT_EQ(sentence_of([&] { return Tensor<2>::of(numbers, {2, 3}, best()); }),
            "ShapeError: a tensor of shape [2, 3] does not have 4 elements");
  EXPECT_EQ(sentence_of([&] { return Tensor<1>::of(small, best()); }),
            "DTypeError: expected a tensor of floats, got int32 [2]");
}

TEST(Create, FilledWithOneNumber) {
  EXPECT_EQ(to_text(full({2, 2}, 7, best())), "[[7. 7.]\n [7. 7.]]");
  EXPECT_EQ(to_text(zeros<Int>({2}, best(), DType::I8) + 1), "[1 1]");
  EXPECT_EQ(to_text(ones<Bool>({2}, best())), "[ true  true]");
  const Shape shape{1, 2};
  EXPECT_EQ(Tensor<2>::ones(shape, best()).sum().item(), 2);
  const auto x = Tensor<1>::of({1, 2}, best(), DType::F64);
  EXPECT_EQ(full_like(x, 3).dtype(), DType::F64);
  EXPECT_EQ(to_text(zeros_like(x)) + to_text(ones_like(x)) + to_text(full_like(x, 3)), "[0. 0.][1. 1.][3. 3.]");
}

TEST(Create, Sequences) {
  EXPECT_EQ(to_text(arange(4, best())), "[0 1 2 3]");
  EXPECT_EQ(to_text(arange(2, 5, best())), "[2 3 4]");
  EXPECT_EQ(to_text(arange(5, 0, -2, best())), "[5 3 1]");
  EXPECT_EQ(to_text(arange(0.0, 1.0, 0.25, best())), "[0.   0.25 0.5  0.75]");
  EXPECT_EQ(to_text(linspace(0, 1, 5, best())), "[0.   0.25 0.5  0.75 1.  ]");
  EXPECT_EQ(to_text(linspace(3, 9, 1, best())), "[3.]");
  EXPECT_EQ(linspace(3, 9, 0, best()).shape(), (Shape{0}));
  EXPECT_EQ(to_text(eye(2, best())), "[[1. 0.]\n [0. 1.]]");
  EXPECT_EQ(to_text(eye(2, 3, best())), "[[1. 0. 0.]\n [0. 1. 0.]]");
  EXPECT_EQ(to_text(logspace(0, 2, 3, best())), "[  1.  10. 100.]");
  EXPECT_EQ(to_text(logspace(3, 3, 1, best(), 2)), "[8.]");
  EXPECT_EQ(to_text(empty({2}, best())) + to_text(empty_like(arange(2, best()))), "[0. 0.][0 0]");
  EXPECT_EQ(sentence_of([&] { return eye(-1, best()); }), "ArgumentError: eye: the size must not be negative, got -1");
}

// A mean of n independent draws lies within 5 standard errors of its expectation.
void expect_mean(const Tensor<1>& draws, double mean, double deviation) {
  EXPECT_NEAR(draws.mean().item<double>(), mean, 5 * deviation / std::sqrt(static_cast<double>(draws.numel())));
}

TEST(Create, RandomNumbersOfTheDistributionNamed) {
  const Key key{7};
  expect_mean(randn({10000}, best(), key), 0, 1);
  expect_mean(randn({10000}, best(), key).square(), 1, std::sqrt(2.0));
  expect_mean(normal({10000}, 3, 0.5, best(), key), 3, 0.5);
  const auto flat = uniform({10000}, -1, 3, best(), key);
  expect_mean(flat, 1, 4 / std::sqrt(12.0));
  EXPECT_TRUE(((flat >= -1) & (flat < 3)).all().item());
  expect_mean(bernoulli({10000}, 0.2, best(), key), 0.2, 0.4);
}

TEST(Create, TheSeedAndTheKeyDecideTheNumbers) {
  EXPECT_EQ(randn({5}, best(), Key{1}).to_vector(), randn({5}, best(), Key{1}).to_vector());
  EXPECT_NE(randn({5}, best(), Key{1}).to_vector(), randn({5}, best(), Key{2}).to_vector());
  best().seed(3);
  const auto first = randn({5}, best()).to_vector(), second = randn_like(zeros({5}, best())).to_vector();
  best().seed(3);
  EXPECT_EQ(randn({5}, best()).to_vector(), first);
  EXPECT_EQ(randn({5}, best()).to_vector(), second);
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace kiln
