// Factors and solutions of matrices of all sizes around blocks: what they stand for, multiplied out in float64, is the matrix.
#include <cmath>

#include "kiln/core/error/error.hpp"
#include "kiln/core/parallel.hpp"
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

const std::int64_t kSizes[] = {1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 48, 49, 70, 130};
double tolerance(DType dtype) { return dtype == DType::F64 ? 1e-12 : 1e-4; }

/// Row-major, as a loop sees it.
struct Matrix {
  std::int64_t rows, columns;
  std::vector<double> numbers;
  double& operator()(std::int64_t i, std::int64_t j) { return numbers[static_cast<std::size_t>(i * columns + j)]; }
  double operator()(std::int64_t i, std::int64_t j) const { return numbers[static_cast<std::size_t>(i * columns + j)]; }
  Value value(DType dtype) const { return tensor(dtype, {rows, columns}, numbers); }
};
Matrix random_matrix(std::int64_t m, std::int64_t n, std::uint64_t seed) {
  return {m, n, rounded(DType::F32, random_numbers(m * n, -1, 1, seed))};
}
/// Far from singular, the diagonal in an order that needs interchanges where `mixed`.
Matrix solid_matrix(std::int64_t n, bool mixed) {
  Matrix a = random_matrix(n, n, 3);
  for (std::int64_t i = 0; i < n; ++i) a(i, mixed ? (i + n / 2 + 1) % n : i) += static_cast<double>(2 * n);
  return a;
}
Matrix matrix_of(const Value& value) { return {value.dim(-2), value.dim(-1), numbers(value)}; }
Matrix multiplied(const Matrix& a, const Matrix& b) {
  Matrix c{a.rows, b.columns, std::vector<double>(static_cast<std::size_t>(a.rows * b.columns), 0.0)};
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < a.columns; ++k)
      for (std::int64_t j = 0; j < b.columns; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}
void expect_near(const Matrix& actual, const Matrix& expected, double tolerance) {
  double largest = 1;
  for (const double number : expected.numbers) largest = std::max(largest, std::abs(number));
  expect_close(actual.numbers, expected.numbers, 0, tolerance * largest);
}

TEST(SimdLinalg, FactorsMatricesOfAnyShapeByPivoting) {
  for_each_target([] {
    for (const DType dtype : {DType::F32, DType::F64})
      for (const std::int64_t size : kSizes)
        for (const auto& [m, n] : {std::pair{size, size}, std::pair{size + 9, size}, std::pair{size, size + 40}}) {
          SCOPED_TRACE(text(dtype, " ", m, " x ", n));
          const Matrix a = random_matrix(m, n, 1);
          const Value in = a.value(dtype);
          const Matrix packed = matrix_of(run_op(op::Lu{}, {in}, 3, op::Lu::packed));
          const std::vector<double> places = numbers(run_op(op::Lu{}, {in}, 3, op::Lu::permutation));
          const std::int64_t k = std::min(m, n);
          Matrix l{m, k, std::vector<double>(static_cast<std::size_t>(m * k), 0.0)};
          Matrix u{k, n, std::vector<double>(static_cast<std::size_t>(k * n), 0.0)}, permuted = a;
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              if (j < i && j < k) {
                l(i, j) = packed(i, j);
                EXPECT_LE(std::abs(packed(i, j)), 1);
              }
              if (i <= j && i < k) u(i, j) = packed(i, j);
              permuted(i, j) = a(static_cast<std::int64_t>(places[static_cast<std::size_t>(i)]), j);
            }
          for (std::int64_t i = 0; i < k; ++i) l(i, i) = 1;
          expect_near(multiplied(l, u), permuted, tolerance(dtype));
          // The sign is that of the permutation: 1 for an even number of pairs out of order.
          bool odd = false;
          for (std::size_t i = 0; i < places.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) odd ^= places[j] > places[i];
          EXPECT_EQ(numbers(run_op(op::Lu{}, {in}, 3, op::Lu::sign)), std::vector<double>{odd ? -1.0 : 1.0});
        }
  });
}

