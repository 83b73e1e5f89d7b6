// Typed forms of functions that are asked for now and then: ranks and kinds, and the values of the functions of Values.
#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/attention.hpp"
#include "kiln/tensor/combine.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/linalg.hpp"
#include "kiln/tensor/loss.hpp"
#include "kiln/tensor/numbers.hpp"
#include "kiln/tensor/order.hpp"
#include "kiln/tensor/signal.hpp"
#include "kiln/tensor/statistics.hpp"
#include "kiln/tensor/vector_norm.hpp"
#include "tests/support/devices.hpp"
#include "tests/tensor/same.hpp"

namespace kiln {
namespace {

using test::best;
Tensor<2> matrix() { return Tensor<2>::of({{3, 1, 2}, {1, 4, 0.5}, {2, 0.5, 5}}, best()); }
Tensor<1, Int> places() { return Tensor<1, Int>::of({0, 2, 2}, best()); }

TEST(Numbers, RoundAndChoose) {
  const auto x = matrix();
  const auto n = places();
  static_assert(kIs<Tensor<1, Int>, decltype(div(n, 2, Rounding::Floor))> &&
                kIs<Tensor<2>, decltype(div(x, n, Rounding::Trunc))>);
  EXPECT_TRUE(same(div(x, 2, Rounding::Trunc), div(x.value(), 2, Rounding::Trunc)));
  EXPECT_TRUE(same(round(x / 3, 2), round((x / 3).value(), 2)));
  EXPECT_TRUE(same(fmax(x, 2), fmax(x.value(), 2)));
  EXPECT_TRUE(same(fmin(x, n), fmin(x.value(), n.value())));
}

TEST(Combine, WritesByIndex) {
  const auto x = matrix();
  const auto index = Tensor<2, Int>::of({{0, 1, 1}, {2, 2, 2}}, best());
  const auto source = Tensor<2>::of({{9, 8, 7}, {6, 5, 4}}, best());
  EXPECT_TRUE(same(scatter_reduce(x, 0, index, source, Combine::Mean, false),
                   scatter_reduce(x.value(), 0, index.value(), source.value(), Combine::Mean, false)));
  EXPECT_TRUE(same(index_reduce(x, 1, places(), x, Combine::Max),
                   index_reduce(x.value(), 1, places().value(), x.value(), Combine::Max)));
  EXPECT_EQ(select_scatter(x, x.at(0, 0), 0, -1).at(0, 2).to_vector(), x.at(0, 0).to_vector());
  EXPECT_EQ(slice_scatter(x, source, 0, {1, {}}).slice_dim(0, {1, {}}).to_vector(), source.to_vector());
  EXPECT_EQ(diagonal_scatter(x, x.at(0, 1)).diagonal().to_vector(), x.at(0, 1).to_vector());
}

TEST(Order, OfSlicesAndThroughASorter) {
  const auto x = Tensor<2, Int>::of({{2, 1}, {0, 5}, {2, 1}}, best());
  const auto [values, inverse, counts] = unique(x, 0);
  EXPECT_EQ(values.to_vector(), (std::vector<std::int64_t>{0, 5, 2, 1}));
  EXPECT_EQ(inverse.to_vector(), (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_EQ(unique_consecutive(x, 0).counts.to_vector(), (std::vector<std::int64_t>{1, 1, 1}));
  const auto line = Tensor<1>::of({5, 1, 3}, best());
  EXPECT_EQ(searchsorted(line, line, false, line.argsort()).to_vector(), (std::vector<std::int64_t>{2, 0, 1}));
  EXPECT_EQ(isin(line, Tensor<1, Int>::of({3, 4}, best())).to_vector(), (std::vector<bool>{false, false, true}));
}

TEST(Statistics, OfWeightedObservationsAndSlopes) {
  const auto x = matrix();
  const CovOptions options{.frequencies = places() + 1, .weights = x.at(0, 0)};
  EXPECT_TRUE(same(cov(x, options), cov(x.value(), options)));
  EXPECT_TRUE(same(gradient(x, 0.5)[1], gradient(x.value(), 0.5)[1]));
  const auto at = Tensor<1>::of({0, 1, 3}, best());
  EXPECT_TRUE(same(gradient(x, at, 1, 2), gradient(x.value(), at.value(), 1, 2)));
}

TEST(Linalg, OfTensorsAndSymmetricMatrices) {
  const auto a = matrix();
  const auto factors = ldl_factor(a);
  static_assert(kIs<Tensor<1, Int>, decltype(factors.permutation)>);
  const auto b = Tensor<1>::of({1, 2, 3}, best());
  EXPECT_TRUE(same(ldl_solve(factors, b), ldl_solve(ldl_factor(a.value()), b.value())));
  EXPECT_TRUE(same(tensorsolve(a, b), tensorsolve(a.value(), b.value())));
  EXPECT_TRUE(same(tensorinv(a, 1), tensorinv(a.value(), 1)));
  EXPECT_TRUE(same(vander(b, 4), vander(b.value(), 4)));
  EXPECT_TRUE(same(pinv(a, kRounding, 2), pinv(a.value(), kRounding, 2)));
  EXPECT_EQ(matrix_rank(a, kRounding, 3).item(), 2);
  EXPECT_TRUE(same(pdist(a), pdist(a.value())));
  EXPECT_TRUE(same(renorm(a, 2, 0, 1), renorm(a.value(), 2, 0, 1)));
}

TEST(Signal, OfHermitianSignals) {
  const auto x = matrix();
  static_assert(kIs<Tensor<3>, decltype(ihfft(x))> && kIs<Tensor<2>, decltype(hfft(ihfft(x)))>);
  EXPECT_TRUE(same(ihfft(x), ihfft(x.value())));
  EXPECT_TRUE(same(hfft(ihfft(x)), hfft(ihfft(x.value()))));
  EXPECT_TRUE(same(ihfft2(x), ihfft2(x.value())));
  EXPECT_TRUE(same(hfft2(ihfft2(x)), hfft2(ihfft2(x.value()))));
  EXPECT_TRUE(same(ihfftn(x), ihfftn(x.value())));
  EXPECT_TRUE(same(hfftn(ihfftn(x)), hfftn(ihfftn(x.value()))));
}

TEST(Loss, OfSeveralLabels) {
  const auto x = matrix();
  const auto labels = Tensor<2, Int>::of({{0, 2, -1}, {1, -1, 0}, {-1, 0, 0}}, best());
  static_assert(kIs<Tensor<1>, decltype(multilabel_margin_loss<Reduction::None>(x, labels))>);
  EXPECT_TRUE(same(multilabel_margin_loss(x, labels), multilabel_margin_loss(x.value(), labels.value())));
  EXPECT_TRUE(
      same(multilabel_soft_margin_loss(x, labels > 0), multilabel_soft_margin_loss(x.value(), (labels > 0).value())));
}

TEST(Attention, TakesDropout) {
  const auto x = matrix().reshape(1, 1, 3, 3);
  const AttentionOptions options{.dropout = 0.5, .key = Key{7}};
  EXPECT_TRUE(same(attention(x, x, x, options), attention(x.value(), x.value(), x.value(), options)));
}

}  // namespace
}  // namespace kiln
