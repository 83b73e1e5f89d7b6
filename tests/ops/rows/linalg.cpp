// Factorisations, equations and functions of matrices.
#include "kiln/ops/linalg/linalg.hpp"

#include <algorithm>
#include <cmath>

#include "tests/ops/matrices.hpp"

namespace kiln::test {
namespace {

using Arrays = std::vector<Array>;

struct Case {
  const char* suffix;
  Shape shape;
  bool gradient = true;
};

const Case kSquare[] = {{"", {3, 3}},       {"_of_one", {1, 1}},        {"_of_two", {2, 2}}, {"_batch", {2, 1, 3, 3}},
                        {"_empty", {0, 0}}, {"_empty_batch", {0, 2, 2}}};
const Case kAny[] = {{"", {3, 3}},     {"_tall", {4, 2}},    {"_wide", {2, 4}},       {"_batch", {2, 3, 2}},
                     {"_one", {1, 1}}, {"_no_rows", {0, 3}}, {"_no_columns", {3, 0}}, {"_no_matrix", {0, 2, 3}}};

/// A row for a function of one matrix, which is shifted away from singular.
OpCase of_matrix(std::string name, const Shape& shape, std::function<Values(const Value&)> function,
                 std::function<Arrays(const Array&)> meaning, double shift, double tolerance, bool gradient = true) {
  return {.name = std::move(name),
          .operands = {{shape, -1, 1}},
          .function = [=](const Values& in) { return function(shifted(in[0], shift)); },
          .meaning =
              [=](const Arrays& in) {
                Arrays results =
                    each_in_batch({shifted(in[0], shift)}, {2}, [&](const Arrays& one) { return meaning(one[0]); });
                return results;
              },
          .tolerance = tolerance,
          .gradient = gradient};
}

Arrays permuted_factors(const Array& a) {  // packed, permutation, sign
  const std::int64_t m = a.shape[0], n = a.shape[1];
  std::vector<std::int64_t> order;
  Array packed(a.shape), permutation({m});
  std::vector<bool> used(static_cast<std::size_t>(m), false);
  Array rest = a;
  std::vector<std::int64_t> at;  // where each row stands
  for (std::int64_t i = 0; i < m; ++i) at.push_back(i);
  double sign = 1;
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    std::int64_t best = k;
    for (std::int64_t i = k; i < m; ++i)
      if (std::abs(rest({at[static_cast<std::size_t>(i)], k})) >
          std::abs(rest({at[static_cast<std::size_t>(best)], k})))
        best = i;
    if (best != k) sign = -sign;
    std::swap(at[static_cast<std::size_t>(k)], at[static_cast<std::size_t>(best)]);
    const std::int64_t pivot = at[static_cast<std::size_t>(k)];
    for (std::int64_t i = k + 1; i < m; ++i) {
      const std::int64_t row = at[static_cast<std::size_t>(i)];
      const double factor = rest({row, k}) / rest({pivot, k});
      for (std::int64_t j = k; j < n; ++j) rest({row, j}) -= factor * rest({pivot, j});
      rest({row, k}) = factor;
    }
  }
  for (std::int64_t i = 0; i < m; ++i) {
    permutation({i}) = static_cast<double>(at[static_cast<std::size_t>(i)]);
    for (std::int64_t j = 0; j < n; ++j) packed({i, j}) = rest({at[static_cast<std::size_t>(i)], j});
  }
  return {packed, permutation, scalar(sign)};
}

Arrays plu(const Array& a) {
  const Arrays factors = permuted_factors(a);
  const std::int64_t m = a.shape[0], n = a.shape[1], k = std::min(m, n);
  Array p({m, m}), l({m, k}), u({k, n});
  for (std::int64_t i = 0; i < m; ++i) p({static_cast<std::int64_t>(factors[1]({i})), i}) = 1;
  each_index(l.shape, [&](const Dims& at) { l(at) = at[0] > at[1] ? factors[0](at) : at[0] == at[1]; });
  each_index(u.shape, [&](const Dims& at) { u(at) = at[0] <= at[1] ? factors[0](at) : 0; });
  return {p, l, u};
}

void add_factorisations(std::vector<OpCase>& rows) {
  for (const Case& c : kSquare) {
    rows.push_back(of_matrix(
        text("cholesky", c.suffix), c.shape, [](const Value& a) { return Values{cholesky(a)}; },
        [](const Array& a) { return Arrays{cholesky_factor(symmetric_part(a))}; }, 2, 8));
    rows.push_back(of_matrix(
        text("eigh", c.suffix), c.shape,
        [](const Value& a) {
          const auto [w, v] = eigh(a);
          return Values{w, v};
        },
        [](const Array& a) { return eigen(symmetric_part(a)); }, 2, 40));
    rows.push_back(of_matrix(
        text("eigvalsh", c.suffix), c.shape, [](const Value& a) { return Values{eigvalsh(a)}; },
        [](const Array& a) { return Arrays{eigen(symmetric_part(a))[0]}; }, 2, 20));
  }
  rows.push_back(of_matrix(
      "cholesky_upper", {3, 3}, [](const Value& a) { return Values{cholesky(a, true)}; },
      [](const Array& a) { return Arrays{transposed(cholesky_factor(symmetric_part(a)))}; }, 2, 8));
  for (const Case& c : kAny) {
    const double shift = 1.5;
    rows.push_back(of_matrix(
        text("lu_factor", c.suffix), c.shape,
        [](const Value& a) {
          const auto [packed, permutation, sign] = lu_factor(a);
          return Values{packed, permutation, sign};
        },
        permuted_factors, shift, 20));
    rows.push_back(of_matrix(
        text("lu", c.suffix), c.shape,
        [](const Value& a) {
          const auto [p, l, u] = lu(a);
          return Values{p, l, u};
        },
        plu, shift, 20));
    rows.push_back(of_matrix(
        text("qr", c.suffix), c.shape,
        [](const Value& a) {
          const auto [q, r] = qr(a);
          return Values{q, r};
        },
        gram_schmidt, shift, 20));
    rows.push_back(of_matrix(
        text("svd", c.suffix), c.shape,
        [](const Value& a) {
          const auto [u, s, vt] = svd(a);
          return Values{u, s, vt};
        },
        singular, shift, 60));
    rows.push_back(of_matrix(
        text("svdvals", c.suffix), c.shape, [](const Value& a) { return Values{svdvals(a)}; },
        [](const Array& a) { return Arrays{singular(a)[1]}; }, shift, 20));
    rows.push_back(of_matrix(
        text("pinv", c.suffix), c.shape, [](const Value& a) { return Values{pinv(a)}; },
        [](const Array& a) { return Arrays{pseudo_inverse(a)}; }, shift, 40));
  }
  for (const Case& c : {Case{"", {2, 4}}, Case{"_batch", {2, 2, 4}}})
    rows.push_back(of_matrix(
        text("qr_complete_wide", c.suffix), c.shape,
        [](const Value& a) {
          const auto [q, r] = qr(a, true);
          return Values{q, r};
        },
        gram_schmidt, 1.5, 20));
  rows.push_back(of_matrix(
      "svd_full_square", {3, 3},
      [](const Value& a) {
        const auto [u, s, vt] = svd(a, true);
        return Values{u, s, vt};
      },
      singular, 1.5, 60));
  // A product of rank 2: the rank stays when its factors move.
  rows.push_back(
      {.name = "pinv_of_low_rank",
       .operands = {{{4, 2}, -1, 1}, {{2, 3}, -1, 1}},
       .function = [](const Values& in) { return Values{pinv(matmul(in[0], in[1]), 1e-3)}; },
       .meaning = [](const Arrays& in) { return Arrays{product(pseudo_inverse(in[1]), pseudo_inverse(in[0]))}; },
       .tolerance = 100,
       .halves = false});
}

/// A row for x with a x = b, or for another function of a and b.
OpCase of_system(std::string name, const Shape& a, const Shape& b,
                 std::function<Value(const Value&, const Value&)> function,
                 std::function<Array(const Array&, const Array&)> meaning, double shift = 2) {
  const int rank = b.size() == 1 ? 1 : 2;
  return {.name = std::move(name),
          .operands = {{a, -1, 1}, {b, -1, 1}},
          .function = [=](const Values& in) { return Values{function(shifted(in[0], shift), in[1])}; },
          .meaning =
              [=](const Arrays& in) {
                return each_in_batch({shifted(in[0], shift), in[1]}, {2, rank}, [&](const Arrays& one) {
                  if (rank == 2) return Arrays{meaning(one[0], one[1])};
                  Array column = one[1];
                  column.shape = {column.shape[0], 1};
                  Array x = meaning(one[0], column);
                  x.shape = {x.shape[0]};
                  return Arrays{x};
                });
              },
          .tolerance = 20};
}

Array solved(const Array& a, const Array& b) { return product(inverted(a), b); }

void add_systems(std::vector<OpCase>& rows) {
  struct SystemCase {
    const char* suffix;
    Shape a, b;
  };
  const SystemCase cases[] = {{"", {3, 3}, {3, 2}},
                              {"_vector", {3, 3}, {3}},
                              {"_vector_for_a_batch", {2, 3, 3}, {3}},
                              {"_batch", {2, 3, 3}, {2, 3, 2}},
                              {"_broadcast", {2, 1, 2, 2}, {3, 2, 1}},
                              {"_one_for_a_batch", {3, 3}, {2, 2, 3, 2}},
                              {"_no_equations", {0, 0}, {0, 2}},
                              {"_no_columns", {2, 2}, {2, 0}}};
  for (const SystemCase& c : cases) {
    rows.push_back(of_system(text("solve", c.suffix), c.a, c.b, [](auto& a, auto& b) { return solve(a, b); }, solved));
    rows.push_back(of_system(
        text("triangular_solve", c.suffix), c.a, c.b, [](auto& a, auto& b) { return triangular_solve(a, b); },
        [](auto& a, auto& b) { return solved(triangle(a, false), b); }));
    rows.push_back(of_system(
        text("lu_solve", c.suffix), c.a, c.b, [](auto& a, auto& b) { return lu_solve(lu_factor(a), b); }, solved));
    rows.push_back(of_system(
        text("cholesky_solve", c.suffix), c.a, c.b, [](auto& a, auto& b) { return cholesky_solve(cholesky(a), b); },
        [](auto& a, auto& b) { return solved(symmetric_part(a), b); }));
    rows.push_back(of_system(text("lstsq", c.suffix), c.a, c.b, [](auto& a, auto& b) { return lstsq(a, b); }, solved));
  }
  for (const bool left : {true, false})
    for (const bool adjoint : {false, true}) {
      const auto meaning = [=](const Array& a, const Array& b) {
        const Array inverse = adjoint ? transposed(inverted(a)) : inverted(a);
        return left ? product(inverse, b) : product(b, inverse);
      };
      const auto function = [=](const Value& a, const Value& b) {
        return lu_solve(lu_factor(a), b, {.left = left, .adjoint = adjoint});
      };
      const std::string suffix = text(left ? "_left" : "_right", adjoint ? "_adjoint" : "");
      rows.push_back(of_system("lu_solve" + suffix, {3, 3}, left ? Shape{3, 2} : Shape{2, 3}, function, meaning));
      rows.push_back(of_system("lu_solve_broadcast" + suffix, {2, 1, 3, 3}, left ? Shape{2, 3, 1} : Shape{2, 1, 3},
                               function, meaning));
    }
  rows.push_back(of_system(
      "lu_solve_vector_adjoint", {2, 3, 3}, {3},
      [](auto& a, auto& b) { return lu_solve(lu_factor(a), b, {.adjoint = true}); },
      [](auto& a, auto& b) { return solved(transposed(a), b); }));
  rows.push_back(of_system(
      "lu_solve_vector_right", {2, 3, 3}, {3},
      [](auto& a, auto& b) { return lu_solve(lu_factor(a), b, {.left = false}); },
      [](auto& a, auto& b) { return solved(transposed(a), b); }));
  rows.push_back(of_system(
      "cholesky_solve_upper", {3, 3}, {3, 2},
      [](auto& a, auto& b) { return cholesky_solve(cholesky(a, true), b, true); },
      [](auto& a, auto& b) { return solved(symmetric_part(a), b); }));
  for (const bool upper : {false, true}) {
    for (const bool unit : {false, true}) {
      const auto part = [=](const Array& a) {
        Array t = triangle(a, upper);
        for (std::int64_t i = 0; unit && i < a.shape[0]; ++i) t({i, i}) = 1;
        return t;
      };
      const std::string suffix = text(upper ? "_upper" : "_lower", unit ? "_unit" : "");
      rows.push_back(of_system(
          "triangular_solve_left" + suffix, {2, 3, 3}, {3, 2},
          [=](auto& a, auto& b) { return triangular_solve(a, b, {.upper = upper, .unit = unit}); },
          [=](auto& a, auto& b) { return solved(part(a), b); }));
      rows.push_back(of_system(
          "triangular_solve_right" + suffix, {2, 3, 3}, {2, 3},
          [=](auto& a, auto& b) { return triangular_solve(a, b, {.upper = upper, .unit = unit, .left = false}); },
          [=](auto& a, auto& b) { return product(b, inverted(part(a))); }));
    }
  }
  rows.push_back(of_system(
      "lstsq_tall", {4, 2}, {4, 3}, [](auto& a, auto& b) { return lstsq(a, b); },
      [](auto& a, auto& b) { return product(pseudo_inverse(a), b); }));
  rows.push_back(of_system(
      "lstsq_wide", {2, 2, 4}, {2}, [](auto& a, auto& b) { return lstsq(a, b); },
      [](auto& a, auto& b) { return product(pseudo_inverse(a), b); }));
}

double largest_column(const Array& a) {
  double largest = 0;
  for (std::int64_t j = 0; j < a.shape[1]; ++j) {
    double total = 0;
    for (std::int64_t i = 0; i < a.shape[0]; ++i) total += std::abs(a({i, j}));
    largest = std::max(largest, total);
  }
  return largest;
}

void add_functions(std::vector<OpCase>& rows) {
  for (const Case& c : kSquare) {
    rows.push_back(of_matrix(
        text("inverse", c.suffix), c.shape, [](const Value& a) { return Values{inverse(a)}; },
        [](const Array& a) { return Arrays{inverted(a)}; }, 2, 10));
    rows.push_back(of_matrix(
        text("det", c.suffix), c.shape, [](const Value& a) { return Values{det(a)}; },
        [](const Array& a) { return Arrays{scalar(determinant(a))}; }, 0.5, 20));
    rows.push_back(of_matrix(
        text("slogdet", c.suffix), c.shape,
        [](const Value& a) {
          const auto [sign, log_abs] = slogdet(a);
          return Values{sign, log_abs};
        },
        [](const Array& a) {
          const double d = determinant(a);
          return Arrays{scalar(d < 0 ? -1 : 1), scalar(std::log(std::abs(d)))};
        },
        -1.5, 20));
    rows.push_back(of_matrix(
        text("matrix_exp", c.suffix), c.shape, [](const Value& a) { return Values{matrix_exp(a)}; },
        [](const Array& a) { return Arrays{exponential(a)}; }, -1.5, 40));
    for (const int exponent : {0, 1, 5, -3})
      rows.push_back(of_matrix(
          text("matrix_power_", exponent < 0 ? "minus_" : "", std::abs(exponent), c.suffix), c.shape,
          [=](const Value& a) { return Values{matrix_power(a, exponent)}; },
          [=](const Array& a) {
            Array power = identity(a.shape[0]);
            for (int i = 0; i < std::abs(exponent); ++i) power = product(power, exponent < 0 ? inverted(a) : a);
            return Arrays{power};
          },
          1, 100, exponent != 0));
  }
  rows.push_back(of_matrix(
      "matrix_exp_of_large", {2, 3, 3}, [](const Value& a) { return Values{matrix_exp(a)}; },
      [](const Array& a) { return Arrays{exponential(a)}; }, 3, 200));
  rows.push_back(of_matrix(
      "cond", {2, 3, 3}, [](const Value& a) { return Values{cond(a)}; },
      [](const Array& a) {
        const Array s = singular(a)[1];
        return Arrays{scalar(s.v.front() / s.v.back())};
      },
      2, 40));
  rows.push_back(of_matrix(
      "cond_minus_two", {2, 3, 3}, [](const Value& a) { return Values{cond(a, MatrixNorm::MinusTwo)}; },
      [](const Array& a) {
        const Array s = singular(a)[1];
        return Arrays{scalar(s.v.back() / s.v.front())};
      },
      2, 40));
  rows.push_back(of_matrix(
      "cond_one", {3, 3}, [](const Value& a) { return Values{cond(a, MatrixNorm::One)}; },
      [](const Array& a) { return Arrays{scalar(largest_column(a) * largest_column(inverted(a)))}; }, 2, 40));
  rows.push_back({.name = "matrix_rank",
                  .operands = {{{2, 4, 2}, -1, 1}, {{2, 2, 3}, -1, 1}},
                  .function = [](const Values& in) { return Values{matrix_rank(matmul(in[0], in[1]), 1e-2)}; },
                  .meaning = [](const Arrays&) { return Arrays{Array({2}, 2)}; },
                  .gradient = false});
  // The determinant of a singular matrix, whose gradient is that of its cofactors.
  rows.push_back(
      {.name = "det_of_a_singular_matrix",
       .operands = {{{2, 3}, -1, 1}},
       .function = [](const Values& in) { return Values{det(cat(Values{in[0], narrow(in[0], 0, 0, 1)}, 0))}; },
       .meaning = [](const Arrays&) { return Arrays{scalar(0)}; },
       .gradient = false});
}

std::vector<OpCase> linalg_rows() {
  std::vector<OpCase> rows;
  add_factorisations(rows);
  add_systems(rows);
  add_functions(rows);
  return rows;
}

const Family kLinalg(&linalg_rows);

}  // namespace
}  // namespace kiln::test
