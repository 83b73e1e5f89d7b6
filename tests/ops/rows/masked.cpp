// Statistics under a mask: the meaning gathers the elements that count and looks at them alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/reduce/masked.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

using List = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

/// f of the elements of each row of x [3, 5] where the mask [5] is true, or of column 0 alone if none is.
std::vector<Array> each_row(const std::vector<Array>& in, const std::function<double(const List&)>& f) {
  Array result({3});
  for (std::int64_t i = 0; i < 3; ++i) {
    List counted;
    for (std::int64_t j = 0; j < 5; ++j)
      if (j == 0 || in[1]({j}) != 0) counted.push_back(in[0]({i, j}));
    result({i}) = f(counted);
  }
  return {result};
}
/// The mask of each_row().
Value flags(const Values& in) { return logical_or(in[1], lt(arange(0, 5, 1, in[1].device()), 1)); }

double total(const List& x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return sum;
}
double spread(const List& x) {
  double sum = 0;
  const double mean = total(x) / static_cast<double>(x.size());
  for (const double value : x) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(x.size());
}

std::vector<OpCase> masked_rows() {
  std::vector<OpCase> rows;
  const auto add = [&](const char* name, std::function<Value(const Value&, const Value&)> function,
                       std::function<double(const List&)> f, bool gradient = true) {
    rows.push_back({.name = name,
                    .operands = {{{3, 5}}, {{5}, 0, 1, OperandSpec::Flag}},
                    .function = [=](const Values& in) { return Values{function(in[0], flags(in))}; },
                    .meaning = [=](const std::vector<Array>& in) { return each_row(in, f); },
                    .tolerance = 8,
                    .gradient = gradient});
  };
  using V = const Value&;
  add("masked_sum", [](V x, V m) { return masked_sum(x, m, {1}); }, total);
  add(
      "masked_prod", [](V x, V m) { return masked_prod(x, m, {-1}); },
      [](const List& x) {
        double product = 1;
        for (const double value : x) product *= value;
        return product;
      });
  add(
      "masked_mean", [](V x, V m) { return masked_mean(x, m, {1}); },
      [](const List& x) { return total(x) / static_cast<double>(x.size()); });
  add(
      "masked_max", [](V x, V m) { return masked_max(x, m, {1}); },
      [](const List& x) { return *std::max_element(x.begin(), x.end()); });
  add(
      "masked_min", [](V x, V m) { return masked_min(x, m, {1}); },
      [](const List& x) { return *std::min_element(x.begin(), x.end()); });
  add("masked_var", [](V x, V m) { return masked_var(x, m, {1}, 0); }, spread);
  add(
      "masked_norm", [](V x, V m) { return masked_norm(x, m, 3, {1}); },
      [](const List& x) {
        double sum = 0;
        for (const double value : x) sum += std::pow(std::fabs(value), 3);
        return std::cbrt(sum);
      });
  add(
      "masked_least_norm", [](V x, V m) { return masked_norm(x, m, -1, {1}); },
      [](const List& x) {
        double sum = 0;
        for (const double value : x) sum += 1 / std::fabs(value);
        return 1 / sum;
      });
  add(
      "masked_logsumexp", [](V x, V m) { return masked_logsumexp(x, m, {1}); },
      [](const List& x) {
        double sum = 0;
        for (const double value : x) sum += std::exp(value);
        return std::log(sum);
      });
  add(
      "masked_median", [](V x, V m) { return masked_median(x, m, 1); },
      [](List x) {
        std::sort(x.begin(), x.end());
        return x[(x.size() - 1) / 2];
      });
  // Where the mask is true, what is counted before element j of a row; elsewhere `none`.
  const auto along = [&](const char* name, std::function<Value(const Value&, const Value&)> function, double none,
                         std::function<double(const List& row, double own)> f) {
    rows.push_back({.name = name,
                    .operands = {{{3, 5}}, {{3, 5}, 0, 1, OperandSpec::Flag}},
                    .function =
                        [=](const Values& in) {
                          const Value result = function(in[0], in[1]);
                          return Values{where(in[1], result, none == none ? none : 0.0)};
                        },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Array result({3, 5}, none);
                          each_index({3, 5}, [&](const Dims& i) {
                            List row;
                            for (std::int64_t j = 0; j < 5; ++j)
                              if (in[1]({i[0], j}) != 0) row.push_back(in[0]({i[0], j}));
                            if (in[1](i) != 0) result(i) = f(row, in[0](i));
                          });
                          return std::vector<Array>{result};
                        },
                    .tolerance = 8});
  };
  const auto share = [](const List& row, double own) {
    double sum = 0;
    for (const double value : row) sum += std::exp(value - own);
    return 1 / sum;
  };
  along("masked_softmax", [](V x, V m) { return masked_softmax(x, m, 1); }, 0, share);
  along(
      "masked_softmin", [](V x, V m) { return masked_softmin(x, m, 1); }, 0,
      [=](List row, double own) {
        for (double& value : row) value = -value;
        return share(row, -own);
      });
  along(
      "masked_log_softmax", [](V x, V m) { return masked_log_softmax(x, m, 1); }, 0,
      [=](const List& row, double own) { return std::log(share(row, own)); });
  along(
      "masked_normalize", [](V x, V m) { return masked_normalize(x, m, 2, 1); }, 0,
      [](const List& row, double own) {
        double sum = 0;
        for (const double value : row) sum += value * value;
        return own / std::sqrt(sum);
      });
  rows.push_back(
      {.name = "masked_scans",
       .operands = {{{3, 5}}, {{3, 5}, 0, 1, OperandSpec::Flag}},
       .function =
           [](const Values& in) { return Values{masked_cumsum(in[0], in[1], 1), masked_cumprod(in[0], in[1], 1)}; },
       .meaning =
           [](const std::vector<Array>& in) {
             Array sums({3, 5}), products({3, 5});
             for (std::int64_t i = 0; i < 3; ++i) {
               double sum = 0, product = 1;
               for (std::int64_t j = 0; j < 5; ++j) {
                 if (in[1]({i, j}) != 0) sum += in[0]({i, j}), product *= in[0]({i, j});
                 sums({i, j}) = sum;
                 products({i, j}) = product;
               }
             }
             return std::vector<Array>{sums, products};
           },
       .tolerance = 4});
  rows.push_back({.name = "masked_places",
                  .operands = {{{3, 5}}, {{5}, 0, 1, OperandSpec::Flag}},
                  .function =
                      [](const Values& in) {
                        return Values{masked_argmax(in[0], flags(in), 1), masked_argmin(in[0], flags(in), 1),
                                      masked_std(in[0], flags(in), {1}, 0)};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array most({3}), least({3});
                        for (std::int64_t i = 0; i < 3; ++i)
                          for (std::int64_t j = 1; j < 5; ++j) {
                            if (in[1]({j}) == 0) continue;
                            const auto element = [&](double place) {
                              return in[0]({i, static_cast<std::int64_t>(place)});
                            };
                            if (in[0]({i, j}) > element(most({i}))) most({i}) = static_cast<double>(j);
                            if (in[0]({i, j}) < element(least({i}))) least({i}) = static_cast<double>(j);
                          }
                        Array deviations = each_row(in, spread)[0];
                        for (double& value : deviations.v) value = std::sqrt(value);
                        return std::vector<Array>{most, least, deviations};
                      },
                  .tolerance = 4,
                  .gradient = false});
  return rows;
}

