// Batches of small matrices in lanes: what is found multiplies out to the matrix, in float64, and spectra are those that the
// matrices were made with.
#include <algorithm>
#include <cmath>

#include "kiln/core/error/error.hpp"
#include "kiln/core/parallel.hpp"
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;
using Numbers = std::vector<double>;

const int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 11, 16};
const int64_t kCounts[] = {4, 21};  // fewer than some vectors have lanes, and some more than a group
double tolerance(DType dtype) { return dtype == DType::F64 ? 1e-13 : 4e-6; }

Numbers zeros(int64_t count) { return Numbers(static_cast<std::size_t>(count), 0.0); }
double& at(Numbers& x, int64_t i) { return x[static_cast<std::size_t>(i)]; }
double at(const Numbers& x, int64_t i) { return x[static_cast<std::size_t>(i)]; }
Numbers part(const Numbers& x, int64_t i, int64_t count) {
  return {x.begin() + i * count, x.begin() + (i + 1) * count};
}
/// a [m, k] b [k, n]
Numbers multiplied(const Numbers& a, const Numbers& b, int64_t m, int64_t k, int64_t n) {
  Numbers c = zeros(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j) at(c, i * n + j) += at(a, i * k + l) * at(b, l * n + j);
  return c;
}
Numbers turned(const Numbers& a, int64_t m, int64_t n) {
  Numbers result = zeros(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) at(result, j * m + i) = at(a, i * n + j);
  return result;
}
Numbers identity(int64_t n) {
  Numbers result = zeros(n * n);
  for (int64_t i = 0; i < n; ++i) at(result, i * n + i) = 1;
  return result;
}
/// A reflection in any direction: orthogonal.
Numbers mirror(int64_t n, std::uint64_t seed) {
  const Numbers v = random_numbers(n, -1, 1, seed);
  double square = 0;
  for (const double x : v) square += x * x;
  Numbers result = identity(n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) at(result, i * n + j) -= 2 * at(v, i) * at(v, j) / square;
  return result;
}
/// u diag(s) v for orthogonal u [m, m] and v [n, n].
Numbers composed(const Numbers& u, const Numbers& s, const Numbers& v, int64_t m, int64_t n) {
  Numbers scaled = zeros(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < std::min(m, n); ++j) at(scaled, i * n + j) = at(u, i * m + j) * at(s, j);
  return multiplied(scaled, v, m, n, n);
}
/// Spectra of all kinds, one after the other: apart, alike, some alike, of little rank, over many magnitudes, none, tiny, huge.
Numbers spectrum(int64_t kind, int64_t n) {
  Numbers result = random_numbers(n, 0.1, 1, static_cast<std::uint64_t>(kind + 1));
  for (int64_t i = 0; i < n; ++i) {
    double& x = at(result, i);
    if (kind % 8 == 1) x = 0.75;
    if (kind % 8 == 2) x = i % 2 ? 0.5 : 0.25;
    if (kind % 8 == 3) x = i == n / 2 ? 1 : 0;
    if (kind % 8 == 4) x = std::pow(0.1, static_cast<double>(i));
    if (kind % 8 == 5) x = 0;
    if (kind % 8 == 6) x *= 1e-30;
    if (kind % 8 == 7) x *= 1e30;
  }
  return result;
}
double largest(const Numbers& x) {
  double result = 0;
  for (const double number : x) result = std::max(result, std::abs(number));
  return result;
}
/// A batch, by rows or by columns.
Value batch(DType dtype, const Numbers& numbers, int64_t count, int64_t m, int64_t n, bool by_columns) {
  return tensor(dtype, {count, m, n}, numbers, by_columns ? Dims{0, 2, 1} : Dims{0, 1, 2});
}
void append(Numbers& all, const Numbers& more) { all.insert(all.end(), more.begin(), more.end()); }

void for_each_batch(const std::function<void(DType, int64_t count, bool by_columns)>& body) {
  for_each_target([&] {
    for (const DType dtype : {DType::F32, DType::F64})
      for (const int64_t count : kCounts)
        for (const bool by_columns : {false, true}) body(dtype, count, by_columns);
  });
}

