// Methods that change the rank say so in their types.
#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/text/format.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::best;
Tensor<3> block() { return arange(24.0, best()).reshape(2, 3, 4); }

TEST(Rank, ReshapeTakesItsRankFromItsArguments) {
  Tensor<2> matrix = block().reshape(6, -1);
  EXPECT_EQ(matrix.shape(), (Shape{6, 4}));
  Tensor<4> four = block().reshape<4>(Shape{2, 3, 2, 2});
  EXPECT_EQ(four.dims(), (std::array<std::int64_t, 4>{2, 3, 2, 2}));
  Tensor<0> number = ones({1, 1}, best()).reshape();
  EXPECT_EQ(number.item(), 1);
}

TEST(Rank, FlattenMergesDimensions) {
  Tensor<1> all = block().flatten();
  Tensor<2> rest = block().flatten<1>();
  Tensor<2> front = block().flatten<0, 1>();
  Tensor<1> single = block().sum().flatten();
  EXPECT_EQ(all.shape(), (Shape{24}));
  EXPECT_EQ(rest.shape(), (Shape{2, 12}));
  EXPECT_EQ(front.shape(), (Shape{6, 4}));
  EXPECT_EQ(single.shape(), (Shape{1}));
}

TEST(Rank, UnsqueezeAddsAndSqueezeDropsADimension) {
  Tensor<4> more = block().unsqueeze(1);
  EXPECT_EQ(more.shape(), (Shape{2, 1, 3, 4}));
  Tensor<3> back = more.squeeze(1);
  EXPECT_EQ(back.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(block().unsqueeze(-1).shape(), (Shape{2, 3, 4, 1}));
}

TEST(Rank, ReductionsDropTheDimensionsThatTheyName) {
  const auto x = block();
  Tensor<0> total = x.sum();
  Tensor<2> one = x.sum(-1);
  Tensor<1> two = x.sum(0, 2);
  Tensor<3> kept = x.sum(keep, 0, 2);
  EXPECT_EQ(total.item(), 276);
  EXPECT_EQ(to_text(one), "[[ 6. 22. 38.]\n [54. 70. 86.]]");
  EXPECT_EQ(to_text(two), "[ 60.  92. 124.]");
  EXPECT_EQ(kept.shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(x.mean(keep).shape(), (Shape{1, 1, 1}));
  EXPECT_EQ(x.max().item() + x.min().item(), 23);
  EXPECT_EQ(x(0, 0, s(1, end)).prod().item(), 6);
}

TEST(Rank, VarianceIsASamples) {
  const auto x = Tensor<2>::of({{1, 2, 3, 4}, {2, 2, 2, 2}}, best());
  EXPECT_FLOAT_EQ(x(0).var().item(), 5.0f / 3);
  EXPECT_EQ(to_text(x.var(1)), "[1.6666666 0.       ]");
  EXPECT_FLOAT_EQ(x(0).std().item(), 1.2909944f);
}

TEST(Rank, PermutationsKeepTheRank) {
  const auto x = block();
  EXPECT_EQ(x.permute(2, 0, 1).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(x.transpose().shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(x.transpose(0, 2).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(to_text(x(0).t()), "[[ 0.  4.  8.]\n [ 1.  5.  9.]\n [ 2.  6. 10.]\n [ 3.  7. 11.]]");
  EXPECT_EQ(to_text(x(0, 0).flip(0)), "[3. 2. 1. 0.]");
}

TEST(Rank, ExpandRepeatRollAndPad) {
  const auto x = Tensor<1>::of({1, 2, 3}, best());
  Tensor<2> rows = x.expand(2, 3);
  EXPECT_EQ(to_text(rows), "[[1. 2. 3.]\n [1. 2. 3.]]");
  EXPECT_EQ(to_text(rows.repeat(1, 2)), "[[1. 2. 3. 1. 2. 3.]\n [1. 2. 3. 1. 2. 3.]]");
  EXPECT_EQ(to_text(x.repeat(2)), "[1. 2. 3. 1. 2. 3.]");
  EXPECT_EQ(x.repeat(0).shape(), (Shape{0}));
  EXPECT_EQ(to_text(x.roll(1, 0)), "[3. 1. 2.]");
  EXPECT_EQ(to_text(x.roll(-4, 0)), "[2. 3. 1.]");
  EXPECT_EQ(to_text(x.pad({1}, {2}, 9)), "[9. 1. 2. 3. 9. 9.]");
}

TEST(Rank, TensorsAreJoinedAndTakenApart) {
  const auto x = Tensor<1>::of({1, 2, 3}, best()), y = Tensor<1>::of({4, 5, 6}, best());
  Tensor<1> line = cat({x, y});
  Tensor<2> rows = stack({x, y}), columns = stack({x, y}, 1);
  EXPECT_EQ(to_text(line), "[1. 2. 3. 4. 5. 6.]");
  EXPECT_EQ(to_text(rows), "[[1. 2. 3.]\n [4. 5. 6.]]");
  EXPECT_EQ(to_text(columns), "[[1. 4.]\n [2. 5.]\n [3. 6.]]");
  const std::vector<Tensor<1>> parts = line.split(4);
  EXPECT_EQ(to_text(parts.at(0)) + to_text(parts.at(1)), "[1. 2. 3. 4.][5. 6.]");
  EXPECT_EQ(to_text(cat(parts)), to_text(line));
  EXPECT_EQ(columns.chunk(2).size(), 2u);
  EXPECT_EQ(columns.chunk(2)[1].shape(), (Shape{1, 2}));
  EXPECT_EQ(columns.narrow(0, 1, 2).shape(), (Shape{2, 2}));
  EXPECT_EQ(sentence_of([&] { return line.chunk(0); }),
            "ArgumentError: chunk: the number of parts must be positive, got 0");
}

TEST(Rank, MatmulBroadcastsLeadingDimensions) {
  Tensor<3> y = block().matmul(Tensor<2>::of({{1}, {0}, {0}, {2}}, best()));
  EXPECT_EQ(to_text(y.squeeze(2)), "[[ 6. 18. 30.]\n [42. 54. 66.]]");
}

}  // namespace
}  // namespace kiln
