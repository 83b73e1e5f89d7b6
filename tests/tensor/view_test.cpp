// Views, diagonals, margins and grids, as a user writes them; expected values by hand or as NumPy's.
#include <gtest/gtest.h>

#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/diagonal.hpp"
#include "kiln/tensor/text/format.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best_autodiff;
/// 0, 1, 2, ... as [2, 3].
Tensor<2> counted() { return arange(6.0, best_autodiff()).reshape(2, 3); }
std::string shown(const auto& x) { return to_text(x); }
template <class T>
std::string shown(const std::vector<T>& parts) {
  std::string text;
  for (const auto& part : parts) text += to_text(part);
  return text;
}

TEST(Views, DimensionsComeGoAndMove) {
  const auto x = counted();
  Tensor<4> raised = x.unsqueeze(0, -1);
  EXPECT_EQ(raised.shape(), (Shape{1, 2, 3, 1}));
  Tensor<2> back = raised.squeeze(-1, 0);
  EXPECT_EQ(back.shape(), x.shape());
  const auto y = zeros({2, 3, 4}, best_autodiff());
  EXPECT_EQ(y.movedim(0, -1).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(y.movedim({0, 1}, {2, 0}).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(arange(6.0, best_autodiff()).reshape_as(x).shape(), x.shape());
  EXPECT_EQ(arange(3.0, best_autodiff()).expand_as(x).shape(), x.shape());
  const auto [a, b] = broadcast_tensors(ones<Int>({2, 1}, best_autodiff()), arange(3.0, best_autodiff()));
  EXPECT_EQ(shown(a) + shown(b), "[[1 1 1]\n [1 1 1]][[0. 1. 2.]\n [0. 1. 2.]]");
}

TEST(Views, DropAllDimensionsOfSizeOne) {
  const auto x = Tensor<4>::of({{{{1, 2}}}}, Device::cpu());
  EXPECT_EQ(x.squeeze<1>().to_vector(), (std::vector<float>{1, 2}));
  EXPECT_EQ(Tensor<2>::of({{3}}, Device::cpu()).squeeze<0>().item(), 3);
  EXPECT_THROW(x.squeeze<2>(), ShapeError);
}

TEST(Views, TurnAndRepeat) {
  const auto x = counted();
  EXPECT_EQ(shown(x.fliplr()), "[[2. 1. 0.]\n [5. 4. 3.]]");
  EXPECT_EQ(shown(x.flipud()), "[[3. 4. 5.]\n [0. 1. 2.]]");
  EXPECT_EQ(shown(x.rot90()), "[[2. 5.]\n [1. 4.]\n [0. 3.]]");
  EXPECT_EQ(shown(x.rot90(-1)), "[[3. 0.]\n [4. 1.]\n [5. 2.]]");
  EXPECT_EQ(shown(x.roll({1, 1}, {0, 1})), "[[5. 3. 4.]\n [2. 0. 1.]]");
  Tensor<2> tiled = arange(2.0, best_autodiff()).tile(2, 2);
  EXPECT_EQ(shown(tiled), "[[0. 1. 0. 1.]\n [0. 1. 0. 1.]]");
  EXPECT_EQ(shown(x.repeat_interleave(2, 0)), "[[0. 1. 2.]\n [0. 1. 2.]\n [3. 4. 5.]\n [3. 4. 5.]]");
  EXPECT_EQ(shown(x.repeat_interleave(Tensor<1, Int>::of({0, 2, 1}, best_autodiff()), 1)), "[[1. 1. 2.]\n [4. 4. 5.]]");
}

TEST(Views, CutIntoParts) {
  const auto x = arange(5.0, best_autodiff());
  EXPECT_EQ(shown(x.tensor_split(3)), "[0. 1.][2. 3.][4.]");
  EXPECT_EQ(shown(x.split_with_sizes({1, 4})), "[0.][1. 2. 3. 4.]");
  EXPECT_EQ(shown(x.split_at({2, 3})), "[0. 1.][2.][3. 4.]");
  EXPECT_EQ(shown(counted().unbind(1)), "[0. 3.][1. 4.][2. 5.]");
  EXPECT_EQ(shown(counted().at(0, -1)), "[3. 4. 5.]");
  EXPECT_EQ(shown(counted().slice_dim(1, s({}, {}, -2))), "[[2. 0.]\n [5. 3.]]");
}

TEST(Views, WindowsUnfoldAndFoldBack) {
  const auto x = arange(5.0, best_autodiff());
  Tensor<2> windows = x.unfold(0, 3, 1);
  EXPECT_EQ(shown(windows), "[[0. 1. 2.]\n [1. 2. 3.]\n [2. 3. 4.]]");
  Tensor<1> sums = windows.fold(0, 5, 1);
  EXPECT_EQ(shown(sums), "[0. 2. 6. 6. 4.]") << "each element as often as a window shows it";
}

TEST(Diagonals, OfMatricesAndBack) {
  const auto x = counted();
  Tensor<1> diagonal = x.diagonal(1);
  EXPECT_EQ(shown(diagonal), "[1. 5.]");
  EXPECT_EQ(shown(diag(diagonal, -1)), "[[0. 0. 0.]\n [1. 0. 0.]\n [0. 5. 0.]]");
  EXPECT_EQ(shown(diag(x)), "[0. 4.]");
  Tensor<3> stack = x.diag_embed();
  EXPECT_EQ(stack.shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(shown(stack.trace()), "[ 3. 12.]");
  EXPECT_EQ(shown(x.triu()), "[[0. 1. 2.]\n [0. 4. 5.]]");
  EXPECT_EQ(shown(x.tril(-1)), "[[0. 0. 0.]\n [3. 0. 0.]]");
  EXPECT_EQ(shown(triu_mask({2, 3}, best_autodiff(), 1)), "[[false  true  true]\n [false false  true]]");
  EXPECT_EQ(shown(tril_mask({2, 2}, best_autodiff())), "[[ true false]\n [ true  true]]");
  EXPECT_EQ(shown(diag_mask({2, 2}, best_autodiff())), "[[ true false]\n [false  true]]");
}

// Its columns have numbers that floats do not hold.
TEST(Diagonals, OfVeryLongRows) {
  constexpr std::int64_t columns = (1 << 24) + 4;
  const Tensor<2, Bool> mask = diag_mask({1, columns}, Device::cpu(), columns - 3);
  EXPECT_EQ(shown(mask.narrow(1, columns - 4, 4)), "[[false  true false false]]");
}

TEST(Margins, ContinueTheTensor) {
  const auto x = arange(3.0, best_autodiff());
  EXPECT_EQ(shown(x.pad({2}, {1}, PadMode::Reflect)), "[2. 1. 0. 1. 2. 1.]");
  EXPECT_EQ(shown(x.pad({2}, {1}, PadMode::Edge)), "[0. 0. 0. 1. 2. 2.]");
  EXPECT_EQ(shown(x.pad({2}, {1}, PadMode::Circular)), "[1. 2. 0. 1. 2. 0.]");
  EXPECT_EQ(shown(x.pad({2}, {1}, PadMode::Constant)), "[0. 0. 0. 1. 2. 0.]");
}

TEST(Assembling, StacksInEveryDirection) {
  const auto a = Tensor<1>::of({1, 2}, best_autodiff()), b = Tensor<1>::of({3, 4}, best_autodiff());
  EXPECT_EQ(shown(hstack({a, b})), "[1. 2. 3. 4.]");
  EXPECT_EQ(shown(vstack(std::vector{a, b})), "[[1. 2.]\n [3. 4.]]");
  Tensor<3> deep = dstack({a, b});
  EXPECT_EQ(shown(deep), "[[[1. 3.]\n  [2. 4.]]]");
  EXPECT_EQ(shown(block_diag(a.unsqueeze(0), b.unsqueeze(1))), "[[1. 2. 0.]\n [0. 0. 3.]\n [0. 0. 4.]]");
}

TEST(Grids, OfVectors) {
  const auto x = Tensor<1>::of({1, 2}, best_autodiff()), y = Tensor<1>::of({3, 4, 5}, best_autodiff());
  const auto [i, j] = meshgrid(x, y);
  EXPECT_EQ(shown(i) + shown(j), "[[1. 1. 1.]\n [2. 2. 2.]][[3. 4. 5.]\n [3. 4. 5.]]");
  EXPECT_EQ(meshgrid<GridOrder::XY>(x, y)[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(meshgrid_stack(x, y).shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(shown(cartesian_prod(x, y)), "[[1. 3.]\n [1. 4.]\n [1. 5.]\n [2. 3.]\n [2. 4.]\n [2. 5.]]");
  Tensor<3, Int> grid = cartesian_grid({1, 2}, best_autodiff());
  EXPECT_EQ(shown(grid), "[[[0 0]\n  [0 1]]]");
  EXPECT_EQ(shown(combinations(y)), "[[3. 4.]\n [3. 5.]\n [4. 5.]]");
  EXPECT_EQ(combinations(y, 2, true).shape(), (Shape{6, 2}));
}

}  // namespace
}  // namespace kiln
