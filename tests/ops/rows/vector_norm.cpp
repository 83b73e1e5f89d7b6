#include "kiln/ops/linalg/vector_norm.hpp"

#include <algorithm>
#include <cmath>

#include "tests/ops/matrices.hpp"

namespace kiln::test {
namespace {

using Arrays = std::vector<Array>;

double length(const Array& x, double p) {
  double total = 0, largest = 0, smallest = INFINITY;
  for (const double element : x.v) {
    total += p == 0 ? element != 0 : std::pow(std::abs(element), p);
    largest = std::max(largest, std::abs(element));
    smallest = std::min(smallest, std::abs(element));
  }
  return p == INFINITY ? largest : p == -INFINITY ? smallest : p == 0 ? total : std::pow(total, 1 / p);
}

/// A row for a function of vectors along the last dimension, or of matrices.
OpCase of_parts(std::string name, const Shape& shape, int rank, std::function<Value(const Value&)> function,
                std::function<Array(const Array&)> meaning, bool gradient = true, double tolerance = 4) {
  return {.name = std::move(name),
          .operands = {{shape, -2, 2}},
          .function = [=](const Values& in) { return Values{function(in[0])}; },
          .meaning =
              [=](const Arrays& in) {
                return each_in_batch(in, {rank}, [&](const Arrays& one) { return Arrays{meaning(one[0])}; });
              },
          .tolerance = tolerance,
          .gradient = gradient};
}

Array line(const Array& a, std::int64_t index, bool column) {
  Array result({a.shape[column ? 0 : 1]});
  for (std::int64_t i = 0; i < result.shape[0]; ++i) result({i}) = column ? a({i, index}) : a({index, i});
  return result;
}

/// The 1-norms of columns, or of rows.
Array lines(const Array& a, bool column) {
  Array sizes({a.shape[column ? 1 : 0]});
  for (std::int64_t i = 0; i < sizes.shape[0]; ++i) sizes({i}) = length(line(a, i, column), 1);
  return sizes;
}
double largest_line(const Array& a, bool column) { return length(lines(a, column), INFINITY); }

double cosine(const Array& x, const Array& y) {
  double total = 0;
  for (std::size_t i = 0; i < x.v.size(); ++i) total += x.v[i] * y.v[i];
  return total / (length(x, 2) * length(y, 2));
}

double distance(const Array& x, const Array& y, double p) {
  Array difference = x;
  for (std::size_t i = 0; i < x.v.size(); ++i) difference.v[i] -= y.v[i];
  return length(difference, p);
}

OpCase distances(std::string name, const Shape& x, const Shape& y, double p, bool through_matmul, double tolerance) {
  return {.name = std::move(name),
          .operands = {{x, -2, 2}, {y, -1, 3}},
          .function = [=](const Values& in) { return Values{cdist(in[0], in[1], p, through_matmul)}; },
          .meaning =
              [=](const Arrays& in) {
                return each_in_batch(in, {2, 2}, [&](const Arrays& one) {
                  Array result({one[0].shape[0], one[1].shape[0]});
                  each_index(result.shape, [&](const Dims& at) {
                    result(at) = distance(line(one[0], at[0], false), line(one[1], at[1], false), p);
                  });
                  return Arrays{result};
                });
              },
          .tolerance = tolerance,
          .halves = !through_matmul};
}

std::vector<OpCase> vector_norm_rows() {
  std::vector<OpCase> rows;
  const std::pair<const char*, double> orders[] = {{"0", 0},
                                                   {"1", 1},
                                                   {"2", 2},
                                                   {"3", 3},
                                                   {"half", 0.5},
                                                   {"two_and_a_half", 2.5},
                                                   {"minus_1", -1},
                                                   {"infinity", kInfinity},
                                                   {"minus_infinity", -kInfinity}};
  for (const auto& [name, order] : orders) {
    const double p = order;
    const auto meaning = [p](const Array& x) { return scalar(length(x, p)); };
    rows.push_back(of_parts(
        text("vector_norm_", name), {2, 5}, 1, [p](auto& x) { return vector_norm(x, p, {-1}); }, meaning, true, 8));
    rows.push_back(
        of_parts(text("lp_norm_", name), {2, 3}, 1, [p](auto& x) { return lp_norm(x, p, 1); }, meaning, true, 8));
    rows.push_back(of_parts(
        text("vector_norm_of_all_", name), {2, 3}, 2, [p](auto& x) { return vector_norm(x, p); }, meaning, true, 8));
  }
  const auto norm = [](double p) { return [p](const Array& x) { return scalar(length(x, p)); }; };
  rows.push_back(of_parts("l0_norm", {2, 3}, 1, [](auto& x) { return l0_norm(x, -1); }, norm(0)));
  rows.push_back(of_parts("l1_norm", {2, 3}, 1, [](auto& x) { return l1_norm(x, -1); }, norm(1)));
  rows.push_back(of_parts("l2_norm", {2, 3}, 1, [](auto& x) { return l2_norm(x, -1); }, norm(2)));
  rows.push_back(of_parts("max_abs_norm", {2, 3}, 1, [](auto& x) { return max_abs_norm(x, -1); }, norm(INFINITY)));
  rows.push_back(of_parts("min_abs_norm", {2, 3}, 1, [](auto& x) { return min_abs_norm(x, -1); }, norm(-INFINITY)));
  rows.push_back(of_parts("l2_norm_of_nothing", {2, 0}, 1, [](auto& x) { return l2_norm(x, -1); }, norm(2)));
  rows.push_back(of_parts(
      "l2_norm_kept", {2, 3}, 1, [](auto& x) { return l2_norm(x, -1, true); },
      [](const Array& x) { return Array({1}, length(x, 2)); }));
  for (const double p : {1.0, 2.0, 3.0})
    rows.push_back(of_parts(
        text("vector_normalize_", p), {2, 4}, 1, [p](auto& x) { return vector_normalize(x, p); },
        [p](const Array& x) {
          Array result = x;
          for (double& element : result.v) element /= length(x, p);
          return result;
        },
        true, 8));

  const auto matrix = [&](const char* name, MatrixNorm kind, std::function<double(const Array&)> meaning) {
    rows.push_back(of_parts(
        text("matrix_norm_", name), {2, 3, 2}, 2, [kind](auto& x) { return matrix_norm(x, kind); },
        [meaning](const Array& x) { return scalar(meaning(x)); }, true, 20));
  };
  matrix("frobenius", MatrixNorm::Frobenius, [](const Array& a) { return length(a, 2); });
  matrix("nuclear", MatrixNorm::Nuclear, [](const Array& a) { return length(singular(a)[1], 1); });
  matrix("spectral", MatrixNorm::Spectral, [](const Array& a) { return singular(a)[1].v[0]; });
  matrix("one", MatrixNorm::One, [](const Array& a) { return largest_line(a, true); });
  matrix("infinity", MatrixNorm::Infinity, [](const Array& a) { return largest_line(a, false); });
  matrix("minus_two", MatrixNorm::MinusTwo, [](const Array& a) { return singular(a)[1].v.back(); });
  matrix("minus_one", MatrixNorm::MinusOne, [](const Array& a) { return length(lines(a, true), -INFINITY); });
  matrix("minus_infinity", MatrixNorm::MinusInfinity,
         [](const Array& a) { return length(lines(a, false), -INFINITY); });

  rows.push_back({.name = "cosine_similarity",
                  .operands = {{{2, 1, 4}}, {{3, 4}}},
                  .function = [](const Values& in) { return Values{cosine_similarity(in[0], in[1])}; },
                  .meaning =
                      [](const Arrays& in) {
                        return each_in_batch(in, {1, 1},
                                             [](const Arrays& one) { return Arrays{scalar(cosine(one[0], one[1]))}; });
                      },
                  .tolerance = 4});
  for (const double p : {1.0, 2.0, kInfinity})
    rows.push_back({.name = text("pairwise_distance_", p == kInfinity ? 9 : p),
                    .operands = {{{2, 1, 4}}, {{3, 4}, -1, 3}},
                    .function = [p](const Values& in) { return Values{pairwise_distance(in[0], in[1], p)}; },
                    .meaning =
                        [p](const Arrays& in) {
                          return each_in_batch(in, {1, 1}, [&](const Arrays& one) {
                            return Arrays{scalar(distance(one[0], one[1], p))};
                          });
                        },
                    .tolerance = 8});
  rows.push_back(distances("cdist", {3, 2}, {4, 2}, 2, false, 8));
  rows.push_back(distances("cdist_1", {3, 2}, {4, 2}, 1, false, 8));
  rows.push_back(distances("cdist_batch", {2, 1, 3, 2}, {3, 2, 2}, 2, false, 8));
  rows.push_back(distances("cdist_to_many", {3, 2}, {17, 2}, 2, false, 8));
  rows.push_back(distances("cdist_1_to_many_batch", {2, 1, 3, 2}, {3, 16, 2}, 1, false, 8));
  rows.push_back(distances("cdist_through_matmul", {3, 2}, {4, 2}, 2, true, 40));
  rows.push_back(distances("cdist_of_no_rows", {0, 2}, {3, 2}, 2, false, 1));
  return rows;
}

const Family kNorms(&vector_norm_rows);

}  // namespace
}  // namespace kiln::test
