// Derivatives of functions of matrices as users take them; tests/autodiff/matrices goes through all of them.
#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/gradient.hpp"
#include "kiln/tensor/linalg.hpp"
#include "kiln/tensor/text/format.hpp"
#include "tests/support/sentence.hpp"
#include "tests/tensor/apart.hpp"

namespace kiln {
namespace {

using test::apart;
using test::autodiff;
using test::of_rows;

TEST(LinalgSlopes, TheDeterminantHasItsGradientAtSingularMatrices) {
  // The gradient is the matrix of cofactors, whatever the rank.
  const auto rank_two = Tensor<2>::of({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, autodiff).to(DType::F64).require_grad();
  EXPECT_LT(apart(det(rank_two).backward().of(rank_two),
                  Tensor<2>::of({{-3, 6, -3}, {6, -12, 6}, {-3, 6, -3}}, autodiff).to(DType::F64)),
            1e-12);
  const auto diagonal = Tensor<2>::of({{0, 0, 0}, {0, 3, 0}, {0, 0, -2}}, autodiff).require_grad();
  EXPECT_LT(apart(det(diagonal).backward().of(diagonal), Tensor<2>::of({{-6, 0, 0}, {0, 0, 0}, {0, 0, 0}}, autodiff)),
            1e-5);
  const auto nothing = zeros({3, 3}, autodiff).require_grad();
  EXPECT_EQ(det(nothing).backward().of(nothing).abs().sum().item(), 0);
}

// The second derivative of a determinant of 2 x 2 is constant: of sum(w * cofactors) it is [[w11, -w10], [-w01, w00]].
TEST(LinalgSlopes, TheDeterminantHasItsSecondDerivativeAtSingularMatrices) {
  const Tensor<2> w = of_rows({1, 10, 100, 1000}, 2), right = of_rows({1000, -100, -10, 1}, 2);
  for (const auto& elements :
       std::vector<std::vector<double>>{{1, 2, 3, 4}, {1, 2, 2, 4}, {0, 0, 3, 4}, {0, 0, 0, 0}}) {
    const Tensor<2> x = of_rows(elements, 2).require_grad();
    const Tensor<2> first = grad(det(x), x, {.create_graph = true});
    EXPECT_LT(apart(grad((first * w).sum(), x), right), 1e-9);
  }
}

// [[1, 2, 3], [4, 5, 6], [7, 8, 9]] has the determinant 0, which rounding makes 6.7e-16.
TEST(LinalgSlopes, TheDeterminantHasItsSecondDerivativeNextToSingularMatrices) {
  const Tensor<2> x = of_rows({1, 2, 3, 4, 5, 6, 7, 8, 9}, 3).require_grad();
  const Tensor<2> cofactors = grad(det(x), x, {.create_graph = true});
  EXPECT_LT(apart(grad(cofactors(0, 0), x), of_rows({0, 0, 0, 0, 9, -8, 0, -6, 5}, 3)), 1e-9);
  // The same at the end of a diagonal of ones, which makes it one of five rows.
  std::vector<double> elements(25);
  elements[0] = elements[6] = 1;
  for (std::size_t i = 0; i < 9; ++i) elements[12 + i / 3 * 5 + i % 3] = static_cast<double>(i + 1);
  const Tensor<2> larger = of_rows(elements, 5).require_grad();
  const Tensor<2> some = grad(det(larger), larger, {.create_graph = true});
  const Tensor<2> second = grad(some(2, 2), larger);
  EXPECT_LT(apart(second.narrow(0, 2, 3).narrow(1, 2, 3), of_rows({0, 0, 0, 0, 9, -8, 0, -6, 5}, 3)), 1e-9);
}

TEST(LinalgSlopes, TheDeterminantsDerivativesDoNotDependOnNeighbours) {
  const Tensor<2> w = of_rows({1, 10, 100, 1000}, 2);
  for (const double corner : {5, 4}) {
    const Tensor<3> x = stack({of_rows({2, 0, 0, 2}, 2), of_rows({1, 2, 2, corner}, 2)}).require_grad();
    const Tensor<3> first = grad(det(x).sum(), x, {.create_graph = true});
    EXPECT_LT(apart(grad((first * w).sum(), x)(0), of_rows({1000, -100, -10, 1}, 2)), 1e-9) << corner;
  }
  // The bits of a regular matrix are the same, whatever stands beside it.
  const Tensor<2> regular = uniform({6, 6}, -1, 1, autodiff, Key{5}).to(DType::F64);
  const auto gradient = [&](const Tensor<2>& beside) {
    const Tensor<3> x = stack({beside, regular}).require_grad();
    return Tensor<2>(det(x).sum().backward().of(x)(1));
  };
  EXPECT_EQ(apart(gradient(zeros({6, 6}, autodiff).to(DType::F64)), gradient(eye(6, autodiff, DType::F64))), 0);
}

// The sum of squared eigenvalues is that of the elements of a symmetric matrix: its second derivative along w is 2 w.
TEST(LinalgSlopes, FunctionsOfEqualEigenvaluesHaveTheirSecondDerivatives) {
  const Tensor<2> w = of_rows({1, 2, 2, 3}, 2);
  for (const double last : {4, 1}) {
    const Tensor<2> x = of_rows({1, 0, 0, last}, 2).require_grad();
    const Tensor<2> first = grad(eigvalsh(x).square().sum(), x, {.create_graph = true});
    EXPECT_LT(apart(grad((first * w).sum(), x), w * 2.0), 1e-9) << last;
    const Tensor<2> of_singular = grad(svdvals(x).square().sum(), x, {.create_graph = true});
    EXPECT_LT(apart(grad((of_singular * w).sum(), x), w * 2.0), 1e-9) << last;
  }
}

TEST(LinalgSlopes, EqualEigenvaluesHaveNoDerivativesOfTheirOwn) {
  const auto a = eye(3, autodiff).require_grad();
  EXPECT_EQ(to_text(eigvalsh(a).sum().backward().of(a)), "[[1. 0. 0.]\n [0. 1. 0.]\n [0. 0. 1.]]");
  EXPECT_EQ(to_text(svd(a).s.sum().backward().of(a)), "[[1. 0. 0.]\n [0. 1. 0.]\n [0. 0. 1.]]");
  EXPECT_EQ(to_text(eigvalsh(a)(0).backward().of(a).is_nan().all()), "true");
  EXPECT_EQ(to_text(eigh(a).v.sum().backward().of(a).is_nan().all()), "true") << "nor have their vectors";
}

TEST(LinalgSlopes, GradientsThatDoNotExistAreErrors) {
  const auto tall = ones({3, 2}, autodiff).require_grad();
  EXPECT_EQ(sentence_of([&] { svd(tall, true).s.sum().backward(); }),
            "AutodiffError: svd: the full form of [3, 2] has no gradient, because the vectors that complete u or vt "
            "are not unique; use the reduced form");
  EXPECT_EQ(sentence_of([&] { qr(tall, true).r.sum().backward(); }),
            "AutodiffError: qr: the complete form of [3, 2] has no gradient, because the columns that complete q are "
            "not unique; use the reduced form");
}

}  // namespace
}  // namespace kiln