TEST(SimdLinalg, FindsCholeskyFactors) {
  for_each_target([] {
    for (const DType dtype : {DType::F32, DType::F64})
      for (const std::int64_t n : kSizes) {
        SCOPED_TRACE(text(dtype, " ", n));
        const Matrix b = random_matrix(n, n, 2);
        Matrix turned = b;
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j) turned(i, j) = b(j, i);
        Matrix a = multiplied(b, turned), garbage = a;
        for (std::int64_t i = 0; i < n; ++i) {
          a(i, i) += 1, garbage(i, i) += 1;
          for (std::int64_t j = i + 1; j < n; ++j) garbage(i, j) = NAN;  // is not read
        }
        Matrix l = matrix_of(run_op(op::Cholesky{}, {garbage.value(dtype)})), back = l;
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            if (j > i) { EXPECT_EQ(l(i, j), 0); }
            back(i, j) = l(j, i);
          }
        expect_near(multiplied(l, back), a, tolerance(dtype));
        a(n - 1, n - 1) = -1;
        EXPECT_THROW(run_op(op::Cholesky{}, {a.value(dtype)}), ArgumentError);
      }
  });
}

TEST(SimdLinalg, FindsOrthogonalFactors) {
  for_each_target([] {
    for (const DType dtype : {DType::F32, DType::F64})
      for (const std::int64_t size : kSizes)
        for (const auto& [m, n] : {std::pair{size, size}, std::pair{size + 9, size}, std::pair{size, size + 40}})
          for (const bool complete : {false, true})
            for (const double scale : {1.0, 1e-35, 1e35}) {
              if (scale != 1 && size > 5) continue;
              SCOPED_TRACE(text(dtype, " ", m, " x ", n, complete ? " complete" : "", " times ", scale));
              Matrix a = random_matrix(m, n, 4);
              for (std::int64_t i = 0; i < m && n > 2; ++i)
                a(i, n / 2) = a(i, 0), a(i, 1) = 0;  // of less than full rank
              for (double& number : a.numbers) number = rounded(DType::F32, {number * scale})[0];
              const Matrix q = matrix_of(run_op(op::Qr{complete}, {a.value(dtype)}, 2, op::Qr::q)),
                           r = matrix_of(run_op(op::Qr{complete}, {a.value(dtype)}, 2, op::Qr::r));
              Matrix turned{q.columns, q.rows, q.numbers}, identity{q.columns, q.columns, {}},
                  product = multiplied(q, r);
              identity.numbers.resize(static_cast<std::size_t>(q.columns * q.columns));
              for (std::int64_t i = 0; i < q.columns; ++i) {
                identity(i, i) = 1;
                for (std::int64_t j = 0; j < q.rows; ++j) turned(i, j) = q(j, i);
                for (std::int64_t j = 0; j < n; ++j)
                  if (j < i) { EXPECT_EQ(r(i, j), 0); }
                if (i < n) { EXPECT_GE(r(i, i), 0); }
              }
              expect_near(multiplied(turned, q), identity, tolerance(dtype) / 10);
              for (double& number : product.numbers) number /= scale;
              for (double& number : a.numbers) number /= scale;
              expect_near(product, a, tolerance(dtype) / 10);
            }
  });
}

TEST(SimdLinalg, SolvesForAnyNumberOfColumns) {
  for_each_target([] {
    for (const DType dtype : {DType::F32, DType::F64})
      for (const std::int64_t n : kSizes) {
        const Matrix a = solid_matrix(n, true);
        for (const std::int64_t columns : {1, 3, 4, 7, 32, 37}) {
          SCOPED_TRACE(text(dtype, " ", n, " columns ", columns));
          const Matrix b = random_matrix(n, columns, 5);
          expect_near(multiplied(a, matrix_of(run_op(op::Solve{}, {a.value(dtype), b.value(dtype)}))), b,
                      tolerance(dtype));
        }
        Matrix identity{n, n, std::vector<double>(static_cast<std::size_t>(n * n), 0.0)};
        for (std::int64_t i = 0; i < n; ++i) identity(i, i) = 1;
        expect_near(multiplied(a, matrix_of(run_op(op::Solve{}, {a.value(dtype), Value()}))), identity,
                    tolerance(dtype));
      }
  });
}

