// Products and norms as users write them; expected values by hand.
#include "kiln/tensor/products.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/text/format.hpp"
#include "kiln/tensor/vector_norm.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::autodiff;

TEST(Products, OfVectors) {
  const auto x = Tensor<1>::of({1, 2, 3}, autodiff), y = Tensor<1>::of({4, 5, 6}, autodiff);
  EXPECT_EQ(dot(x, y).item(), 32);
  EXPECT_EQ(to_text(cross(x, y)), "[-3.  6. -3.]");
  EXPECT_EQ(to_text(outer(x, y)(0)), "[4. 5. 6.]");
  EXPECT_EQ(to_text(kron(x, Tensor<1, Int>::of({1, 10}, autodiff))), "[ 1. 10.  2. 20.  3. 30.]");
  EXPECT_EQ(dot(Tensor<1, Int>::of({1, 2}, autodiff), Tensor<1, Int>::of({3, 4}, autodiff)).item(), 11);
}

TEST(Products, OfMatricesAndVectors) {
  const auto a = Tensor<2>::of({{1, 2}, {3, 4}}, autodiff);
  const auto x = Tensor<1>::of({1, -1}, autodiff);
  EXPECT_EQ(to_text(matvec(a, x)), "[-1. -1.]");
  EXPECT_EQ(to_text(addmv(x, a, x, {.beta = 2, .alpha = -1})), "[ 3. -1.]");
  EXPECT_EQ(to_text(addmm(x, a, a)), "[[ 8.  9.]\n [16. 21.]]");
  EXPECT_EQ(multi_dot(x, a, a, x).item(), 4);
  EXPECT_EQ(to_text(multi_dot(a, a, x)), "[-3. -7.]");
}

TEST(Products, ShortNamesOfFixedRanks) {
  const auto a = Tensor<2>::of({{1, 2}, {3, 4}}, autodiff);
  const auto x = Tensor<1>::of({1, 2}, autodiff), y = Tensor<1>::of({1, -1}, autodiff);
  EXPECT_EQ(to_text(mm(a, a)), "[[ 7. 10.]\n [15. 22.]]");
  const Tensor<3> batch = stack({a, a});
  EXPECT_EQ(to_text(bmm(batch, batch)(1)), to_text(mm(a, a)));
  EXPECT_EQ(to_text(baddbmm(batch, batch, batch, {.beta = -1})(0)), "[[ 6.  8.]\n [12. 18.]]");
  EXPECT_EQ(to_text(addr(a, x, y)), "[[2. 1.]\n [5. 2.]]");
  EXPECT_EQ(vdot(a, a).item(), 30);
  EXPECT_EQ(to_text(vecdot(a, x)), "[ 5. 11.]");
}

TEST(Norms, OfVectorsAlongADimension) {
  const auto x = Tensor<2>::of({{3, -4}, {0, 2}}, autodiff);
  EXPECT_EQ(to_text(lp_norm(x, 1, 1)), "[7. 2.]");
  EXPECT_EQ(to_text(l0_norm(x, 1)), "[2. 1.]");
  EXPECT_EQ(to_text(l1_norm(x, 0)), "[3. 6.]");
  EXPECT_EQ(to_text(l2_norm(x, 1)), "[5. 2.]");
  EXPECT_EQ(to_text(max_abs_norm(x, 1)), "[4. 2.]");
  EXPECT_EQ(to_text(min_abs_norm(x, 1)), "[3. 0.]");
  EXPECT_FLOAT_EQ(matrix_norm(x).item(), std::sqrt(29.0f));
  EXPECT_FLOAT_EQ(matrix_norm(x, MatrixNorm::One).item(), 6);
}

TEST(Products, AnAddendThatCountsForNothingIsNotRead) {
  const auto a = eye(2, autodiff);
  EXPECT_EQ(to_text(addmm(full({2, 2}, NAN, autodiff), a, a, {.beta = 0})), "[[1. 0.]\n [0. 1.]]");
}

TEST(Products, Tensordot) {
  const auto a = arange(24, autodiff).reshape(2, 3, 4);
  const auto b = arange(12, autodiff).reshape(3, 4);
  EXPECT_EQ(to_text(tensordot<2>(a, b)), "[ 506 1298]");
  EXPECT_EQ(to_text(tensordot(a, b, {1, 2}, {0, 1})), "[ 506 1298]");
}