TEST(SimdLinalgBatch, FindsCholeskyFactors) {
  for_each_batch([](DType dtype, int64_t count, bool by_columns) {
    for (const int64_t n : kSizes) {
      SCOPED_TRACE(text(dtype, " ", n, " count ", count, by_columns ? " by columns" : ""));
      Numbers all, garbage;
      for (int64_t i = 0; i < count; ++i) {
        const Numbers u = mirror(n, static_cast<std::uint64_t>(i + 1));
        append(all, composed(u, random_numbers(n, 0.1, 1, 5), u, n, n));
      }
      all = rounded(DType::F32, all);
      for (int64_t k = 0; k < count * n * n; ++k) {
        const int64_t row = k / n % n, column = k % n;
        if (column > row) at(all, k) = at(all, k - column - row * n + column * n + row);
        garbage.push_back(column > row ? NAN : at(all, k));  // is not read
      }
      const Numbers l = numbers(run_op(op::Cholesky{}, {batch(dtype, garbage, count, n, n, by_columns)}));
      for (int64_t i = 0; i < count; ++i) {
        const Numbers one = part(l, i, n * n);
        for (int64_t k = 0; k < n * n; ++k)
          if (k % n > k / n) { EXPECT_EQ(at(one, k), 0); }
        expect_close(multiplied(one, turned(one, n, n), n, n, n), part(all, i, n * n), 0, tolerance(dtype));
      }
      at(garbage, (count - 2) * n * n) = -1;
      try {
        run_op(op::Cholesky{}, {batch(dtype, garbage, count, n, n, by_columns)});
        ADD_FAILURE() << "one is not positive definite";
      } catch (const ArgumentError& error) {
        EXPECT_NE(std::string(error.what()).find(text("[", count - 2, "]")), std::string::npos) << error.what();
      }
    }
  });
}

TEST(SimdLinalgBatch, FindsOrthogonalFactors) {
  for_each_batch([](DType dtype, int64_t count, bool by_columns) {
    for (const int64_t size : kSizes)
      for (const auto& [m, n] : {std::pair{size, size}, std::pair{int64_t{16}, size}, std::pair{size, int64_t{13}}})
        for (const bool complete : {false, true}) {
          SCOPED_TRACE(text(dtype, " ", m, " x ", n, " count ", count, by_columns ? " by columns" : ""));
          Numbers all;
          for (int64_t i = 0; i < count; ++i)
            append(all, composed(mirror(m, 3), spectrum(i, std::min(m, n)),
                                 mirror(n, static_cast<std::uint64_t>(i + 9)), m, n));
          all = rounded(DType::F32, all);
          const Value in = batch(dtype, all, count, m, n, by_columns);
          const Numbers q = numbers(run_op(op::Qr{complete}, {in}, 2, op::Qr::q)),
                        r = numbers(run_op(op::Qr{complete}, {in}, 2, op::Qr::r));
          const int64_t columns = complete ? m : std::min(m, n);
          for (int64_t i = 0; i < count; ++i) {
            const Numbers left = part(q, i, m * columns), right = part(r, i, columns * n), a = part(all, i, m * n);
            expect_close(multiplied(turned(left, m, columns), left, columns, m, columns), identity(columns), 0,
                         tolerance(dtype));
            expect_close(multiplied(left, right, m, columns, n), a, 0, tolerance(dtype) * largest(a));
            for (int64_t k = 0; k < columns * n; ++k) {
              if (k % n < k / n) { EXPECT_EQ(at(right, k), 0); }
              if (k % n == k / n) { EXPECT_GE(at(right, k), 0); }
            }
          }
        }
  });
}

