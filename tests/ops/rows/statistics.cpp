#include <algorithm>
#include <cmath>

#include "kiln/ops/reduce/histogram.hpp"
#include "kiln/ops/reduce/quantile.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/reduce/unique.hpp"
#include "tests/ops/lines.hpp"

namespace kiln::test {
namespace {

double total(const Line& v) {
  double t = 0;
  for (const double x : v) t += x;
  return t;
}
double average_of(const Line& v) { return total(v) / static_cast<double>(v.size()); }
double spread(const Line& v, int correction) {
  double t = 0;
  for (const double x : v) t += (x - average_of(v)) * (x - average_of(v));
  return t / (static_cast<double>(v.size()) - correction);
}
double quantile_of(Line v, double q, Between between) {
  std::sort(v.begin(), v.end());
  const double place = q * static_cast<double>(v.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(place)), high = static_cast<std::size_t>(std::ceil(place));
  switch (between) {
    case Between::Linear: return v[low] + (v[high] - v[low]) * (place - std::floor(place));
    case Between::Lower: return v[low];
    case Between::Higher: return v[high];
    case Between::Midpoint: return (v[low] + v[high]) / 2;
    case Between::Nearest: return v[static_cast<std::size_t>(std::nearbyint(place))];
  }
  return NAN;
}

/// A function of one operand and what it means for each line of its last dimension.
OpCase row(std::string name, std::function<Value(const Value&)> function, std::function<double(const Line&)> meaning,
           const Shape& shape = {3, 6}, bool keep = false) {
  return {.name = std::move(name),
          .operands = {{shape}},
          .function = [=](const Values& in) { return Values{function(in[0])}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                return std::vector<Array>{of_line(in[0], in[0].shape.size() - 1, meaning, keep)};
              },
          .tolerance = 8};
}

std::vector<OpCase> statistics_rows() {
  std::vector<OpCase> rows;
  for (const int correction : {0, 1, 2}) {
    const auto variance_of = [=](const Line& v) { return spread(v, correction); };
    const auto deviation_of = [=](const Line& v) { return std::sqrt(spread(v, correction)); };
    rows.push_back(row(
        text("variance_correction_", correction), [=](const Value& x) { return variance(x, {1}, correction); },
        variance_of));
    rows.push_back(row(
        text("deviation_correction_", correction), [=](const Value& x) { return deviation(x, {-1}, correction); },
        deviation_of));
    rows.push_back(row(
        text("nanvar_correction_", correction), [=](const Value& x) { return nanvar(x, {1}, correction); },
        variance_of));
    rows.push_back(row(
        text("nanstd_correction_", correction), [=](const Value& x) { return nanstd(x, {1}, correction, true); },
        deviation_of, {3, 6}, true));
  }
  rows.push_back(row(
      "variance_of_two_dims", [](const Value& x) { return reshape(variance(x, {0, 2}), {}); },
      [](const Line& v) { return spread(v, 1); }, {12}));
  rows.back().function = [](const Values& in) {
    return Values{reshape(variance(reshape(in[0], {3, 1, 4}), {0, 2}), {})};
  };
  rows.push_back({.name = "variance_and_mean",
                  .operands = {{{2, 5}}},
                  .function =
                      [](const Values& in) {
                        const auto [variance, mean] = variance_and_mean(in[0], {1}, 0);
                        return Values{variance, mean};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        return std::vector<Array>{of_line(in[0], 1, [](const Line& v) { return spread(v, 0); }),
                                                  of_line(in[0], 1, average_of)};
                      },
                  .tolerance = 4});
  rows.push_back({.name = "variance_about",
                  .operands = {{{2, 5}}, {{1}, -1, 1}},
                  .function = [](const Values& in) { return Values{variance_about(in[0], in[1], {1})}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        return std::vector<Array>{of_line(in[0], 1, [&](const Line& v) {
                          double t = 0;
                          for (const double x : v) t += (x - in[1].v[0]) * (x - in[1].v[0]);
                          return t / static_cast<double>(v.size() - 1);
                        })};
                      },
                  .tolerance = 4});
  rows.push_back({.name = "average",
                  .operands = {{{2, 5}}, {{5}, 0.5, 2}},
                  .function = [](const Values& in) { return Values{average(in[0], in[1], {1})}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        return std::vector<Array>{of_line(in[0], 1, [&](const Line& v) {
                          double t = 0;
                          for (std::size_t i = 0; i < v.size(); ++i) t += v[i] * in[1].v[i];
                          return t / total(in[1].v);
                        })};
                      },
                  .tolerance = 4});
  rows.push_back({.name = "aminmax",
                  .operands = {{{2, 5}}},
                  .function =
                      [](const Values& in) {
                        const auto [least, most] = aminmax(in[0], {1});
                        return Values{least, most};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        const auto least = [](const Line& v) { return *std::min_element(v.begin(), v.end()); };
                        const auto most = [](const Line& v) { return *std::max_element(v.begin(), v.end()); };
                        return std::vector<Array>{of_line(in[0], 1, least), of_line(in[0], 1, most)};
                      }});
  rows.push_back(row(
      "max_abs", [](const Value& x) { return max_abs(x, {1}); },
      [](const Line& v) {
        double most = 0;
        for (const double x : v) most = std::max(most, std::abs(x));
        return most;
      }));
  rows.push_back(row("nansum", [](const Value& x) { return nansum(x, {1}); }, total));
  rows.push_back(row("nanmean", [](const Value& x) { return nanmean(x, {1}); }, average_of));
  const auto log_of_sum = [](const Line& v) {
    double sum = 0;
    for (const double x : v) sum += std::exp(x);
    return std::log(sum);
  };
  rows.push_back(row("logsumexp", [](const Value& x) { return logsumexp(x, {1}); }, log_of_sum));
  rows.push_back(row(
      "nanmax", [](const Value& x) { return nanmax(x, {1}); },
      [](const Line& v) { return *std::max_element(v.begin(), v.end()); }));
  rows.push_back(row(
      "nanmin", [](const Value& x) { return nanmin(x, {1}, true); },
      [](const Line& v) { return *std::min_element(v.begin(), v.end()); }, {3, 6}, true));
  rows.push_back({.name = "count_nonzero",
                  .operands = {{{4, 9}, -1, 2, OperandSpec::Index}},
                  .function = [](const Values& in) { return Values{count_nonzero(in[0], {0})}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        return std::vector<Array>{of_line(
                            in[0], 0, [](const Line& v) { return v.size() - std::count(v.begin(), v.end(), 0.0); })};
                      },
                  .gradient = false});
  rows.push_back({.name = "any_and_all_of_numbers",
                  .operands = {{{9, 2}, -1, 2, OperandSpec::Index}},
                  .function = [](const Values& in) { return Values{any(in[0], {1}), all(in[0], {1})}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        const auto some = [](const Line& v) { return v[0] != 0 || v[1] != 0; };
                        const auto each = [](const Line& v) { return v[0] != 0 && v[1] != 0; };
                        return std::vector<Array>{of_line(in[0], 1, some), of_line(in[0], 1, each)};
                      },
                  .gradient = false});
  for (const bool normalised : {false, true})
    rows.push_back({.name = normalised ? "corrcoef" : "cov",
                    .operands = {{{3, 6}}},
                    .function = [=](const Values& in) { return Values{normalised ? corrcoef(in[0]) : cov(in[0])}; },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Array result({3, 3});
                          each_index({3, 3}, [&](const Dims& ij) {
                            double products = 0, squares_i = 0, squares_j = 0, mean_i = 0, mean_j = 0;
                            for (std::int64_t n = 0; n < 6; ++n) {
                              mean_i += in[0]({ij[0], n}) / 6;
                              mean_j += in[0]({ij[1], n}) / 6;
                            }
                            for (std::int64_t n = 0; n < 6; ++n) {
                              const double a = in[0]({ij[0], n}) - mean_i, b = in[0]({ij[1], n}) - mean_j;
                              products += a * b;
                              squares_i += a * a;
                              squares_j += b * b;
                            }
                            result(ij) = normalised ? products / std::sqrt(squares_i * squares_j) : products / 5;
                          });
                          return std::vector<Array>{result};
                        },
                    .tolerance = 10});