TEST(SimdLinalg, DividesByTriangles) {
  for_each_target([] {
    for (const DType dtype : {DType::F32, DType::F64})
      for (const std::int64_t n : kSizes)
        for (const bool upper : {false, true})
          for (const bool unit : {false, true}) {
            SCOPED_TRACE(text(dtype, " ", n, upper ? " upper" : " lower", unit ? " unit" : ""));
            Matrix whole = solid_matrix(n, false), triangle = whole;
            for (double& number : whole.numbers)
              if (unit) number = rounded(DType::F32, {number / static_cast<double>(4 * n)})[0];
            for (std::int64_t i = 0; i < n; ++i)
              for (std::int64_t j = 0; j < n; ++j)
                triangle(i, j) = i == j ? (unit ? 1 : whole(i, j)) : (i < j) == upper ? whole(i, j) : 0;
            const Matrix b = random_matrix(n, 37, 6);
            const Value x =
                run_op(op::TriangularSolve{.upper = upper, .unit = unit}, {whole.value(dtype), b.value(dtype)});
            expect_near(multiplied(triangle, matrix_of(x)), b, tolerance(dtype));
          }
  });
}

TEST(SimdLinalg, TellsWhatIsSingularAndKeepsWhatIsNoNumber) {
  const Value singular = tensor(DType::F32, {2, 2}, {1, 2, 2, 4}), b = tensor(DType::F32, {2, 1}, {1, 1});
  EXPECT_THROW(run_op(op::Solve{}, {singular, b}), ArgumentError);
  const Value zero = tensor(DType::F32, {2, 2}, {1, 0, 3, 0});
  EXPECT_THROW(run_op(op::TriangularSolve{}, {zero, b}), ArgumentError);
  for (const double number : numbers(run_op(op::Solve{}, {tensor(DType::F32, {2, 2}, {1, NAN, 0, 1}), b})))
    EXPECT_TRUE(std::isnan(number) || number == 1) << number;
}

TEST(SimdLinalg, TakesNothing) {
  const Value none = tensor(DType::F32, {3, 0, 0}, {});
  EXPECT_EQ(run_op(op::Cholesky{}, {none}).shape(), (Shape{3, 0, 0}));
  EXPECT_EQ(run_op(op::Qr{true}, {tensor(DType::F32, {3, 2, 0}, {})}, 2).shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(run_op(op::Qr{}, {tensor(DType::F32, {3, 0, 2}, {})}, 2, op::Qr::r).shape(), (Shape{3, 0, 2}));
  EXPECT_EQ(run_op(op::Solve{}, {none, tensor(DType::F32, {3, 0, 2}, {})}).shape(), (Shape{3, 0, 2}));
  EXPECT_EQ(
      run_op(op::TriangularSolve{}, {tensor(DType::F32, {2, 2}, {1, 0, 0, 1}), tensor(DType::F32, {2, 0}, {})}).shape(),
      (Shape{2, 0}));
  EXPECT_EQ(numbers(run_op(op::Lu{}, {tensor(DType::F32, {2, 0}, {})}, 3, op::Lu::permutation)),
            (std::vector<double>{0, 1}));
}

TEST(SimdLinalg, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = num_threads();
  const Value a = tensor(DType::F32, {300, 20, 20}, random_numbers(300 * 400, -1, 1, 9));
  set_num_threads(1);
  const std::vector<double> one = numbers(run_op(op::Solve{}, {a, Value()}));
  for (const int threads : {2, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(numbers(run_op(op::Solve{}, {a, Value()})), one);
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace kiln::cpu::simd