TEST(SimdLinalgBatch, FindsEigenvaluesAndVectors) {
  for_each_batch([](DType dtype, int64_t count, bool by_columns) {
    for (const int64_t n : kSizes) {
      SCOPED_TRACE(text(dtype, " ", n, " count ", count, by_columns ? " by columns" : ""));
      Numbers all;
      std::vector<Numbers> values;
      for (int64_t i = 0; i < count; ++i) {
        const Numbers u = mirror(n, static_cast<std::uint64_t>(i + 1));
        values.push_back(spectrum(i, n));
        if (i % 3 == 0 && n > 1) at(values.back(), 0) *= -1;
        append(all, rounded(DType::F32, composed(u, values.back(), u, n, n)));
        std::sort(values.back().begin(), values.back().end());
      }
      const Value in = batch(dtype, all, count, n, n, by_columns);
      const Numbers w = numbers(run_op(op::Eigh{true}, {in}, 2, op::Eigh::w)),
                    v = numbers(run_op(op::Eigh{true}, {in}, 2, op::Eigh::v));
      EXPECT_EQ(numbers(run_op(op::Eigh{false}, {in})), w);
      for (int64_t i = 0; i < count; ++i) {
        const Numbers vectors = part(v, i, n * n), a = part(all, i, n * n), found = part(w, i, n);
        EXPECT_TRUE(std::ranges::is_sorted(found));
        const double scale = largest(values[static_cast<std::size_t>(i)]);
        expect_close(found, values[static_cast<std::size_t>(i)], 0, 2e-6 * scale);  // as float32 holds the matrix
        expect_close(multiplied(turned(vectors, n, n), vectors, n, n, n), identity(n), 0, tolerance(dtype));
        expect_close(composed(vectors, found, turned(vectors, n, n), n, n), a, 0, tolerance(dtype) * scale);
        for (int64_t j = 0; j < n; ++j) {
          double most = 0;
          for (int64_t k = 0; k < n; ++k) most = std::max(most, std::abs(at(vectors, k * n + j)));
          int64_t k = 0;
          while (std::abs(at(vectors, k * n + j)) < 0.9 * most) ++k;
          EXPECT_GT(at(vectors, k * n + j), 0);
        }
      }
    }
  });
}

TEST(SimdLinalgBatch, FindsSingularValues) {
  for_each_batch([](DType dtype, int64_t count, bool by_columns) {
    for (const int64_t size : kSizes)
      for (const auto& [m, n] : {std::pair{size, size}, std::pair{int64_t{16}, size}, std::pair{size, int64_t{13}}}) {
        SCOPED_TRACE(text(dtype, " ", m, " x ", n, " count ", count, by_columns ? " by columns" : ""));
        const int64_t k = std::min(m, n);
        Numbers all;
        for (int64_t i = 0; i < count; ++i)
          append(all, rounded(DType::F32, composed(mirror(m, 3), spectrum(i, k),
                                                   mirror(n, static_cast<std::uint64_t>(i + 9)), m, n)));
        const Numbers found =
            numbers(run_op(op::Svd{op::SvdForm::Values}, {batch(dtype, all, count, m, n, by_columns)}));
        for (int64_t i = 0; i < count; ++i) {
          Numbers expected = spectrum(i, k);
          std::sort(expected.begin(), expected.end(), std::greater());
          expect_close(part(found, i, k), expected, 0, 2e-6 * largest(expected));
        }
      }
  });
}

TEST(SimdLinalgBatch, RefusesWhatIsNoNumber) {
  Numbers all = random_numbers(6 * 4, -1, 1);
  all[4 * 4 + 1] = INFINITY;
  const Value in = batch(DType::F32, all, 6, 2, 2, false);
  EXPECT_THROW(run_op(op::Eigh{}, {in}, 2), ArgumentError);
  EXPECT_THROW(run_op(op::Svd{op::SvdForm::Values}, {in}), ArgumentError);
}

TEST(SimdLinalgBatch, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = num_threads();
  const Value a = batch(DType::F32, random_numbers(1003 * 64, -1, 1, 9), 1003, 8, 8, false);
  const auto results = [&](int threads) {
    set_num_threads(threads);
    Numbers all = numbers(run_op(op::Eigh{}, {a}, 2, op::Eigh::v));
    append(all, numbers(run_op(op::Qr{}, {a}, 2, op::Qr::q)));
    append(all, numbers(run_op(op::Svd{op::SvdForm::Values}, {a})));
    return all;
  };
  const Numbers one = results(1);
  for (const int threads : {2, 5}) EXPECT_EQ(results(threads), one);
  set_num_threads(before);
}

}  // namespace
}  // namespace kiln::cpu::simd
