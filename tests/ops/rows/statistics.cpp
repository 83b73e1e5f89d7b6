#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/reduce/calculus.hpp"
#include "kiln/ops/reduce/histogram.hpp"
#include "kiln/ops/reduce/quantile.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/reduce/unique.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

using Line = std::vector<double>;

/// What `f` makes of each line of x along `dim`, in place of the line; all lines have results of one length.
Array of_lines(const Array& x, int dim, const std::function<Line(const Line&)>& f) {
  std::vector<Line> results;
  Shape beside = x.shape;
  beside[dim] = 1;
  each_index(beside, [&](const Dims& index) {
    Line line;
    Dims at = index;
    for (at[dim] = 0; at[dim] < x.shape[dim]; ++at[dim]) line.push_back(x(at));
    results.push_back(f(line));
  });
  Shape shape = x.shape;
  shape[dim] = static_cast<std::int64_t>(results.at(0).size());
  Array result(shape);
  std::size_t next = 0;
  each_index(beside, [&](const Dims& index) {
    Dims at = index;
    for (at[dim] = 0; at[dim] < shape[dim]; ++at[dim]) result(at) = results[next][static_cast<std::size_t>(at[dim])];
    ++next;
  });
  return result;
}

/// The same for results of one number, with or without the dimension.
Array of_line(const Array& x, int dim, const std::function<double(const Line&)>& f, bool keep = false) {
  Array result = of_lines(x, dim, [&](const Line& line) { return Line{f(line)}; });
  if (!keep) result.shape.erase(dim);
  return result;
}

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
Row row(std::string name, std::function<Value(const Value&)> function, std::function<double(const Line&)> meaning,
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

std::vector<Row> statistics_rows() {
  std::vector<Row> rows;
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
                  .operands = {{{4, 9}, -1, 2, Operand::Index}},
                  .function = [](const Values& in) { return Values{count_nonzero(in[0], {0})}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        return std::vector<Array>{of_line(
                            in[0], 0, [](const Line& v) { return v.size() - std::count(v.begin(), v.end(), 0.0); })};
                      },
                  .gradient = false});
  rows.push_back({.name = "any_and_all_of_numbers",
                  .operands = {{{9, 2}, -1, 2, Operand::Index}},
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

  // ---- points of a function
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

  // ---- counting
  rows.push_back(
      {.name = "bincount",
       .operands = {{{3, 7}, 0, 6, Operand::Index}, {{3, 7}}},
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
                    .operands = {{{6, 5}, -3, 4, Operand::Index}},
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

const Family statistics(&statistics_rows);

// ---- NaN, infinities, nothing, ties, integers -----------------------------------------------------------------------------

Value list(std::initializer_list<double> values, DType dtype = DType::F32) {
  const TensorData data = TensorData::of<double>({static_cast<std::int64_t>(values.size())}, values);
  return from_data(data.to(dtype), Device::cpu());
}
Line numbers(const Value& x) { return x.data().to_vector<double>(); }

TEST(NanStatistics, LeaveNanOut) {
  const Value x = from_data(TensorData::of<double>({3, 4}, {1, NAN, 3, 5, NAN, NAN, NAN, NAN, 2, 2, NAN, -INFINITY}),
                            Device::cpu());
  EXPECT_EQ(numbers(nansum(x, {1})), (Line{9, 0, -INFINITY}));
  EXPECT_EQ(numbers(narrow(nanmean(x, {1}), 0, 0, 1)), (Line{3}));
  EXPECT_EQ(numbers(narrow(nanvar(x, {1}), 0, 0, 1)), (Line{4}));
  EXPECT_EQ(numbers(narrow(nanstd(x, {1}, 0), 0, 0, 1)), (Line{std::sqrt(8.0 / 3)}));
  EXPECT_EQ(numbers(narrow(nanmax(x, {1}), 0, 0, 1)), (Line{5}));
  EXPECT_EQ(numbers(narrow(nanmin(x, {1}), 0, 2, 1)), (Line{-INFINITY}));
  EXPECT_EQ(numbers(narrow(nanmedian(x, 1).values, 0, 0, 1)), (Line{3}));
  EXPECT_EQ(numbers(narrow(nanmedian(x, 1).indices, 0, 0, 1)), (Line{2}));
  EXPECT_EQ(numbers(narrow(nanquantile(x, 0.25, 1), 0, 0, 1)), (Line{2}));
  for (const Value& result : {nanmean(x, {1}), nanvar(x, {1}), nanmax(x, {1}), nanmin(x, {1}), nanmedian(x, 1).values,
                              nanquantile(x, 0.5, 1)})
    EXPECT_TRUE(std::isnan(numbers(result)[1])) << "of no numbers";
  EXPECT_EQ(nanmean(full({70000}, 1, Device::cpu(), DType::F16), {0}).item(), 1) << "the sum is beyond float16";
  EXPECT_EQ(nansum(list({1, 2}, DType::U8), {0}).item(), 3);
}

TEST(LogSumExp, NeitherOverflowsNorLosesInfinities) {
  const double infinity = INFINITY;
  const auto of = [](std::vector<double> v) {
    return from_data(TensorData::of<double>({static_cast<std::int64_t>(v.size())}, v), Device::cpu().autodiff());
  };
  EXPECT_DOUBLE_EQ(logsumexp(of({1000, 1000}), {0}).item(), 1000 + std::log(2.0));
  EXPECT_EQ(logsumexp(of({-infinity, 3}), {0}).item(), 3);
  EXPECT_EQ(logsumexp(of({infinity, 3}), {0}).item(), infinity);
  EXPECT_EQ(logsumexp(of({}), {0}).item(), -infinity);
  EXPECT_TRUE(std::isnan(logsumexp(of({NAN, 3}), {0}).item()));
  const Value nothing = of({-infinity, -infinity}).require_grad();
  EXPECT_EQ(logsumexp(nothing, {0}).item(), -infinity);
  EXPECT_EQ(numbers(grad(logsumexp(nothing, {0}), Values{nothing})[0]), (Line{0, 0}));
}

TEST(NanStatistics, GiveNanNoGradient) {
  const Value x = from_data(TensorData::of<double>({4}, {1, NAN, 3, 5}), Device::cpu().autodiff()).require_grad();
  EXPECT_EQ(numbers(grad(nansum(x, {0}), Values{x})[0]), (Line{1, 0, 1, 1}));
  EXPECT_EQ(numbers(grad(nanmax(x, {0}), Values{x})[0]), (Line{0, 0, 0, 1}));
  const Line mean = numbers(grad(nanmean(x, {0}), Values{x})[0]);
  EXPECT_DOUBLE_EQ(mean[0], 1.0 / 3);
  EXPECT_EQ(mean[1], 0);
}

TEST(Median, IsNanWhereThereIsOne) {
  const auto [values, indices] = median(list({3, NAN, 1, NAN}), 0);
  EXPECT_TRUE(std::isnan(values.item()));
  EXPECT_EQ(indices.item(), 1);
  EXPECT_TRUE(std::isnan(quantile(list({1, NAN}), 0.0, 0).item()));
  EXPECT_EQ(median(list({4, 1, 3, 2}, DType::I32)).item(), 2);
}

TEST(Quantile, StandsBetweenInfinities) {
  EXPECT_EQ(numbers(quantile(list({INFINITY, INFINITY, -INFINITY, -INFINITY}), std::vector{0.1, 0.9}, 0)),
            (Line{-INFINITY, INFINITY}));
  EXPECT_EQ(quantile(list({1, 2}, DType::I64), 0.5, 0).item(), 1.5);
}

TEST(Variance, OfTooFewElementsIsNotANumber) {
  EXPECT_TRUE(std::isnan(variance(list({3}), {0}).item()));
  EXPECT_EQ(variance(list({3}), {0}, 0).item(), 0);
  EXPECT_EQ(variance(full({70000}, 2, Device::cpu(), DType::F16), {0}).item(), 0) << "the count is beyond float16";
  EXPECT_EQ(variance(list({1, 2, 3, 4}, DType::U8), {0}).item(), static_cast<float>(5.0 / 3));
}

TEST(Histogram, CountsTheLastEdgeAndNothingOutside) {
  const Value x = list({0, 1, 2, 2, 2.5, -0.1, NAN, INFINITY});
  EXPECT_EQ(numbers(histogram(x, list({0, 1, 2})).counts), (Line{1, 3}));
  EXPECT_EQ(numbers(histc(x, 2, 0, 2)), (Line{1, 3}));
  EXPECT_EQ(histc(x, 2, 0, 2).dtype(), DType::F32);
  const auto [counts, edges] = histogram(list({1, 4, 2, 4}), 3);
  EXPECT_EQ(numbers(counts), (Line{1, 1, 2}));
  EXPECT_EQ(numbers(edges), (Line{1, 2, 3, 4}));
  EXPECT_EQ(numbers(histogram(list({3, 3}), 2).edges), (Line{2.5, 3, 3.5}));
  EXPECT_EQ(numbers(histogram(list({}), list({0, 1})).counts), (Line{0}));
}

TEST(Bincount, IsAsLongAsTheLargestNeeds) {
  EXPECT_EQ(numbers(bincount(list({1, 3, 1}, DType::U8))), (Line{0, 2, 0, 1}));
  EXPECT_EQ(numbers(bincount(list({}, DType::I64))), Line{});
  EXPECT_EQ(numbers(bincount(list({}, DType::I64), {}, 2)), (Line{0, 0}));
}

TEST(Unique, CountsNanOnceAndLast) {
  const Distinct d = unique(list({NAN, 1, NAN, -0.0, 0.0}));
  EXPECT_EQ(numbers(d.counts), (Line{2, 1, 2}));
  EXPECT_EQ(numbers(d.inverse), (Line{2, 1, 2, 0, 0}));
  EXPECT_EQ(d.values.numel(), 3);
  EXPECT_EQ(unique(zeros({0, 2}, Device::cpu())).inverse.shape(), (Shape{0, 2}));
  EXPECT_EQ(numbers(unique(list({1, 0, 1}, DType::Bool)).counts), (Line{1, 2}));
  const Value x = from_data(TensorData::of<double>({3}, {2, 1, 2}), Device::cpu().autodiff()).require_grad();
  EXPECT_EQ(numbers(grad(sum(unique(x).values * list({10, 100}, DType::F64)), Values{x})[0]), (Line{100, 10, 0}))
      << "to the first of equals";
}

TEST(Interp, IsLevelOutsideUnlessTold) {
  const Value xs = list({0, 1, 3}), ys = list({5, 7, 3}), x = list({-1, 0, 2, 3, 9, INFINITY});
  EXPECT_EQ(numbers(interp(x, xs, ys)), (Line{5, 5, 5, 3, 3, 3}));
  EXPECT_EQ(numbers(interp(x, xs, ys, -1, -2)), (Line{-1, 5, 5, 3, -2, -2}));
  EXPECT_EQ(numbers(interp(x, list({2}), list({4}))), Line(6, 4));
}

TEST(Diff, OfBooleansAsksWhetherTheyDiffer) {
  EXPECT_EQ(numbers(diff(list({1, 1, 0}, DType::Bool))), (Line{0, 1}));
  EXPECT_EQ(diff(list({1, 2}), 5).numel(), 0);
}

}  // namespace
}  // namespace kiln::test
