// Determinants, equations and factors.
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "tests/autodiff/matrices/cases.hpp"

namespace kiln::test {
namespace {

/// A right side of two columns.
Jets right_side(std::int64_t n) {
  Jets b(n, 2);
  for (std::int64_t i = 0; i < 2 * n; ++i)
    b.elements[static_cast<std::size_t>(i)] = 1 + 0.25 * static_cast<double>(i % 5);
  return b;
}
Value uploaded(const Jets& a, const Value& like) {
  Numbers numbers;
  for (const Jet& element : a.elements) numbers.push_back(static_cast<double>(element.number()));
  return from_data(TensorData::of<double>({a.rows, a.columns}, numbers).to(like.dtype()), like.device());
}
Value side(const Value& a) { return uploaded(right_side(a.dim(-1)), a); }

void add_determinants(std::vector<Case>& cases) {
  const auto all = many({regular(), ill_conditioned(), nearly_singular(), exactly_singular(), repeated()});
  cases.push_back({"det", [](const Value& a) { return det(a); }, determinant_of, all});
  const auto log = [](const Jets& a) { return log_of(size_of(determinant_of(a))); };
  const auto slog = [](const Value& a) { return slogdet(a).log_abs; };
  cases.push_back({"slogdet", slog, log, many({regular(), ill_conditioned()})});
  cases.push_back({"slogdet", slog, log, exactly_singular(), Nan});
}

void add_equations(std::vector<Case>& cases) {
  const auto all = many({regular(), ill_conditioned()});
  const auto add = [&](std::string name, std::function<Value(const Value&)> function,
                       std::function<Jet(const Jets&)> meaning, const std::vector<Matrix>& matrices,
                       const std::vector<Matrix>& refused = exactly_singular()) {
    cases.push_back({name, function, meaning, matrices});
    cases.push_back({name, function, meaning, refused, Refused});
  };
  add(
      "inverse", [](const Value& a) { return of_each(inverse(a)); },
      [](const Jets& a) { return weighted(inverse_of(a)); }, all);
  const auto solved = [](const Jets& a) { return weighted(inverse_of(a) * right_side(a.rows)); };
  add("solve", [](const Value& a) { return of_each(solve(a, side(a))); }, solved, all);
  add("lu_solve", [](const Value& a) { return of_each(lu_solve(lu_factor(a), side(a))); }, solved, all);
  add(
      "lu_solve_adjoint", [](const Value& a) { return of_each(lu_solve(lu_factor(a), side(a), {.adjoint = true})); },
      [](const Jets& a) { return weighted(inverse_of(turned(a)) * right_side(a.rows)); }, all);
  add(
      "lu_solve_from_the_right",
      [](const Value& a) { return of_each(lu_solve(lu_factor(a), transpose(side(a)), {.left = false})); },
      [](const Jets& a) { return weighted(turned(right_side(a.rows)) * inverse_of(a)); }, all);
  const auto part = [](const Jets& a, bool upper) {
    Jets t = a;
    for (std::int64_t i = 0; i < a.rows; ++i)
      for (std::int64_t j = 0; j < a.columns; ++j)
        if (upper ? j < i : j > i) t(i, j) = Jet();
    return t;
  };
  for (const bool upper : {false, true})
    add(
        upper ? "triangular_solve_upper" : "triangular_solve",
        [=](const Value& a) { return of_each(triangular_solve(a, side(a), {.upper = upper})); },
        [=](const Jets& a) { return weighted(inverse_of(part(a, upper)) * right_side(a.rows)); }, regular(),
        {of("zero_of_one", 1, 1, {0}), diagonal_of("one_zero_of_5", {2, 1, 0, -1, 3})});
  add(
      "cholesky_solve", [](const Value& a) { return of_each(cholesky_solve(cholesky(a), side(a))); },
      [](const Jets& a) { return weighted(inverse_of(even_part(a)) * right_side(a.rows)); }, definite());
  add(
      "matrix_power_minus_2", [](const Value& a) { return of_each(matrix_power(a, -2)); },
      [](const Jets& a) { return weighted(power_of(inverse_of(a), 2)); }, regular());
  add(
      "cond_one", [](const Value& a) { return cond(a, MatrixNorm::One); },
      [](const Jets& a) { return lines(a, true, true) * lines(inverse_of(a), true, true); }, regular());
  const auto squares = [](const Jets& a) { return turned(a) * a; };
  cases.push_back({"lstsq", [](const Value& a) { return of_each(lstsq(a, uploaded(right_side(a.dim(-2)), a))); },
                   [=](const Jets& a) { return weighted(inverse_of(squares(a)) * turned(a) * right_side(a.rows)); },
                   many({regular(), {tall()}})});
  cases.push_back({"pinv", [](const Value& a) { return of_each(pinv(a)); },
                   [=](const Jets& a) { return weighted(inverse_of(squares(a)) * turned(a)); },
                   many({regular(), {tall()}})});
  const auto below_full =
      many({exactly_singular(), {of("tall_of_rank_1", 3, 2, {1, 2, 2, 4, 3, 6}), of("row_of_zeros", 1, 3, {0, 0, 0})}});
  cases.push_back({"pinv", [](const Value& a) { return of_each(pinv(a)); }, {}, below_full, Nan});
  cases.push_back({"lstsq",
                   [](const Value& a) { return of_each(lstsq(a, uploaded(right_side(a.dim(-2)), a))); },
                   {},
                   below_full,
                   Nan});
}

void add_factors(std::vector<Case>& cases) {
  const auto packed = [](const Value& a) { return of_each(lu_factor(a).packed); };
  const auto packed_meaning = [](const Jets& a) {
    std::vector<std::int64_t> order;
    return weighted(packed_of(a, order));
  };
  // Nothing is divided by the last pivot.
  cases.push_back({"lu_factor", packed, packed_meaning,
                   many({regular(),
                         ill_conditioned(),
                         {tall(), of("zero_of_one", 1, 1, {0}), of("two_of_rank_1", 2, 2, {1, 2, 2, 4}),
                          of("last_zero", 3, 3, {2, 1, 1, 0, 1, 3, 0, 0, 0})}})});
  cases.push_back({"lu_factor",
                   packed,
                   packed_meaning,
                   {of("zero_of_two", 2, 2, {0, 0, 0, 0}), of("zeros", 4, 4, Numbers(16)),
                    of("first_zero", 2, 2, {0, 1, 0, 2}), of("tall_of_rank_1", 3, 2, {1, 2, 2, 4, 3, 6})},
                   Nan});
  const auto l = [](const Value& a) { return of_each(cholesky(a)); };
  const auto l_meaning = [](const Jets& a) { return weighted(cholesky_of(even_part(a))); };
  cases.push_back({"cholesky", l, l_meaning, definite()});
  cases.push_back({"cholesky", l, l_meaning, many({exactly_singular(), {diagonal_of("negative", {1, -1})}}), Refused});

  const auto q = [](const Value& a) { return of_each(qr(a).q); };
  const auto r = [](const Value& a) { return of_each(triu(qr(a).r)); };
  cases.push_back({"qr_q", q, [](const Jets& a) { return weighted(orthogonal_of(a).q); }, many({regular(), {tall()}})});
  cases.push_back({"qr_r", r, [](const Jets& a) { return weighted(orthogonal_of(a).r); }, many({regular(), {tall()}})});
  const std::vector<Matrix> dependent = {
      of("zero_of_one", 1, 1, {0}), of("two_of_rank_1", 2, 2, {1, 2, 2, 4}), of("zero_of_three", 3, 3, Numbers(9)),
      of("of_integers", 3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}), of("tall_of_rank_1", 3, 2, {1, 2, 2, 4, 3, 6})};
  cases.push_back({"qr_q", q, {}, dependent, Nan});
  cases.push_back({"qr_r", r, {}, dependent, Nan});
  // Its squares are those of a, however many columns are independent: where only the last is not, nothing is lost.
  cases.push_back({"qr_squares",
                   [](const Value& a) { return sum(square(qr(a).r), {-2, -1}); },
                   sum_of_squares,
                   {of("two_of_rank_1", 2, 2, {1, 2, 2, 4}), of("of_integers", 3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9})},
                   Right,
                   1});
}

}  // namespace

std::vector<Case> cases_of_equations() {
  std::vector<Case> cases;
  add_determinants(cases);
  add_equations(cases);
  add_factors(cases);
  return cases;
}

}  // namespace kiln::test