  // ---- quantiles
  for (const auto& [name, between] :
       {std::pair("linear", Between::Linear), std::pair("lower", Between::Lower), std::pair("higher", Between::Higher),
        std::pair("midpoint", Between::Midpoint), std::pair("nearest", Between::Nearest)})
    for (const bool without_nan : {false, true}) {
      const auto function = [=](const Value& x) {
        return without_nan ? nanquantile(x, 0.3, -1, between) : quantile(x, 0.3, -1, between);
      };
      rows.push_back(row(text(without_nan ? "nan" : "", "quantile_", name), function,
                         [=](const Line& v) { return quantile_of(v, 0.3, between); }, {2, 7}));
    }
  rows.push_back({.name = "quantile_several",
                  .operands = {{{5, 3}}},
                  .function =
                      [](const Values& in) {
                        return Values{quantile(in[0], std::vector{0.0, 0.4, 1.0}, 0, Between::Linear, true)};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = of_lines(in[0], 0, [](const Line& v) {
                          return Line{quantile_of(v, 0, Between::Linear), quantile_of(v, 0.4, Between::Linear),
                                      quantile_of(v, 1, Between::Linear)};
                        });
                        result.shape = {3, 1, 3};
                        return std::vector<Array>{result};
                      },
                  .tolerance = 2});
  for (const bool without_nan : {false, true})
    for (const std::int64_t length : {4, 5})
      rows.push_back({.name = text(without_nan ? "nan" : "", "median_of_", length),
                      .operands = {{{length, 3}}},
                      .function =
                          [=](const Values& in) {
                            const auto [values, indices] = without_nan ? nanmedian(in[0], 0) : median(in[0], 0);
                            return Values{values, indices};
                          },
                      .meaning =
                          [=](const std::vector<Array>& in) {
                            const auto middle = [](const Line& v) { return quantile_of(v, 0.5, Between::Lower); };
                            return std::vector<Array>{of_line(in[0], 0, middle), of_line(in[0], 0, [&](const Line& v) {
                                                        return std::find(v.begin(), v.end(), middle(v)) - v.begin();
                                                      })};
                          }});
  rows.push_back(row(
      "nanquantile_several", [](const Value& x) { return narrow(nanquantile(x, std::vector{0.5, 1.0}, 0), 0, 1, 1); },
      [](const Line& v) { return *std::max_element(v.begin(), v.end()); }, {7}, true));
  rows.push_back(row(
      "max_abs_of_all", [](const Value& x) { return max_abs(x, all_dims(x)); },
      [](const Line& v) { return std::max(std::abs(v[0]), std::abs(v[1])); }, {2}));
  rows.push_back(row(
      "median_of_all", [](const Value& x) { return median(x); },
      [](const Line& v) { return quantile_of(v, 0.5, Between::Lower); }, {9}));
  rows.push_back(row(
      "nanmedian_of_all", [](const Value& x) { return nanmedian(x); },
      [](const Line& v) { return quantile_of(v, 0.5, Between::Lower); }, {8}));

