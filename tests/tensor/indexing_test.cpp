// Reading and writing by tensors of indices and by masks, as a user writes it; expected values by hand or as NumPy's.
#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/text/format.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best_autodiff;
/// 0, 1, 2, ... as [2, 3].
Tensor<2> counted() { return arange(6.0, best_autodiff()).reshape(2, 3); }
Tensor<1, Int> places(const std::vector<std::int64_t>& indices) { return Tensor<1, Int>::of(indices, best_autodiff()); }
std::string shown(const auto& x) { return to_text(x); }

TEST(Indexing, TensorsBetweenTheParenthesesPickElements) {
  const auto x = counted();
  EXPECT_EQ(shown(x(places({1, 0, -1}))), "[[3. 4. 5.]\n [0. 1. 2.]\n [3. 4. 5.]]");
  Tensor<1> picked = x(places({0, 1, 1}), places({2, 0, -1}));
  EXPECT_EQ(shown(picked), "[2. 3. 5.]");
  Tensor<3> columns = x(s(), Tensor<2, Int>::of({{0, 2}, {1, 1}}, best_autodiff()));
  EXPECT_EQ(shown(columns), "[[[0. 2.]\n  [1. 1.]]\n\n [[3. 5.]\n  [4. 4.]]]");
  Tensor<1> of_a_row = x(1, places({2, 2}));
  EXPECT_EQ(shown(of_a_row), "[5. 5.]");
  EXPECT_EQ(shown(x(ellipsis, places({0}))), "[[0.]\n [3.]]");
  EXPECT_EQ(shown(x(s({}, {}, -1), places({0, 1}))), "[[3. 4.]\n [0. 1.]]");
  // A column of rows and a row of columns broadcast to a grid.
  Tensor<2> grid = x(places({1, 0}).unsqueeze(1), places({0, 2}));
  EXPECT_EQ(shown(grid), "[[3. 5.]\n [0. 2.]]");
}

TEST(Indexing, IndicesThatAreApartGoToTheFront) {
  const auto x = arange(24.0, best_autodiff()).reshape(2, 3, 4);
  Tensor<2> picked = x(places({0, 1}), s(), places({3, 0}));
  EXPECT_EQ(shown(picked), "[[ 3.  7. 11.]\n [12. 16. 20.]]");
  Tensor<2> neighbours = x(s(), places({0, 2}), places({1, 1}));
  EXPECT_EQ(shown(neighbours), "[[ 1.  9.]\n [13. 21.]]");
}

TEST(Indexing, AMaskPicksWhereItIsTrue) {
  const auto x = counted();
  Tensor<1> large = x(x > 2.5);
  EXPECT_EQ(shown(large), "[3. 4. 5.]");
  const auto rows = Tensor<1, Bool>::of({false, true}, best_autodiff());
  Tensor<2> chosen = x(rows);
  EXPECT_EQ(shown(chosen), "[[3. 4. 5.]]");
  Tensor<1> mixed = x(rows, places({1}));
  EXPECT_EQ(shown(mixed), "[4.]");
  EXPECT_EQ(shown(x(s(), Tensor<1, Bool>::of({true, false, true}, best_autodiff()))), "[[0. 2.]\n [3. 5.]]");
}

TEST(Indexing, AssignReplacesWhatTheParenthesesPick) {
  const auto x = counted();
  EXPECT_EQ(shown(x.assign(9.0, x < 2)), "[[9. 9. 2.]\n [3. 4. 5.]]");
  const auto rows = Tensor<1, Bool>::of({false, true}, best_autodiff());
  EXPECT_EQ(shown(x.assign(Tensor<1>::of({7, 8, 9}, best_autodiff()), rows)), "[[0. 1. 2.]\n [7. 8. 9.]]");
  EXPECT_EQ(shown(x.assign(Tensor<2>::of({{7, 8, 9}}, best_autodiff()), rows)), "[[0. 1. 2.]\n [7. 8. 9.]]");
  EXPECT_EQ(shown(x.assign(Tensor<1>::of({7, 8}, best_autodiff()), x > 3.5)), "[[0. 1. 2.]\n [3. 7. 8.]]");
  EXPECT_EQ(shown(x.assign(9.0, places({0, 1}), places({2, -3}))), "[[0. 1. 9.]\n [9. 4. 5.]]");
  EXPECT_EQ(shown(x.assign(Tensor<1>::of({7, 8}, best_autodiff()), 1, places({2, 2}))), "[[0. 1. 2.]\n [3. 4. 8.]]");
  EXPECT_EQ(shown(x.assign(9.0, s(1, end), places({0, 1}))), "[[0. 1. 2.]\n [9. 9. 5.]]");
}

TEST(Indexing, HasGradientsThroughIndicesAndMasks) {
  const auto x = counted().require_grad();
  const auto v = Tensor<1>::of({10, 20}, best_autodiff()).require_grad();
  EXPECT_EQ(shown(x(places({0, 0, 1}), places({1, 1, 2})).sum().backward().of(x)), "[[0. 2. 0.]\n [0. 0. 1.]]");
  const auto gradients = (x.assign(v, 1, places({0, 0})) * x.detach()).sum().backward();
  EXPECT_EQ(shown(gradients.of(x)), "[[0. 1. 2.]\n [0. 4. 5.]]");
  EXPECT_EQ(shown(gradients.of(v)), "[0. 3.]") << "the last of two assignments has the gradient";
}

