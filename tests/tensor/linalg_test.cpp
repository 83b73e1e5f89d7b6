// Linear algebra as users write it. Expected values by hand, or by putting together what was taken apart.
#include "kiln/tensor/linalg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kiln/core/parallel.hpp"
#include "kiln/core/random.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/text/format.hpp"
#include "kiln/tensor/vector_norm.hpp"
#include "tests/support/devices.hpp"
#include "tests/tensor/apart.hpp"

namespace kiln {
namespace {

using test::apart;
using test::autodiff;
using test::from_orthonormal;
using test::of_rows;

/// Every size and element type on both devices.
class Sizes : public testing::TestWithParam<std::tuple<std::int64_t, DType, const char*>> {
 protected:
  std::int64_t n = std::get<0>(GetParam());
  DType dtype = std::get<1>(GetParam());
  Device where = Device::parse(std::get<2>(GetParam())).autodiff();
  double tolerance = (dtype == DType::F64 ? 1e-12 : 1e-4) * static_cast<double>(1 + n) / 4;

  Tensor<3> draw(std::int64_t rows, std::int64_t columns) const {
    return uniform({2, rows, columns}, -1, 1, where, Key{7}).to(dtype);
  }
  Tensor<2> one() const { return eye(n, where, dtype); }
  Tensor<3> definite() const {
    const Tensor<3> x = draw(n, n);
    return x.matmul(x.transpose()) + one();
  }
};

TEST_P(Sizes, CholeskyMultipliesBack) {
  const Tensor<3> a = definite(), l = cholesky(a);
  EXPECT_LT(apart(l.matmul(l.transpose()), a), tolerance);
  EXPECT_LT(apart(a.matmul(cholesky_solve(l, draw(n, 3))), draw(n, 3)), tolerance);
}

TEST_P(Sizes, LuMultipliesBack) {
  for (const std::int64_t extra : {0, 2}) {
    for (const Tensor<3>& a : {draw(n + extra, n), draw(n, n + extra)}) {
      const auto [p, l, u] = lu(a);
      EXPECT_LT(apart(p.matmul(l).matmul(u), a), tolerance);
      EXPECT_LE(l.numel() == 0 ? 0 : l.abs().max().item<double>(), 1) << "pivots are the largest";
    }
  }
  const Tensor<3> a = draw(n, n) + one() * 2.0 * static_cast<double>(n);
  EXPECT_LT(apart(a.matmul(lu_solve(lu_factor(a), draw(n, 2))), draw(n, 2)), tolerance);
}

TEST_P(Sizes, QrMultipliesBackFromOrthonormalColumns) {
  for (const std::int64_t extra : {0, 2}) {
    for (const Tensor<3>& a : {draw(n + extra, n), draw(n, n + extra)}) {
      for (const bool complete : {false, true}) {
        const auto [q, r] = qr(a, complete);
        EXPECT_LT(apart(q.matmul(r), a), tolerance);
        EXPECT_LT(from_orthonormal(q), tolerance);
      }
    }
  }
}

TEST_P(Sizes, EighMultipliesBack) {
  const Tensor<3> x = draw(n, n), a = x + x.transpose();
  const auto [w, v] = eigh(a);
  EXPECT_LT(apart((v * w.unsqueeze(1)).matmul(v.transpose()), a), tolerance);
  EXPECT_LT(from_orthonormal(v), tolerance);
  EXPECT_LT(apart(eigvalsh(a), w), tolerance);
  EXPECT_EQ(apart(w.sort(-1).values, w), 0) << "ascending";
}

TEST_P(Sizes, SvdMultipliesBack) {
  for (const std::int64_t extra : {0, 2}) {
    for (const Tensor<3>& a : {draw(n + extra, n), draw(n, n + extra)}) {
      const auto [u, s, vt] = svd(a);
      EXPECT_LT(apart((u * s.unsqueeze(1)).matmul(vt), a), tolerance);
      EXPECT_LT(from_orthonormal(u), tolerance);
      EXPECT_LT(from_orthonormal(vt.transpose()), tolerance);
      EXPECT_LT(apart(svdvals(a), s), tolerance);
      const auto [full_u, same, full_vt] = svd(a, true);
      EXPECT_LT(from_orthonormal(full_u), tolerance);
      EXPECT_LT(from_orthonormal(full_vt), tolerance);
      EXPECT_LT(apart(full_u.narrow(2, 0, s.dim(1)), u), tolerance);
    }
  }
}

TEST_P(Sizes, SolveInverseAndDeterminantAgree) {
  const Tensor<3> a = definite(), b = draw(n, 3);
  EXPECT_LT(apart(a.matmul(solve(a, b)), b), tolerance);
  EXPECT_LT(apart(inverse(a).matmul(b), solve(a, b)), tolerance);
  EXPECT_LT(apart(pinv(a), inverse(a)), tolerance);
  EXPECT_LT(apart(a.matmul(lstsq(a, b)), b), tolerance);
  const auto [sign, log_abs] = slogdet(a);
  EXPECT_EQ(apart(sign, ones_like(sign)), 0);
  EXPECT_LT(apart(log_abs, eigvalsh(a).log().sum(-1)), tolerance);
}

TEST_P(Sizes, TheExponentialOfTheOppositeIsTheInverse) {
  const Tensor<3> a = draw(n, n) * (4.0 / (1.0 + static_cast<double>(n)));
  EXPECT_LT(apart(matrix_exp(a).matmul(matrix_exp(-a)), one().expand<3>(a.shape())), 4 * tolerance);
}

INSTANTIATE_TEST_SUITE_P(Linalg, Sizes,
                         testing::Combine(testing::Values(0, 1, 2, 3, 17, 64), testing::Values(DType::F32, DType::F64),
                                          testing::Values("cpu", "reference")),
                         [](const auto& info) {
                           return text(std::get<0>(info.param), "_", std::get<1>(info.param), "_",
                                       std::get<2>(info.param));
                         });

/// Hilbert's matrix: its condition number is 1.6e13 for 10 rows.
Tensor<2> hilbert(std::int64_t n) {
  const auto i = arange(n, autodiff).to_float(DType::F64);
  return 1.0 / (i.unsqueeze(1) + i + 1.0);
}

TEST(Linalg, IllConditionedMatricesAreSolvedToTheirResidual) {
  const Tensor<2> a = hilbert(10), b = ones({10, 1}, autodiff).to(DType::F64);
  EXPECT_NEAR(cond(a).item<double>() / 1.6025e13, 1, 1e-3);
  EXPECT_LT(apart(a.matmul(solve(a, b)), b), 1e-3);
  EXPECT_LT(apart(a.matmul(lstsq(a, b)), b), 1e-3);
  const auto [q, r] = qr(a);
  EXPECT_LT(from_orthonormal(q), 1e-14);
  EXPECT_LT(apart(q.matmul(r), a), 1e-14);
  const auto [u, s, vt] = svd(a);
  EXPECT_LT(from_orthonormal(u), 1e-14);
  // Choi, "Tricks or treats with the Hilbert matrix" (1983): the determinant of H10 is about 2.1644e-53.
  EXPECT_NEAR(det(a).item<double>() / 2.16418e-53, 1, 1e-2);
  EXPECT_EQ(matrix_rank(a).item(), 10);
  EXPECT_EQ(matrix_rank(a, 1e-6).item(), (s > s(0) * 1e-6).to_int().sum().item());
}

TEST(Linalg, RanksAreInTheTypes) {
  const Tensor<3> a = eye(2, autodiff).expand(4, 2, 2);
  const Tensor<1> d = det(a);
  const Tensor<2> w = eigvalsh(a);
  const Tensor<1, Int> rank = matrix_rank(a);
  const Tensor<2> x = solve(a, ones({2}, autodiff));
  const Tensor<3> y = solve(a, ones({2, 5}, autodiff));
  EXPECT_EQ(to_text(d) + to_text(rank), "[1. 1. 1. 1.][2 2 2 2]");
  EXPECT_EQ(w.shape(), (Shape{4, 2}));
  EXPECT_EQ(x.shape(), (Shape{4, 2}));
  EXPECT_EQ(y.shape(), (Shape{4, 2, 5}));
}

TEST(Linalg, IntegersAndHalvesAreComputedInFloat32) {
  const auto whole = Tensor<2, Int>::of({{2, 0}, {0, 4}}, autodiff);
  EXPECT_EQ(inverse(whole).dtype(), DType::F32);
  EXPECT_EQ(to_text(inverse(whole).abs()), "[[0.5  0.  ]\n [0.   0.25]]");
  EXPECT_EQ(to_text(matrix_power(whole, 3)), "[[ 8  0]\n [ 0 64]]");
  const auto half = whole.to_float(DType::BF16);
  EXPECT_EQ(qr(half).q.dtype(), DType::BF16);
  EXPECT_EQ(det(half).item(), 8);
}

TEST(Linalg, SignsOfVectorsAreChosen) {
  const auto a = Tensor<2>::of({{2, -1}, {-1, 2}}, autodiff);
  EXPECT_EQ(to_text(eigh(a).v.sign()), "[[ 1.  1.]\n [ 1. -1.]]") << "of equal magnitudes the first";
  EXPECT_EQ(to_text(qr(-eye(2, autodiff)).r), "[[1. 0.]\n [0. 1.]]");
  EXPECT_EQ(apart(svd(Tensor<2>::of({{-3, 0}, {0, 2}}, autodiff)).u, eye(2, autodiff)), 0);
}

TEST(Linalg, ConditionNumbersOfSingularMatricesAreInfinite) {
  for (const auto& elements : std::vector<std::vector<double>>{{0, 0, 0, 0}, {1, 0, 0, 0}}) {
    EXPECT_EQ(to_text(cond(of_rows(elements, 2))), "inf");
    EXPECT_EQ(cond(of_rows(elements, 2), MatrixNorm::MinusTwo).item<double>(), 0);
  }
}

// However large or small their elements are, and however many columns depend on each other.
TEST(Linalg, SingularMatricesOfAnySizeAreTakenApart) {
  const std::vector<std::vector<double>> matrices = {{1, 2, 0, 1, 3, 1, 1, 0, 1, 2, 0, 1, 0, 1, 1, 2},
                                                     {1, 2, 3, 4, 2, 4, 6, 8, 3, 6, 9, 12, 4, 8, 12, 16}};
  for (const char* name : {"cpu", "reference"})
    for (const double scale : {1e-300, 1e-160, 1.0, 1e150, 1e290})
      for (const auto& elements : matrices) {
        const Tensor<2> a = of_rows(elements, 4).to_device(Device::parse(name)) * scale;
        const auto [q, r] = qr(a);
        EXPECT_LT(from_orthonormal(q), 1e-14) << name << " " << scale;
        EXPECT_LT(apart(q.matmul(r) / scale, a / scale), 1e-13) << name << " " << scale;
        const auto [u, s, vt] = svd(a);
        EXPECT_LT(from_orthonormal(u), 1e-14) << name << " " << scale;
        EXPECT_LT(apart((u * s.unsqueeze(0)).matmul(vt) / scale, a / scale), 1e-13) << name << " " << scale;
      }
}

/// Matrices of whole numbers and low rank, of rows and columns that get smaller, and of a few numbers of very different
/// sizes.
std::vector<double> unusual(int kind, std::int64_t rows, std::int64_t columns, Random& random) {
  std::vector<double> elements(static_cast<std::size_t>(rows * columns));
  const std::int64_t rank = random.below(std::min(rows, columns) + 1);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      double& x = elements[static_cast<std::size_t>(i * columns + j)];
      if (kind == 0)
        for (std::int64_t k = 0; k < rank; ++k)
          x += static_cast<double>(((i + 2) * (k + 3) * 7 % 5 - 2) * ((k + 1) * (j + 5) * 11 % 7 - 3));
      else if (kind == 1) x = random.uniform(-1, 1) * std::pow(10, -static_cast<double>(2 * i + j));
      else if (random.below(4) == 0) x = std::pow(10, random.uniform(-18, 0));
    }
  return elements;
}

TEST(Linalg, UnusualMatricesAreTakenApart) {
  Random random(Key{11});
  for (int i = 0; i < 90; ++i) {
    const std::int64_t rows = 1 + random.below(18), columns = 1 + random.below(18);
    const std::vector<double> elements = unusual(i % 3, rows, columns, random);
    for (const char* name : {"cpu", "reference"}) {
      const Tensor<2> a = Tensor<2>::of(elements, Shape{rows, columns}, Device::parse(name));
      const double size = std::max(1.0, a.abs().max().item<double>());
      const auto [u, s, vt] = svd(a);
      const auto [q, r] = qr(a);
      EXPECT_LT(from_orthonormal(u), 1e-13) << i << " " << name;
      EXPECT_LT(from_orthonormal(vt.transpose()), 1e-13) << i << " " << name;
      EXPECT_LT(from_orthonormal(q), 1e-13) << i << " " << name;
      EXPECT_LT(apart((u * s.unsqueeze(0)).matmul(vt), a), 1e-13 * size) << i << " " << name;
      EXPECT_LT(apart(q.matmul(r), a), 1e-13 * size) << i << " " << name;
      const Tensor<2> squares = a.matmul(a.transpose());
      const auto [w, v] = eigh(squares);
      EXPECT_LT(from_orthonormal(v), 1e-13) << i << " " << name;
      EXPECT_LT(apart((v * w.unsqueeze(0)).matmul(v.transpose()), squares), 1e-12 * size * size) << i << " " << name;
    }
  }
}

TEST(Linalg, LogarithmsOfDeterminantsDoNotOverflow) {
  const auto a = eye(200, autodiff) * -1e-3;
  EXPECT_EQ(det(a).item(), 0) << "1e-600";
  const auto [sign, log_abs] = slogdet(a);
  EXPECT_EQ(sign.item(), 1);
  EXPECT_NEAR(log_abs.item(), 200 * std::log(1e-3), 1e-2);
  EXPECT_EQ(to_text(slogdet(zeros({2, 2}, autodiff)).log_abs), "-inf");
}

TEST(Linalg, ExponentialsOfEverySize) {
  // A rotation by an angle t; a nilpotent matrix; matrices of very different sizes in one batch.
  const auto turn = [](double t) { return Tensor<2>::of({{0, -t}, {t, 0}}, autodiff).to(DType::F64); };
  const auto batch = matrix_exp(stack({turn(1e-9), turn(1), turn(1000)}));
  int i = 0;
  for (const double t : {1e-9, 1.0, 1000.0}) {
    EXPECT_NEAR(batch(i, 0, 0).item<double>(), std::cos(t), 1e-12);
    EXPECT_NEAR(batch(i++, 1, 0).item<double>(), std::sin(t), 1e-12);
  }
  EXPECT_EQ(to_text(matrix_exp(Tensor<2>::of({{0, 5}, {0, 0}}, autodiff))), "[[1. 5.]\n [0. 1.]]");
  EXPECT_EQ(to_text(matrix_exp(full({1, 1}, 1000, autodiff))), "[[inf]]");
  EXPECT_EQ(to_text(matrix_exp(full({1, 1}, NAN, autodiff))), "[[nan]]");
}

TEST(Linalg, NanPassesThroughEquations) {
  const auto a = Tensor<2>::of({{1, NAN}, {0, 1}}, autodiff);
  EXPECT_TRUE(std::isnan(det(a).item()));
  EXPECT_TRUE(solve(a, ones({2}, autodiff)).is_nan().any().item<bool>());
  EXPECT_TRUE(qr(a).r.is_nan().any().item<bool>());
}

TEST(Linalg, TheBitsDoNotDependOnTheNumberOfThreads) {
  const Tensor<3> x = uniform({400, 24, 24}, -1, 1, autodiff, Key{3}), a = x.matmul(x.transpose()) + eye(24, autodiff);
  const auto results = [&] {
    const auto [q, r] = qr(x);
    const auto [w, v] = eigh(a);
    const auto [u, s, vt] = svd(x);
    const auto [p, l, upper] = lu(x);
    const auto all = [](const auto&... each) { return std::vector<TensorData>{each.data()...}; };
    return all(cholesky(a), p, l, upper, q, r, w, v, u, s, vt, solve(a, x), inverse(a), triangular_solve(a, x));
  };
  const int before = num_threads();
  set_num_threads(1);
  const std::vector<TensorData> first = results();
  for (const int threads : {2, 3, 4, 2}) {
    set_num_threads(threads);
    const std::vector<TensorData> again = results();
    for (std::size_t i = 0; i < first.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(again[i].bytes(), first[i].bytes()))
          << "result " << i << ", " << threads << " threads";
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace kiln