const Family kMasked(&masked_rows);

TEST(Masked, StatisticsOfNothingAreThoseOfAnEmptyList) {
  const Value x = ones({2, 3}, Device::cpu()), none = zeros({2, 3}, Device::cpu(), DType::Bool);
  EXPECT_EQ(at(masked_sum(x, none, {1}), 0, 0).item(), 0);
  EXPECT_EQ(at(masked_prod(x, none, {1}), 0, 0).item(), 1);
  EXPECT_EQ(at(masked_max(x, none, {1}), 0, 0).item(), -kInf);
  EXPECT_EQ(at(masked_min(x, none, {1}), 0, 1).item(), kInf);
  EXPECT_EQ(at(masked_max(cast(x, DType::I8), none, {1}), 0, 0).item(), -128);
  EXPECT_EQ(at(masked_logsumexp(x, none, {1}), 0, 0).item(), -kInf);
  for (const Value& result : {masked_mean(x, none, {1}), masked_var(x, none, {1}), masked_median(x, none, 1)})
    EXPECT_TRUE(std::isnan(at(result, 0, 0).item()));
  EXPECT_EQ(max(masked_softmax(x, none, 1)).item(), 0);
  EXPECT_EQ(max(masked_log_softmax(x, none, 1)).item(), -kInf);
}

TEST(Masked, WhatTheMaskHidesHasNoGradient) {
  const Value x = full({3}, 2.0, Device::cpu().autodiff()).require_grad();
  const Value mask = lt(arange(0, 3, 1, x.device()), 2), none = lt(arange(0, 3, 1, x.device()), 0);
  const auto slope = [&](const Value& result) { return grad(sum(result), {&x, 1})[0].data().to_vector<double>(); };
  EXPECT_EQ(slope(masked_std(x, mask, {0})), (std::vector<double>{0, 0, 0}));  // of equal elements it is 0, as std's
  EXPECT_EQ(slope(masked_sum(x, mask, {0})), (std::vector<double>{1, 1, 0}));
  EXPECT_EQ(slope(masked_softmax(x, none, 0)), (std::vector<double>{0, 0, 0}));
}

}  // namespace
}  // namespace kiln::test
