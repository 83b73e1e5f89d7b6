// Eigenvalues, singular values, sizes and functions of matrices.
#include "kiln/ops/linalg/linalg.hpp"
#include "tests/autodiff/matrices/cases.hpp"

namespace kiln::test {
namespace {

Value of_values(const Value& x) {
  const std::vector<double> by = weights(x.dim(-1));
  return sum(x * from_data(TensorData::of<double>({x.dim(-1)}, by).to(x.dtype()), x.device()), {-1});
}
Jet weighted_values(const std::vector<Jet>& values) {
  Jets row(1, static_cast<std::int64_t>(values.size()));
  row.elements = values;
  return weighted(row);
}
Jet sum_of(const std::vector<Jet>& values) {
  Jet sum;
  for (const Jet& value : values) sum = sum + value;
  return sum;
}

void add_spectra(std::vector<Case>& cases) {
  const auto symmetric = many({distinct(), repeated(), nearly_repeated()});
  // Functions of eigenvalues that treat them alike, by formulas without any.
  const auto squares = [](const Jets& a) { return sum_of_squares(even_part(a)); };
  const auto cubes = [](const Jets& a) { return trace_of(power_of(even_part(a), 3)); };
  const auto exponentials = [](const Jets& a) { return trace_of(exponential_of(even_part(a))); };
  const auto product = [](const Jets& a) { return determinant_of(even_part(a)); };
  const auto add = [&](const std::string& name, std::function<Value(const Value&)> of_w,
                       std::function<Jet(const Jets&)> meaning, const std::vector<Matrix>& of) {
    cases.push_back({"eigvalsh_" + name, [=](const Value& a) { return of_w(eigvalsh(a)); }, meaning, of, Right, 2});
    cases.push_back({"eigh_" + name, [=](const Value& a) { return of_w(eigh(a).w); }, meaning, of, Right, 2});
  };
  add("squares", [](const Value& w) { return sum(square(w), {-1}); }, squares, symmetric);
  add("cubes", [](const Value& w) { return sum(pow(w, 3), {-1}); }, cubes, symmetric);
  add("exponentials", [](const Value& w) { return sum(exp(w), {-1}); }, exponentials, symmetric);
  add("product", [](const Value& w) { return prod(w, {-1}); }, product, symmetric);
  add(
      "square_of_sum", [](const Value& w) { return square(sum(w, {-1})); },
      [](const Jets& a) { return trace_of(a) * trace_of(a); }, symmetric);
  cases.push_back({"eigvalsh_each", [](const Value& a) { return of_values(eigvalsh(a)); },
                   [](const Jets& a) { return weighted_values(eigen_of(even_part(a)).values); }, distinct()});
  cases.push_back({"eigvalsh_each", [](const Value& a) { return of_values(eigvalsh(a)); }, {}, repeated(), Nan});
  cases.push_back({"eigh_each", [](const Value& a) { return of_values(eigh(a).w); }, {}, repeated(), Nan});
  cases.push_back({"eigh_vectors", [](const Value& a) { return of_each(eigh(a).v); },
                   [](const Jets& a) { return weighted(eigen_of(even_part(a)).vectors); }, distinct()});
  cases.push_back({"eigh_vectors", [](const Value& a) { return of_each(eigh(a).v); }, {}, repeated(), Nan});
  cases.push_back({"eigh_exponential",
                   [](const Value& a) {
                     const auto [w, v] = eigh(a);
                     return of_each(matmul(v * unsqueeze(exp(w), -2), transpose(v)));
                   },
                   [](const Jets& a) { return weighted(exponential_of(even_part(a))); }, distinct()});
  // The lowest eigenvalue and its vector have derivatives where others are equal.
  const auto lowest = [](const Value& a) { return of_each(narrow(eigh(a).v, -1, 0, 1)); };
  cases.push_back(
      {"eigh_lowest_vector",
       lowest,
       [](const Jets& a) { return weighted(eigen_of(even_part(a), 1).vectors); },
       {with_values("pair_above", {0.4, 1.5, 1.5}, true, 1), with_values("triple_above", {-1, 0.5, 0.5, 0.5}, true, 1)},
       Right,
       1});
  cases.push_back({"eigh_lowest_vector",
                   lowest,
                   {},
                   {diagonal_of("one_twice", {1, 1}), with_values("pair_below", {0.5, 0.5, 2}, true, 1)},
                   Nan});
  cases.push_back(
      {"eigvalsh_lowest",
       [](const Value& a) { return squeeze(narrow(eigvalsh(a), -1, 0, 1), -1); },
       [](const Jets& a) { return eigen_of(even_part(a), 1).values[0]; },
       {with_values("pair_above", {0.4, 1.5, 1.5}, true, 1), with_values("triple_above", {-1, 0.5, 0.5, 0.5}, true, 1)},
       Right,
       2});

  const auto any = many({regular(),
                         {tall()},
                         repeated(),
                         nearly_repeated(),
                         nearly_singular(),
                         exactly_singular(),
                         {of("tall_zeros", 3, 2, Numbers(6)), of("wide_of_rank_1", 2, 3, {1, 2, 3, 2, 4, 6}),
                          of("row", 1, 3, {0, 0, 0})}});
  const auto fourths = [](const Jets& a) { return trace_of(power_of(turned(a) * a, 2)); };
  const auto add_singular = [&](const std::string& name, std::function<Value(const Value&)> of_s,
                                std::function<Jet(const Jets&)> meaning) {
    cases.push_back({"svdvals_" + name, [=](const Value& a) { return of_s(svdvals(a)); }, meaning, any, Right, 2});
    cases.push_back({"svd_" + name, [=](const Value& a) { return of_s(svd(a).s); }, meaning, any, Right, 2});
  };
  add_singular("squares", [](const Value& s) { return sum(square(s), {-1}); }, sum_of_squares);
  add_singular("fourths", [](const Value& s) { return sum(pow(s, 4), {-1}); }, fourths);
  cases.push_back({"svdvals_each", [](const Value& a) { return of_values(svdvals(a)); },
                   [](const Jets& a) { return weighted_values(singular_values_of(a)); }, many({regular(), {tall()}})});
  cases.push_back({"svdvals_each",
                   [](const Value& a) { return of_values(svdvals(a)); },
                   {},
                   many({repeated(), exactly_singular()}),
                   Nan});
  cases.push_back({"svd_reduced",
                   [](const Value& a) {
                     const auto [u, s, vt] = svd(a);
                     return of_each(matmul(u * unsqueeze(s, -2), vt));
                   },
                   [](const Jets& a) { return weighted(a); }, many({regular(), {tall()}})});
  cases.push_back({"svd_vectors", [](const Value& a) { return of_each(svd(a).u); }, {}, many({repeated()}), Nan});
}

void add_sizes(std::vector<Case>& cases) {
  const auto norm = [](MatrixNorm which) { return [=](const Value& a) { return matrix_norm(a, which); }; };
  const auto some = many({regular(), {tall()}});
  cases.push_back(
      {"frobenius", norm(MatrixNorm::Frobenius), [](const Jets& a) { return root_of(sum_of_squares(a)); }, some});
  cases.push_back(
      {"nuclear", norm(MatrixNorm::Nuclear), [](const Jets& a) { return sum_of(singular_values_of(a)); }, some});
  cases.push_back(
      {"spectral", norm(MatrixNorm::Spectral), [](const Jets& a) { return singular_values_of(a).front(); }, some});
  cases.push_back(
      {"minus_two", norm(MatrixNorm::MinusTwo), [](const Jets& a) { return singular_values_of(a).back(); }, some});
  cases.push_back({"one", norm(MatrixNorm::One), [](const Jets& a) { return lines(a, true, true); }, some});
  cases.push_back({"infinity", norm(MatrixNorm::Infinity), [](const Jets& a) { return lines(a, false, true); }, some});
  cases.push_back({"minus_one", norm(MatrixNorm::MinusOne), [](const Jets& a) { return lines(a, true, false); }, some});
  cases.push_back(
      {"minus_infinity", norm(MatrixNorm::MinusInfinity), [](const Jets& a) { return lines(a, false, false); }, some});
  // Of two equal singular values the nuclear norm still has a derivative, and where they are the multiples of a rotation
  // it is that of two by two: the root of |a|² + 2 |det a|.
  cases.push_back({"nuclear",
                   norm(MatrixNorm::Nuclear),
                   [](const Jets& a) { return root_of(sum_of_squares(a) + size_of(determinant_of(a)) * Jet(2)); },
                   {diagonal_of("one_twice", {1, 1}), of("rotation", 2, 2, {0.6, -0.8, 0.8, 0.6}),
                    diagonal_of("apart_by_1e-12", {1, 1 + 1e-12}, 1e3)},
                   Right,
                   2});
  const std::vector<Matrix> singular = {of("two_of_rank_1", 2, 2, {1, 2, 2, 4}),
                                        diagonal_of("one_zero_of_5", {2, 1, 0, -1, 3}),
                                        of("of_integers", 3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9})};
  cases.push_back({"nuclear", norm(MatrixNorm::Nuclear), {}, singular, Nan});
  cases.push_back({"minus_two", norm(MatrixNorm::MinusTwo), {}, singular, Nan});
  cases.push_back({"spectral",
                   norm(MatrixNorm::Spectral),
                   {},
                   {diagonal_of("one_twice", {1, 1}), diagonal_of("opposite", {1, -1})},
                   Nan});
  // Lengths of zero have the slope 0.
  for (const MatrixNorm which :
       {MatrixNorm::Frobenius, MatrixNorm::Nuclear, MatrixNorm::Spectral, MatrixNorm::MinusTwo, MatrixNorm::One})
    cases.push_back({text("of_zeros_", static_cast<int>(which)),
                     norm(which),
                     [](const Jets&) { return Jet(); },
                     {of("zero_of_one", 1, 1, {0}), of("zero_of_three", 3, 3, Numbers(9))},
                     Right,
                     2});
  cases.push_back({"cond",
                   [](const Value& a) { return cond(a); },
                   [](const Jets& a) { return singular_values_of(a).front() / singular_values_of(a).back(); },
                   {regular()[1], regular()[2], regular()[3]}});
  cases.push_back({"cond",
                   [](const Value& a) { return cond(a); },
                   {},
                   many({singular, {of("zero_of_two", 2, 2, Numbers(4)), of("zero_of_one", 1, 1, {0})}}),
                   Nan});

  const auto powers = many({regular(), exactly_singular(), nearly_singular(), repeated()});
  cases.push_back({"matrix_power_3", [](const Value& a) { return of_each(matrix_power(a, 3)); },
                   [](const Jets& a) { return weighted(power_of(a, 3)); }, powers});
  cases.push_back({"matrix_power_0", [](const Value& a) { return of_each(matrix_power(a, 0)); },
                   [](const Jets&) { return Jet(); }, powers});
  cases.push_back({"matrix_exp", [](const Value& a) { return of_each(matrix_exp(a)); },
                   [](const Jets& a) { return weighted(exponential_of(a)); },
                   many({regular(),
                         exactly_singular(),
                         repeated(),
                         nearly_repeated(),
                         {of("nilpotent", 3, 3, {0, 7, 5, 0, 0, 9, 0, 0, 0}),
                          with_values("large", {9, 6, -4, 2}, true, 10), of("turning", 2, 2, {0, -11, 11, 0})}})});
}

}  // namespace

std::vector<Case> cases_of_spectra() {
  std::vector<Case> cases;
  add_spectra(cases);
  add_sizes(cases);
  return cases;
}

}  // namespace kiln::test
