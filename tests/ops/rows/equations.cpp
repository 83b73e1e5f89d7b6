// Linear equations between tensors, symmetric factorisation, cutoffs of singular values, distances.
#include <cmath>
#include <limits>

#include "kiln/ops/create/create.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "tests/ops/matrices.hpp"

namespace kiln::test {
namespace {

Array reshaped(Array x, const Shape& shape) {
  x.shape = shape;
  return x;
}
/// The product of matrices that solves: inverted(a) b.
Array solved(const Array& a, const Array& b) { return product(inverted(a), b); }

/// Symmetric with a zero diagonal, so that pivots of one row alone do not do.
Array indefinite(const Array& x) {
  Array result = symmetric_part(x);
  for (std::int64_t i = 0; i < x.shape[0]; ++i) result({i, i}) = 0;
  return result;
}
Value indefinite(const Value& x) { return (x + transpose(x)) * 0.5 * (1 - eye({x.dim(0), x.dim(0)}, x.device())); }

std::vector<OpCase> equation_rows() {
  std::vector<OpCase> rows;
  rows.push_back(
      {.name = "ldl_solve",
       .operands = {{{5, 5}}, {{5, 2}}},
       .function = [](const Values& in) { return Values{ldl_solve(ldl_factor(indefinite(in[0])), in[1])}; },
       .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{solved(indefinite(in[0]), in[1])}; },
       .tolerance = 64,
       .gradient = false,
       .halves = false});
  rows.push_back(
      {.name = "ldl_solve_of_right_sides",
       .operands = {{{2, 4, 3}}, {{4}}},
       .function =
           [](const Values& in) {
             const Value a = from_data(
                 TensorData::of<double>({4, 4}, {0, 1, 2, 3, 1, 0, 4, -1, 2, 4, 1, 2, 3, -1, 2, 0}).to(in[0].dtype()),
                 in[0].device());
             const LdlFactors factors = ldl_factor(a);
             return Values{ldl_solve(factors, in[0]), ldl_solve(factors, in[1])};
           },
       .meaning =
           [](const std::vector<Array>& in) {
             Array a({4, 4});
             a.v = {0, 1, 2, 3, 1, 0, 4, -1, 2, 4, 1, 2, 3, -1, 2, 0};
             return std::vector<Array>{
                 each_in_batch({in[0]}, {2},
                               [&](const std::vector<Array>& b) { return std::vector<Array>{solved(a, b[0])}; })[0],
                 reshaped(solved(a, reshaped(in[1], {4, 1})), {4})};
           },
       .tolerance = 16,
       .halves = false});
  rows.push_back({.name = "tensorsolve",
                  .operands = {{{2, 2, 4}}, {{2, 2}}},
                  .function =
                      [](const Values& in) {
                        return Values{tensorsolve(in[0] + reshape(eye({4, 4}, in[0].device()) * 5, {2, 2, 4}), in[1])};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array a = reshaped(in[0], {4, 4});
                        for (std::int64_t i = 0; i < 4; ++i) a({i, i}) += 5;
                        return std::vector<Array>{reshaped(solved(a, reshaped(in[1], {4, 1})), {4})};
                      },
                  .tolerance = 16,
                  .halves = false});
  rows.push_back({.name = "tensorsolve_of_moved_dimensions",
                  .operands = {{{2, 4, 2}}, {{4}}},
                  .function =
                      [](const Values& in) {
                        const Value one = permute(reshape(eye({4, 4}, in[0].device()) * 5, {4, 2, 2}), {1, 0, 2});
                        return Values{tensorsolve(in[0] + one, in[1], {0})};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        // [4, 2, 2]: dimension 0 of a has become the last.
                        Array a({4, 4});
                        each_index({2, 4, 2}, [&](const Dims& i) { a({i[1], i[2] * 2 + i[0]}) = in[0](i); });
                        Array one({4, 4});
                        for (std::int64_t k = 0; k < 4; ++k) one({k, (k % 2) * 2 + k / 2}) = 5;
                        for (std::size_t k = 0; k < a.v.size(); ++k) a.v[k] += one.v[k];
                        return std::vector<Array>{reshaped(solved(a, reshaped(in[1], {4, 1})), {2, 2})};
                      },
                  .tolerance = 16,
                  .halves = false});
  rows.push_back({.name = "tensorinv",
                  .operands = {{{4, 2, 2}}},
                  .function =
                      [](const Values& in) {
                        return Values{tensorinv(in[0] + reshape(eye({4, 4}, in[0].device()) * 5, {4, 2, 2}), 1)};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array a = reshaped(in[0], {4, 4});
                        for (std::int64_t i = 0; i < 4; ++i) a({i, i}) += 5;
                        return std::vector<Array>{reshaped(inverted(a), {2, 2, 4})};
                      },
                  .tolerance = 16,
                  .halves = false});
  for (const int columns : {-1, 2, 5})
    rows.push_back({.name = text("vander_", columns + 1),
                    .operands = {{{2, 3}}},
                    .function = [=](const Values& in) { return Values{vander(in[0], columns)}; },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Array result({2, 3, columns < 0 ? 3 : columns});
                          each_index(result.shape, [&](const Dims& i) {
                            result(i) = 1;
                            for (std::int64_t k = 0; k < i[2]; ++k) result(i) *= in[0]({i[0], i[1]});
                          });
                          return std::vector<Array>{result};
                        },
                    .tolerance = 4});
  // diag(9, 1, 0.1): an absolute limit of 0.5 leaves two, a relative one of 0.2 one.
  rows.push_back({.name = "pinv_with_cutoffs",
                  .operands = {{{3}, 0.9, 1.1}},
                  .function =
                      [](const Values& in) {
                        const Value sizes =
                            from_data(TensorData::of<double>({3}, {9, 1, 0.1}).to(in[0].dtype()), in[0].device());
                        const Value a = eye({3, 3}, in[0].device()) * unsqueeze(in[0] * sizes, 0);
                        return Values{pinv(a, kRounding, 0.5), pinv(a, 0.2, 0.01), pinv(a, 0, 1e-3)};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        const double sizes[] = {9, 1, 0.1};
                        std::vector<Array> results(3, Array({3, 3}));
                        for (std::int64_t i = 0; i < 3; ++i)
                          for (std::int64_t k = 0; k < 3; ++k)
                            if (i < (k == 0 ? 2 : k == 1 ? 1 : 3))
                              results[static_cast<std::size_t>(k)]({i, i}) = 1 / (in[0]({i}) * sizes[i]);
                        return results;
                      },
                  .tolerance = 32,
                  .halves = false});
  rows.push_back({.name = "matrix_rank_with_cutoffs",
                  .operands = {{{3}, 0.9, 1.1}},
                  .function =
                      [](const Values& in) {
                        const Value sizes =
                            from_data(TensorData::of<double>({3}, {9, 1, 0.1}).to(in[0].dtype()), in[0].device());
                        const Value a = eye({3, 3}, in[0].device()) * unsqueeze(in[0] * sizes, 0);
                        return Values{matrix_rank(a, kRounding, 0.5), matrix_rank(a, 0.2, 0.01), matrix_rank(a, 0.2, 5),
                                      matrix_rank(a, kRounding, 20), matrix_rank(a)};
                      },
                  .meaning =
                      [](const std::vector<Array>&) {
                        std::vector<Array> results;
                        for (const double rank : {2, 1, 1, 0, 3}) results.push_back(scalar(rank));
                        return results;
                      },
                  .gradient = false,
                  .halves = false});
  for (const double p : {1.0, 2.0, 3.0, 0.0, std::numeric_limits<double>::infinity()})
    rows.push_back({.name = text("pdist_", p > 9 ? "infinity" : text(static_cast<int>(p))),
                    .operands = {{{5, 3}}},
                    .function = [=](const Values& in) { return Values{pdist(in[0], p)}; },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Array result({10});
                          std::size_t pair = 0;
                          for (std::int64_t i = 0; i < 5; ++i)
                            for (std::int64_t j = i + 1; j < 5; ++j) {
                              double sum = 0;
                              for (std::int64_t k = 0; k < 3; ++k) {
                                const double size = std::fabs(in[0]({i, k}) - in[0]({j, k}));
                                sum = p == 0 ? sum + 1 : p > 9 ? std::fmax(sum, size) : sum + std::pow(size, p);
                              }
                              result.v[pair++] = p == 0 || p > 9 ? sum : std::pow(sum, 1 / p);
                            }
                          return std::vector<Array>{result};
                        },
                    .tolerance = 4,
                    .gradient = p != 0});
  rows.push_back({.name = "renorm",
                  .operands = {{{3, 2, 4}}},
                  .function = [](const Values& in) { return Values{renorm(in[0], 1.5, 2, 3.4)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (std::int64_t j = 0; j < 4; ++j) {
                          double sum = 0;
                          each_index({3, 2},
                                     [&](const Dims& i) { sum += std::pow(std::fabs(in[0]({i[0], i[1], j})), 1.5); });
                          const double length = std::pow(sum, 1 / 1.5);
                          if (length > 3.4)
                            each_index({3, 2}, [&](const Dims& i) { result({i[0], i[1], j}) *= 3.4 / length; });
                        }
                        return std::vector<Array>{result};
                      },
                  .tolerance = 4});
  return rows;
}

const Family kEquations(&equation_rows);

}  // namespace
}  // namespace kiln::test