TEST(Products, Einsum) {
  const auto a = Tensor<2>::of({{1, 2}, {3, 4}}, autodiff).require_grad();
  EXPECT_EQ(einsum<0>("ii", a).item(), 5);
  EXPECT_EQ(to_text(einsum<2>("ij,kj->ik", a, a)), "[[ 5. 11.]\n [11. 25.]]");
  EXPECT_EQ(to_text(einsum<0>("ij,ij->", a, a).backward().of(a)), "[[2. 4.]\n [6. 8.]]");
  const Tensor<1, Int> counts = einsum<1>("ij->i", a > 1);
  EXPECT_EQ(to_text(counts), "[1 2]");
}

TEST(Products, EinsumOfManyOperandsKeepsIntermediateResultsSmall) {
  // In the order written, the first product alone would have 10^12 elements.
  const auto x = ones({1000000}, autodiff);
  EXPECT_EQ(einsum<0>("i,j,i,j->", x, x, x, x).item(), 1e12f);
}

TEST(Norms, OfVectors) {
  const auto x = Tensor<2>::of({{3, -4}, {0, 0}}, autodiff).require_grad();
  EXPECT_EQ(to_text(vector_norm(x, 2, -1)), "[5. 0.]");
  EXPECT_EQ(to_text(vector_norm(keep, x, kInfinity, -1)), "[[4.]\n [0.]]");
  EXPECT_EQ(vector_norm(x).item(), 5);
  EXPECT_EQ(to_text(l0_norm(x, 1)), "[2. 0.]");
  EXPECT_EQ(to_text(vector_norm(x, 2, -1).sum().backward().of(x)), "[[ 0.6 -0.8]\n [ 0.   0. ]]");
  EXPECT_EQ(to_text(vector_normalize(x)), "[[ 0.6 -0.8]\n [ 0.   0. ]]");
  EXPECT_EQ(vector_norm(Tensor<1, Int>::of({3, 4}, autodiff)).item(), 5);
  EXPECT_EQ(vector_norm(full({4}, 300, autodiff, DType::F16)).item(), 600) << "squares beyond float16";
  EXPECT_TRUE(std::isnan(vector_norm(Tensor<1>::of({1, NAN}, autodiff)).item()));
  EXPECT_EQ(vector_norm(Tensor<1>::of({1, -INFINITY}, autodiff)).item(), INFINITY);
}

TEST(Norms, Distances) {
  const auto x = Tensor<2>::of({{0, 0}, {3, 4}}, autodiff).require_grad();
  const auto d = cdist(x, x);
  EXPECT_EQ(to_text(d), "[[0. 5.]\n [5. 0.]]");
  EXPECT_EQ(to_text(d.sum().backward().of(x)), "[[-1.2 -1.6]\n [ 1.2  1.6]]")
      << "zero where points fall together: their own distance has no slope";
  EXPECT_EQ(to_text(cdist(x, x, 2, /*through_matmul=*/true)), "[[0. 5.]\n [5. 0.]]");
  EXPECT_EQ(to_text(pairwise_distance(x, x.flip(0), 1)), "[7. 7.]");
  EXPECT_EQ(cosine_similarity(x, ones({2}, autodiff))(0).item(), 0);
  EXPECT_NEAR(cosine_similarity(x, ones({2}, autodiff))(1).item(), 7 / (5 * std::sqrt(2.0)), 1e-6);
}

TEST(Norms, DistancesOfManyRowsAreTakenInParts) {
  const auto x = arange(3000, autodiff).to_float().unsqueeze(1).require_grad(),
             y = zeros({2000, 1}, autodiff).require_grad();
  const auto d = cdist(x, y);
  EXPECT_EQ(d.shape(), (Shape{3000, 2000}));
  EXPECT_EQ(d(2999, 1999).item(), 2999);
  const auto sum = d.sum();
  EXPECT_NEAR(sum.item<double>() / (2000.0 * 2999 * 3000 / 2), 1, 1e-6);
  const Gradients gradients = sum.backward();
  EXPECT_EQ(gradients.of(x)(0, 0).item(), 0);
  EXPECT_NEAR(gradients.of(x).narrow(0, 1, 2999).min().item(), 2000, 1e-2);
  EXPECT_NEAR(gradients.of(x).max().item(), 2000, 1e-2);
  EXPECT_NEAR(gradients.of(y).min().item(), -2999, 1e-2);
  EXPECT_NEAR(gradients.of(y).max().item(), -2999, 1e-2);
}

}  // namespace
}  // namespace kiln
