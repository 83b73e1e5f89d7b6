#include "tests/autodiff/matrices/families.hpp"

#include <cmath>

namespace kiln::test {

double drawn(std::int64_t i) { return std::sin(0.7 + 1.9 * static_cast<double>(i) + 0.3 * static_cast<double>(i * i)); }

namespace {

/// Orthonormal columns.
Jets basis(std::int64_t n, std::int64_t seed) {
  Jets a(n, n);
  for (std::int64_t i = 0; i < n * n; ++i) a.elements[static_cast<std::size_t>(i)] = drawn(i + 100 * seed);
  return orthogonal_of(a).q;
}

Matrix rounded(std::string name, const Jets& a, double condition = 1) {
  Matrix m{std::move(name), a.rows, a.columns, {}, condition};
  for (const Jet& element : a.elements) m.elements.push_back(static_cast<double>(element.number()));
  return m;
}

}  // namespace

Matrix with_values(std::string name, const std::vector<double>& values, bool symmetric, double condition) {
  const auto n = static_cast<std::int64_t>(values.size());
  const Jets u = basis(n, 1), v = symmetric ? u : basis(n, 2);
  Jets d(n, n);
  for (std::int64_t i = 0; i < n; ++i) d(i, i) = values[static_cast<std::size_t>(i)];
  return rounded(std::move(name), u * d * turned(v), condition);
}

Matrix of(std::string name, std::int64_t rows, std::int64_t columns, Numbers elements, double condition) {
  return {std::move(name), rows, columns, std::move(elements), condition};
}

Matrix diagonal_of(std::string name, const Numbers& values, double condition) {
  const auto n = static_cast<std::int64_t>(values.size());
  Matrix m{std::move(name), n, n, Numbers(values.size() * values.size()), condition};
  for (std::size_t i = 0; i < values.size(); ++i) m.elements[i * (values.size() + 1)] = values[i];
  return m;
}

Matrix tall() {
  Numbers elements;
  for (std::int64_t i = 0; i < 12; ++i) elements.push_back(drawn(i));
  return of("tall", 4, 3, elements, 10);
}

std::vector<Matrix> regular() {
  return {of("one", 1, 1, {-1.7}), of("two", 2, 2, {1.5, -0.4, 0.7, 2}),
          of("three", 3, 3, {2, -1, 0.3, 0.4, 1.7, -0.6, 0.2, 0.8, -1.9}, 4),
          with_values("four", {3, 2.2, 1.4, 0.5}, false, 6), with_values("six", {3, 2.5, 2.1, 1.4, 1, 0.5}, false, 6)};
}
std::vector<Matrix> definite() {
  return {of("positive_one", 1, 1, {1.7}), with_values("definite_two", {2, 0.7}, true, 3),
          with_values("definite_four", {3, 2.2, 1.4, 0.5}, true, 6),
          with_values("definite_ill", {3, 2, 1e-3, 1e-6}, true, 3e6)};
}
std::vector<Matrix> ill_conditioned() {
  return {with_values("ill_two", {1, 1e-5}, false, 1e5), with_values("ill_three", {2, 1, 1e-6}, false, 2e6),
          with_values("ill_five", {3, 2, 1, 1e-4, 1e-5}, false, 3e5),
          diagonal_of("graded", {1, 1e-2, 1e-4, 1e-6, 1e-8}, 1e8)};
}
std::vector<Matrix> nearly_singular() {
  return {of("of_integers", 3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
          of("sixteen_integers", 4, 4, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}),
          with_values("rank_3_of_5", {3, 2, 1, 0, 0}, false, 1),
          with_values("rank_1_of_5", {3, 0, 0, 0, 0}, false, 1),
          with_values("rank_4_of_5", {3, 2, 1, 0.5, 0}, false, 1),
          with_values("tiny_two_of_5", {3, 2, 1, 1e-9, 1e-9}, false, 1e6),
          with_values("tiny_one_of_6", {3, 2, 1, 1, 0.6, 1e-12}, false, 1e3),
          with_values("rank_1_of_6", {2, 0, 0, 0, 0, 0}, false, 1),
          with_values("tiny_five_of_6", {2, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7}, false, 1e5)};
}
std::vector<Matrix> exactly_singular() {
  return {of("zero_of_one", 1, 1, {0}),
          of("two_of_rank_1", 2, 2, {1, 2, 2, 4}),
          of("zero_row", 2, 2, {0, 0, 3, 4}),
          of("zero_of_two", 2, 2, {0, 0, 0, 0}),
          of("zero_of_three", 3, 3, Numbers(9)),
          of("zero_of_four", 4, 4, Numbers(16)),
          of("zero_of_five", 5, 5, Numbers(25)),
          diagonal_of("two_zeros_of_4", {2, 0, -1, 0}),
          diagonal_of("one_zero_of_5", {2, 1, 0, -1, 3}),
          of("two_rows_alike", 4, 4, {1, 2, 0, 1, 3, 1, 1, 0, 1, 2, 0, 1, 0, 1, 1, 2})};
}
std::vector<Matrix> distinct() {
  return {of("symmetric_one", 1, 1, {0.4}), with_values("symmetric_two", {1.5, -0.5}, true, 2),
          with_values("symmetric_four", {1.5, 0.8, -0.3, -1}, true, 6)};
}
std::vector<Matrix> repeated() {
  return {diagonal_of("one_twice", {1, 1}),
          diagonal_of("ones", {1, 1, 1, 1}),
          with_values("pair", {1.5, 1.5, 0.4}, true, 1),
          with_values("two_pairs", {1.5, 1.5, -0.4, -0.4}, true, 1),
          with_values("triple", {0.5, 0.5, 0.5, 2, -1}, true, 1),
          of("zeros", 3, 3, Numbers(9)),
          with_values("two_zeros", {1, 0, 0, -1}, true, 1)};
}
std::vector<Matrix> nearly_repeated() {
  return {diagonal_of("apart_by_rounding", {1, 1 + 2.3e-16}), diagonal_of("apart_by_1e-12", {1, 1 + 1e-12}, 1e3),
          with_values("apart_by_1e-10", {1.5, 1.5 + 1e-10, 0.4}, true, 1e3),
          with_values("apart_by_1e-6", {1.5, 1.5 + 1e-6, 0.4}, true, 1e6),
          with_values("apart_by_1e-8", {1.5, 1.5 + 2.5e-8, 1.5 - 2e-8, 0.4}, true, 1e6)};
}
std::vector<Matrix> many(std::initializer_list<std::vector<Matrix>> lists) {
  std::vector<Matrix> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace kiln::test
