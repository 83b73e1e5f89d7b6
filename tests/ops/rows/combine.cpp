// Writes by index that combine, and views that are written to: scatter_reduce, index_reduce, select_scatter,
// slice_scatter, diagonal_scatter.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "kiln/ops/index/index.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

/// The elements in `parts` combined, one after the other.
double combined(Combine how, const std::vector<double>& parts) {
  double result = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (how == Combine::Sum || how == Combine::Mean) result += parts[i];
    if (how == Combine::Prod) result *= parts[i];
    if (how == Combine::Max) result = std::max(result, parts[i]);
    if (how == Combine::Min) result = std::min(result, parts[i]);
  }
  return how == Combine::Mean ? result / static_cast<double>(parts.size()) : result;
}

/// x with the parts that were collected for each place combined.
Array apply(Combine how, bool with_self, Array x, const std::map<std::int64_t, std::vector<double>>& parts) {
  for (const auto& [place, found] : parts) {
    double& element = x.v[static_cast<std::size_t>(place)];
    std::vector<double> all = found;
    if (with_self) all.push_back(element);
    element = combined(how, all);
  }
  return x;
}

std::vector<OpCase> combine_rows() {
  std::vector<OpCase> rows;
  constexpr std::pair<Combine, const char*> kWays[] = {{Combine::Sum, "sum"},
                                                       {Combine::Prod, "prod"},
                                                       {Combine::Mean, "mean"},
                                                       {Combine::Max, "max"},
                                                       {Combine::Min, "min"}};
  for (const auto& [how, name] : kWays)
    for (const bool with_self : {true, false}) {
      const std::string suffix = std::string(name) + (with_self ? "" : "_without_self");
      rows.push_back(
          {.name = "scatter_reduce_" + suffix,
           .operands = {{{3, 4}}, {{5, 3}, 0, 3, OperandSpec::Index}, {{5, 3}}},
           .function = [=](const Values& in) { return Values{scatter_reduce(in[0], 0, in[1], in[2], how, with_self)}; },
           .meaning =
               [=](const std::vector<Array>& in) {
                 std::map<std::int64_t, std::vector<double>> parts;
                 each_index({5, 3}, [&](const Dims& i) {
                   parts[in[0].offset({static_cast<std::int64_t>(in[1](i)), i[1]})].push_back(in[2](i));
                 });
                 return std::vector<Array>{apply(how, with_self, in[0], parts)};
               },
           .tolerance = 8});
      rows.push_back(
          {.name = "index_reduce_" + suffix,
           .operands = {{{2, 5}}, {{7}, 0, 4, OperandSpec::Index}, {{2, 7}}},
           .function = [=](const Values& in) { return Values{index_reduce(in[0], -1, in[1], in[2], how, with_self)}; },
           .meaning =
               [=](const std::vector<Array>& in) {
                 std::map<std::int64_t, std::vector<double>> parts;
                 each_index({2, 7}, [&](const Dims& i) {
                   const auto place = static_cast<std::int64_t>(in[1]({i[1]}));
                   parts[in[0].offset({i[0], place})].push_back(in[2](i));
                 });
                 return std::vector<Array>{apply(how, with_self, in[0], parts)};
               },
           .tolerance = 8});
    }
  rows.push_back({.name = "select_scatter",
                  .operands = {{{3, 4}}, {{3}}},
                  .function = [](const Values& in) { return Values{select_scatter(in[0], in[1], 1, -2)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (std::int64_t i = 0; i < 3; ++i) result({i, 2}) = in[1]({i});
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "slice_scatter",
                  .operands = {{{3, 7}}, {{3, 3}}},
                  .function = [](const Values& in) { return Values{slice_scatter(in[0], in[1], 1, {1, {}, 2})}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        each_index({3, 3}, [&](const Dims& i) { result({i[0], 1 + 2 * i[1]}) = in[1](i); });
                        return std::vector<Array>{result};
                      }});
  for (const int offset : {-1, 0, 2})
    rows.push_back({.name = text("diagonal_scatter_", offset + 1),
                    .operands = {{{2, 3, 4}},
                                 {{2, offset == 2   ? 2
                                      : offset == 0 ? 3
                                                    : 2}}},
                    .function = [=](const Values& in) { return Values{diagonal_scatter(in[0], in[1], offset)}; },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Array result = in[0];
                          each_index(in[1].shape, [&](const Dims& i) {
                            result({i[0], i[1] - std::min(offset, 0), i[1] + std::max(offset, 0)}) = in[1](i);
                          });
                          return std::vector<Array>{result};
                        }});
  rows.push_back({.name = "scatter_reduce_of_integers",
                  .operands = {{{4}, -9, 9, OperandSpec::Index},
                               {{9}, 0, 3, OperandSpec::Index},
                               {{9}, -9, 9, OperandSpec::Index}},
                  .function =
                      [](const Values& in) {
                        return Values{scatter_reduce(in[0], 0, in[1], in[2], Combine::Mean),
                                      scatter_reduce(in[0], 0, in[1], in[2], Combine::Max, false)};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        std::map<std::int64_t, std::vector<double>> parts;
                        for (std::int64_t i = 0; i < 9; ++i)
                          parts[static_cast<std::int64_t>(in[1]({i}))].push_back(in[2]({i}));
                        Array means = apply(Combine::Mean, true, in[0], parts);
                        for (double& x : means.v) x = std::floor(x);
                        return std::vector<Array>{means, apply(Combine::Max, false, in[0], parts)};
                      },
                  .gradient = false,
                  .halves = false});
  return rows;
}

const Family kCombine(&combine_rows);

}  // namespace
}  // namespace kiln::test
