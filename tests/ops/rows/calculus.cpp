#include <algorithm>

#include "kiln/ops/reduce/calculus.hpp"
#include "tests/ops/lines.hpp"

namespace kiln::test {
namespace {

std::vector<OpCase> calculus_rows() {
  std::vector<OpCase> rows;
  for (const int n : {0, 1, 2})
    rows.push_back({.name = text("diff_", n),
                    .operands = {{{3, 5}}},
                    .function = [=](const Values& in) { return Values{diff(in[0], n)}; },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          return std::vector<Array>{of_lines(in[0], 1, [=](Line v) {
                            for (int i = 0; i < n; ++i) {
                              for (std::size_t k = 0; k + 1 < v.size(); ++k) v[k] = v[k + 1] - v[k];
                              v.pop_back();
                            }
                            return v;
                          })};
                        },
                    .tolerance = 4});
  rows.push_back({.name = "diff_prepend_append",
                  .operands = {{{3, 2}}, {{2, 2}}},
                  .function = [](const Values& in) { return Values{diff(in[0], 1, 0, 7, in[1])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array joined({6, 2}, 7);
                        std::copy(in[0].v.begin(), in[0].v.end(), joined.v.begin() + 2);
                        std::copy(in[1].v.begin(), in[1].v.end(), joined.v.begin() + 8);
                        return std::vector<Array>{of_lines(joined, 0, [](const Line& v) {
                          Line steps;
                          for (std::size_t k = 1; k < v.size(); ++k) steps.push_back(v[k] - v[k - 1]);
                          return steps;
                        })};
                      },
                  .tolerance = 8});
  const auto areas = [](const Line& y, const Line& x) {
    Line sums;
    double so_far = 0;
    for (std::size_t i = 0; i + 1 < y.size(); ++i) sums.push_back(so_far += (y[i] + y[i + 1]) / 2 * (x[i + 1] - x[i]));
    return sums;
  };
  rows.push_back(
      {.name = "trapezoid",
       .operands = {{{2, 5}}, {{5}}},
       .function = [](const Values& in) { return Values{trapezoid(in[0], in[1]), cumulative_trapezoid(in[0], in[1])}; },
       .meaning =
           [=](const std::vector<Array>& in) {
             const auto sums = [&](const Line& y) { return areas(y, in[1].v); };
             return std::vector<Array>{of_line(in[0], 1, [&](const Line& y) { return sums(y).back(); }),
                                       of_lines(in[0], 1, sums)};
           },
       .tolerance = 8});
  rows.push_back(
      {.name = "trapezoid_of_equal_steps",
       .operands = {{{4, 2}}},
       .function =
           [](const Values& in) { return Values{trapezoid(in[0], 0.5, 0), cumulative_trapezoid(in[0], 0.5, 0)}; },
       .meaning =
           [=](const std::vector<Array>& in) {
             const auto sums = [&](const Line& y) { return areas(y, {0, 0.5, 1, 1.5}); };
             return std::vector<Array>{of_line(in[0], 0, [&](const Line& y) { return sums(y).back(); }),
                                       of_lines(in[0], 0, sums)};
           },
       .tolerance = 4});
  // Places ascend as sums of positive steps, so that they can be moved for a finite difference.
  rows.push_back({.name = "interp",
                  .operands = {{{3, 3}, -1, 4}, {{5}, 0.3, 0.9}, {{5}}},
                  .function =
                      [](const Values& in) {
                        const Value ones_above = le(unsqueeze(arange(0, 5, 1, in[1].device()), 0),
                                                    unsqueeze(arange(0, 5, 1, in[1].device()), 1));
                        return Values{interp(in[0], sum(where(ones_above, in[1], 0.0), {1}), in[2])};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Line xs = in[1].v;
                        for (std::size_t i = 1; i < xs.size(); ++i) xs[i] += xs[i - 1];
                        Array result = in[0];
                        for (double& x : result.v) {
                          if (x <= xs.front()) x = in[2].v.front();
                          else if (x >= xs.back()) x = in[2].v.back();
                          else
                            for (std::size_t i = 0; i + 1 < xs.size(); ++i)
                              if (xs[i] <= x && x < xs[i + 1]) {
                                x = in[2].v[i] + (in[2].v[i + 1] - in[2].v[i]) * (x - xs[i]) / (xs[i + 1] - xs[i]);
                                break;
                              }
                        }
                        return std::vector<Array>{result};
                      },
                  .tolerance = 20,
                  .halves = false});
  return rows;
}

const Family kCalculus(&calculus_rows);

}  // namespace
}  // namespace kiln::test