TEST(Indexing, WritesInFiveModes) {
  const auto x = Tensor<1>::of({1, 2, 3}, best_autodiff()), source = Tensor<1>::of({5, -1, 4}, best_autodiff());
  const auto index = places({0, 0, 2});
  EXPECT_EQ(shown(x.scatter(0, index, source)), "[-1.  2.  4.]");
  EXPECT_EQ(shown(x.scatter(0, index, source, Update::Add)), "[5. 2. 7.]");
  EXPECT_EQ(shown(x.scatter(0, index, source, Update::Mul)), "[-5.  2. 12.]");
  EXPECT_EQ(shown(x.scatter(0, index, source, Update::Min)), "[-1.  2.  3.]");
  EXPECT_EQ(shown(x.scatter(0, index, source, Update::Max)), "[5. 2. 4.]");
  const auto rows = counted();
  EXPECT_EQ(shown(rows.select_assign(1, places({2, 0}), ones({2, 2}, best_autodiff()), Update::Max)),
            "[[1. 1. 2.]\n [3. 4. 5.]]");
  EXPECT_EQ(shown(rows.index_add(0, places({1, 1}), ones({2, 3}, best_autodiff()))), "[[0. 1. 2.]\n [5. 6. 7.]]");
  EXPECT_EQ(shown(rows.index_copy(0, places({0}), zeros({1, 3}, best_autodiff()) - 1)),
            "[[-1. -1. -1.]\n [ 3.  4.  5.]]");
  EXPECT_EQ(shown(rows.index_fill(1, places({0, 2}), 9)), "[[9. 1. 9.]\n [9. 4. 9.]]");
  EXPECT_EQ(shown(rows.index_select(1, places({2}))), "[[2.]\n [5.]]");
}

TEST(Indexing, UpdatesWhatTheParenthesesPick) {
  const auto x = counted();
  EXPECT_EQ(shown(x.update(Update::Add, 1.0, places({1, 1}), places({0, 0}))), "[[0. 1. 2.]\n [5. 4. 5.]]");
  EXPECT_EQ(shown(x.update(Update::Mul, 10.0, x > 3.5)), "[[ 0.  1.  2.]\n [ 3. 40. 50.]]");
  EXPECT_EQ(shown(x.update(Update::Min, Tensor<1>::of({3, 9}, best_autodiff()), s(), -1)), "[[0. 1. 2.]\n [3. 4. 5.]]");
  EXPECT_EQ(shown(x.update(Update::Max, 4.0, 1, s(0, 2))), "[[0. 1. 2.]\n [4. 4. 5.]]");
  EXPECT_EQ(shown(x.update(Update::Assign, 7.0, 0, places({1}))), "[[0. 7. 2.]\n [3. 4. 5.]]");
}

TEST(Indexing, TakesBySeveralIndices) {
  const auto x = counted();
  EXPECT_EQ(shown(x.take(Tensor<2, Int>::of({{0, -1}, {4, 2}}, best_autodiff()))), "[[0. 5.]\n [4. 2.]]");
  EXPECT_EQ(shown(x.take_along_dim(x.argsort(1, true), 1)), "[[2. 1. 0.]\n [5. 4. 3.]]");
  EXPECT_EQ(shown(x.take_along_dim(Tensor<2, Int>::of({{-1}}, best_autodiff()), 1)), "[[2.]\n [5.]]");
  const auto index = Tensor<2, Int>::of({{1, 2}, {0, 0}}, best_autodiff());
  EXPECT_EQ(shown(x.gather_nd<1>(index)), "[5. 0.]");
  EXPECT_EQ(shown(x.gather_nd<2>(Tensor<2, Int>::of({{1}}, best_autodiff()))), "[[3. 4. 5.]]");
  EXPECT_EQ(shown(x.scatter_nd(index, Tensor<1>::of({7, 8}, best_autodiff()))), "[[8. 1. 2.]\n [3. 4. 7.]]");
  EXPECT_EQ(shown(x.scatter_nd(index, Tensor<1>::of({7, 8}, best_autodiff()), Update::Min)),
            "[[0. 1. 2.]\n [3. 4. 5.]]");
}

TEST(Indexing, MasksFillSelectAndScatter) {
  const auto x = counted();
  const auto odd = x % 2 == 1;
  EXPECT_EQ(shown(x.mask_fill(odd, -1)), "[[ 0. -1.  2.]\n [-1.  4. -1.]]");
  EXPECT_EQ(shown(x.mask_where(odd, x * 10)), "[[ 0. 10.  2.]\n [30.  4. 50.]]");
  EXPECT_EQ(shown(x.masked_scatter(odd, Tensor<1>::of({7, 8, 9, 10}, best_autodiff()))), "[[0. 7. 2.]\n [8. 4. 9.]]");
  const auto [rows, columns] = odd.nonzero();
  EXPECT_EQ(shown(rows) + shown(columns), "[0 1 1][1 0 2]");
  EXPECT_EQ(shown(odd.argwhere()), "[[0 1]\n [1 0]\n [1 2]]");
  Tensor<2> hot = places({1, 0, 3}).one_hot_fill(2, 0.9, 0.1, 0);
  EXPECT_EQ(shown(hot), "[[0.1 0.9 0.1]\n [0.9 0.1 0.1]]");
}

}  // namespace
}  // namespace kiln