  // ---- counting
  rows.push_back(
      {.name = "bincount",
       .operands = {{{3, 7}, 0, 6, OperandSpec::Index}, {{3, 7}}},
       .function = [](const Values& in) { return Values{bincount(in[0], {}, 6), bincount(in[0], in[1], 6)}; },
       .meaning =
           [](const std::vector<Array>& in) {
             Array counts({6}), sums({6});
             for (std::size_t i = 0; i < in[0].v.size(); ++i) {
               counts.v[static_cast<std::size_t>(in[0].v[i])] += 1;
               sums.v[static_cast<std::size_t>(in[0].v[i])] += in[1].v[i];
             }
             return std::vector<Array>{counts, sums};
           },
       .tolerance = 4});
  rows.push_back({.name = "histogram",
                  .operands = {{{4, 9}, -3, 3}, {{4, 9}, 0.5, 2}},
                  .function =
                      [](const Values& in) {
                        const auto weighted = histogram(in[0], 4, -2, 2, {.weights = in[1], .density = true});
                        return Values{histogram(in[0], 4, -2, 2).counts, weighted.counts, weighted.edges};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array counts({4}), density({4}), edges({5});
                        edges.v = {-2, -1, 0, 1, 2};
                        for (std::size_t i = 0; i < in[0].v.size(); ++i)
                          for (std::size_t bin = 0; bin < 4; ++bin)
                            if (edges.v[bin] <= in[0].v[i] && (in[0].v[i] < edges.v[bin + 1] || in[0].v[i] == 2)) {
                              counts.v[bin] += 1;
                              density.v[bin] += in[1].v[i];
                            }
                        const double all = total(density.v);
                        for (double& x : density.v) x /= all;
                        return std::vector<Array>{counts, density, edges};
                      },
                  .tolerance = 8});
  for (const bool sorted : {true, false})
    rows.push_back({.name = sorted ? "unique" : "unique_consecutive",
                    .operands = {{{6, 5}, -3, 4, OperandSpec::Index}},
                    .function =
                        [=](const Values& in) {
                          const Distinct d = sorted ? unique(in[0]) : unique_consecutive(in[0]);
                          return Values{d.values, d.inverse, d.counts};
                        },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Line distinct = in[0].v;
                          if (sorted) std::sort(distinct.begin(), distinct.end());
                          distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
                          Array values({static_cast<std::int64_t>(distinct.size())}), inverse(in[0].shape);
                          values.v = distinct;
                          Array counts(values.shape);
                          std::size_t run = 0;
                          for (std::size_t i = 0; i < in[0].v.size(); ++i) {
                            if (sorted)
                              run = static_cast<std::size_t>(std::find(distinct.begin(), distinct.end(), in[0].v[i]) -
                                                             distinct.begin());
                            else if (distinct[run] != in[0].v[i]) ++run;
                            inverse.v[i] = static_cast<double>(run);
                            counts.v[run] += 1;
                          }
                          return std::vector<Array>{values, inverse, counts};
                        },
                    .gradient = false});
  return rows;
}

const Family kStatistics(&statistics_rows);

}  // namespace
}  // namespace kiln::test
