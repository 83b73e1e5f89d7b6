// Functions in forms that are asked for now and then: rounded quotients, weighted covariances, searches through an
// order, derivatives at uneven places, paddings that take away, spectra of Hermitian signals, losses of several labels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "kiln/ops/reduce/calculus.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/reduce/unique.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/signal/signal.hpp"
#include "kiln/ops/view/assemble.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

using Function = std::function<Values(const Values&)>;
using Meaning = std::function<std::vector<Array>(const std::vector<Array>&)>;

Array each(Array x, const std::function<double(double)>& f) {
  for (double& value : x.v) value = f(value);
  return x;
}
Array each_of_two(Array x, const Array& y, const std::function<double(double, double)>& f) {
  for (std::size_t i = 0; i < x.v.size(); ++i) x.v[i] = f(x.v[i], y.v[i]);
  return x;
}

/// The slope at place i of the parabola through places j - 1, j, j + 1 (Lagrange).
double parabola_slope(const std::vector<double>& x, const std::vector<double>& y, std::size_t j, std::size_t i) {
  double slope = 0;
  for (std::size_t a = j - 1; a <= j + 1; ++a)
    for (std::size_t b = j - 1; b <= j + 1; ++b) {
      if (b == a) continue;
      const std::size_t c = 3 * j - a - b;
      slope += y[a] * (x[i] - x[c]) / ((x[a] - x[b]) * (x[a] - x[c]));
    }
  return slope;
}
std::vector<double> slopes(const std::vector<double>& x, const std::vector<double>& y, int order) {
  const std::size_t n = y.size();
  std::vector<double> result(n);
  for (std::size_t i = 1; i + 1 < n; ++i) result[i] = parabola_slope(x, y, i, i);
  result[0] = order == 1 ? (y[1] - y[0]) / (x[1] - x[0]) : parabola_slope(x, y, 1, 0);
  result[n - 1] = order == 1 ? (y[n - 1] - y[n - 2]) / (x[n - 1] - x[n - 2]) : parabola_slope(x, y, n - 2, n - 1);
  return result;
}
const std::vector<double> kPlaces = {0, 0.5, 2, 3.25, 3.5, 5};
Array slopes_of_rows(const Array& y, const std::vector<double>& places, int order) {
  Array result(y.shape);
  for (std::int64_t i = 0; i < y.shape[0]; ++i) {
    std::vector<double> row;
    for (std::int64_t j = 0; j < y.shape[1]; ++j) row.push_back(y({i, j}));
    const std::vector<double> found = slopes(places, row, order);
    for (std::int64_t j = 0; j < y.shape[1]; ++j) result({i, j}) = found[static_cast<std::size_t>(j)];
  }
  return result;
}

/// Each observation as often as its frequency says; weighted means and products, from the definition.
Array covariance(const Array& x, const Array* frequencies, const Array* weights, int correction) {
  const std::int64_t rows = x.shape[0], count = x.shape[1];
  const auto share = [&](std::int64_t k) {
    return (frequencies ? (*frequencies)({k}) : 1) * (weights ? (*weights)({k}) : 1);
  };
  double total = 0, squares = 0;
  for (std::int64_t k = 0; k < count; ++k) total += share(k), squares += share(k) * (weights ? (*weights)({k}) : 1);
  Array result({rows, rows});
  each_index(result.shape, [&](const Dims& at) {
    double mean_i = 0, mean_j = 0;
    for (std::int64_t k = 0; k < count; ++k)
      mean_i += share(k) * x({at[0], k}) / total, mean_j += share(k) * x({at[1], k}) / total;
    for (std::int64_t k = 0; k < count; ++k)
      result(at) += share(k) * (x({at[0], k}) - mean_i) * (x({at[1], k}) - mean_j);
    result(at) /= total - correction * squares / total;
  });
  return result;
}

std::vector<OpCase> variant_rows() {
  std::vector<OpCase> rows;
  const auto add = [&](std::string name, std::vector<OperandSpec> operands, Function function, Meaning meaning,
                       double tolerance = 4, bool gradient = true, bool halves = true) {
    rows.push_back({.name = std::move(name),
                    .operands = std::move(operands),
                    .function = std::move(function),
                    .meaning = std::move(meaning),
                    .tolerance = tolerance,
                    .gradient = gradient,
                    .halves = halves});
  };
  add(
      "div_rounded", {{{3, 5}, -9, 9}, {{3, 5}, 0.5, 3}},
      [](const Values& in) {
        return Values{kiln::div(in[0], in[1], Rounding::Trunc), kiln::div(in[0], in[1], Rounding::Floor)};
      },
      [](const std::vector<Array>& in) {
        return std::vector<Array>{
            each_of_two(in[0], in[1],
                        [](double x, double y) { return x / y < 0 ? -std::floor(-x / y) : std::floor(x / y); }),
            each_of_two(in[0], in[1], [](double x, double y) { return std::floor(x / y); })};
      },
      1, true, false);
  add(
      "div_rounded_of_integers", {{{30}, -50, 50, OperandSpec::Index}, {{30}, -4, 5, OperandSpec::Index}},
      [](const Values& in) {
        return Values{kiln::div(in[0], in[1], Rounding::Trunc), kiln::div(in[0], in[1], Rounding::Floor)};
      },
      [](const std::vector<Array>& in) {
        return std::vector<Array>{
            each_of_two(in[0], in[1], [](double x, double y) { return y == 0 ? 0 : std::trunc(x / y); }),
            each_of_two(in[0], in[1], [](double x, double y) { return y == 0 ? 0 : std::floor(x / y); })};
      },
      1, false, false);
  add(
      "round_to_decimals", {{{3, 5}, -60, 60}},
      [](const Values& in) { return Values{kiln::round(in[0], 1), kiln::round(in[0], -1), kiln::round(in[0], 0)}; },
      [](const std::vector<Array>& in) {
        return std::vector<Array>{each(in[0], [](double x) { return std::nearbyint(x * 10) / 10; }),
                                  each(in[0], [](double x) { return std::nearbyint(x / 10) * 10; }),
                                  each(in[0], [](double x) { return std::nearbyint(x); })};
      },
      1, true, false);
  add(
      "round_integers", {{{60}, -60, 60, OperandSpec::Index}},
      [](const Values& in) { return Values{kiln::round(in[0], 2), kiln::round(in[0], -1), kiln::round(in[0], -20)}; },
      [](const std::vector<Array>& in) {
        return std::vector<Array>{in[0], each(in[0], [](double x) { return std::nearbyint(x / 10) * 10; }),
                                  Array(in[0].shape)};
      },
      1, false, false);
  add(
      "fmax_fmin", {{{3, 5}}, {{3, 5}}},
      [](const Values& in) { return Values{kiln::fmax(in[0], in[1]), kiln::fmin(in[0], in[1])}; },
      [](const std::vector<Array>& in) {
        return std::vector<Array>{each_of_two(in[0], in[1], [](double x, double y) { return x > y ? x : y; }),
                                  each_of_two(in[0], in[1], [](double x, double y) { return x < y ? x : y; })};
      });
  add(
      "isin", {{{4, 5}, 0, 20, OperandSpec::Index}, {{2, 3}, 0, 20, OperandSpec::Index}},
      [](const Values& in) { return Values{isin(in[0], in[1])}; },
      [](const std::vector<Array>& in) {
        return std::vector<Array>{each(in[0], [&](double x) {
          return std::find(in[1].v.begin(), in[1].v.end(), x) == in[1].v.end() ? 0.0 : 1.0;
        })};
      },
      1, false, false);
  for (const int order : {1, 2}) {
    add(
        text("gradient_of_order_", order), {{{3, 6}}},
        [=](const Values& in) { return gradient(in[0], 0.5, Dims{}, order); },
        [=](const std::vector<Array>& in) {
          Array turned({6, 3}), back({3, 6});
          each_index(back.shape, [&](const Dims& i) { turned({i[1], i[0]}) = in[0](i); });
          const Array down = slopes_of_rows(turned, {0, 0.5, 1}, order);
          each_index(back.shape, [&](const Dims& i) { back(i) = down({i[1], i[0]}); });
          return std::vector<Array>{back, slopes_of_rows(in[0], {0, 0.5, 1, 1.5, 2, 2.5}, order)};
        },
        16);
    add(
        text("gradient_at_places_of_order_", order), {{{2, 6}}},
        [=](const Values& in) {
          const Value places = from_data(TensorData::of<double>({6}, kPlaces).to(in[0].dtype()), in[0].device());
          return Values{gradient(in[0], places, 1, order)};
        },
        [=](const std::vector<Array>& in) { return std::vector<Array>{slopes_of_rows(in[0], kPlaces, order)}; }, 32);
  }
  add(
      "cov_by_weights", {{{3, 6}}, {{6}, 0.5, 2}},
      [](const Values& in) {
        return Values{cov(in[0], {.weights = in[1]}), cov(in[0], {.correction = 0, .weights = in[1]})};
      },
      [](const std::vector<Array>& in) {
        return std::vector<Array>{covariance(in[0], nullptr, &in[1], 1), covariance(in[0], nullptr, &in[1], 0)};
      },
      8);
  add(
      "cov_by_frequencies", {{{3, 6}}, {{6}, 1, 4, OperandSpec::Index}, {{6}, 0.5, 2}},
      [](const Values& in) {
        return Values{cov(in[0], {.frequencies = in[1]}), cov(in[0], {.frequencies = in[1], .weights = in[2]})};
      },
      [](const std::vector<Array>& in) {
        return std::vector<Array>{covariance(in[0], &in[1], nullptr, 1), covariance(in[0], &in[1], &in[2], 1)};
      },
      8);
  add(
      "searchsorted_through_a_sorter", {{{2, 6}}, {{2, 5}}},
      [](const Values& in) {
        const Value sorter = argsort(in[0], -1);
        return Values{searchsorted(in[0], in[1], false, sorter), searchsorted(in[0], in[0], true, sorter)};
      },
      [](const std::vector<Array>& in) {
        const auto count = [&](const Array& values, bool right) {
          Array result(values.shape);
          each_index(values.shape, [&](const Dims& i) {
            for (std::int64_t k = 0; k < 6; ++k)
              result(i) += right ? in[0]({i[0], k}) <= values(i) : in[0]({i[0], k}) < values(i);
          });
          return result;
        };
        return std::vector<Array>{count(in[1], false), count(in[0], true)};
      },
      1, false);
  add(
      "pad_by_less_than_nothing", {{{4, 5}}},
      [](const Values& in) {
        return Values{pad(in[0], {-1, 2}, {1, -3}, 7), pad(in[0], {-2, 0}, {-1, -5}),
                      pad(in[0], {0, -1}, {0, 2}, PadMode::Edge)};
      },
      [](const std::vector<Array>& in) {
        Array first({4, 4}, 7), second({1, 0}), third({4, 6});
        for (std::int64_t i = 0; i < 3; ++i)
          for (std::int64_t j = 0; j < 2; ++j) first({i, j + 2}) = in[0]({i + 1, j});
        each_index(third.shape, [&](const Dims& i) { third(i) = in[0]({i[0], std::min<std::int64_t>(i[1] + 1, 4)}); });
        return std::vector<Array>{first, second, third};
      });
  // The transform of the whole signal: its second half is the conjugate of the first, mirrored.
  const auto hermitian = [](const Array& z, std::int64_t n, double scale) {
    Array result({n});
    for (std::int64_t k = 0; k < n; ++k)
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t from = 2 * j <= n ? j : n - j;
        std::complex<double> x(z({from, 0}), 2 * j <= n ? z({from, 1}) : -z({from, 1}));
        if (j == 0 || 2 * j == n) x = x.real();
        result({k}) +=
            scale * (x * std::polar(1.0, -2 * M_PI * static_cast<double>(j * k) / static_cast<double>(n))).real();
      }
    return result;
  };
  add(
      "hfft", {{{4, 2}}},
      [](const Values& in) { return Values{hfft(in[0]), hfft(in[0], {.n = 7, .norm = FftNorm::Forward})}; },
      [=](const std::vector<Array>& in) {
        return std::vector<Array>{hermitian(in[0], 6, 1), hermitian(in[0], 7, 1.0 / 7)};
      },
      16);
  add(
      "ihfft", {{{6}}}, [](const Values& in) { return Values{ihfft(in[0])}; },
      [](const std::vector<Array>& in) {
        Array result({4, 2});
        for (std::int64_t k = 0; k < 4; ++k)
          for (std::int64_t j = 0; j < 6; ++j) {
            result({k, 0}) += in[0]({j}) * std::cos(M_PI * static_cast<double>(j * k) / 3) / 6;
            result({k, 1}) += in[0]({j}) * std::sin(M_PI * static_cast<double>(j * k) / 3) / 6;
          }
        return std::vector<Array>{result};
      });
  // The transforms of real numbers, there and back.
  add(
      "hfftn", {{{2, 4, 6}}},
      [](const Values& in) {
        return Values{hfft2(ihfft2(in[0])), hfftn(ihfftn(in[0], {.norm = FftNorm::Ortho}), {.norm = FftNorm::Ortho})};
      },
      [](const std::vector<Array>& in) { return std::vector<Array>{in[0], in[0]}; }, 8);
  add(
      "multilabel_margin_loss", {{{3, 4}}, {{3, 4}, -1, 4, OperandSpec::Index}},
      [](const Values& in) {
        return Values{multilabel_margin_loss(in[0], in[1], Reduction::None), multilabel_margin_loss(in[0], in[1])};
      },
      [](const std::vector<Array>& in) {
        Array losses({3}), average{Shape{}};
        for (std::int64_t n = 0; n < 3; ++n) {
          std::vector<std::int64_t> labels;
          for (std::int64_t j = 0; j < 4 && in[1]({n, j}) >= 0; ++j)
            labels.push_back(static_cast<std::int64_t>(in[1]({n, j})));
          for (const std::int64_t label : labels)
            for (std::int64_t i = 0; i < 4; ++i)
              if (std::find(labels.begin(), labels.end(), i) == labels.end())
                losses({n}) += std::fmax(0, 1 - in[0]({n, label}) + in[0]({n, i})) / 4;
          average.v[0] += losses({n}) / 3;
        }
        return std::vector<Array>{losses, average};
      });
  add(
      "multilabel_soft_margin_loss", {{{3, 4}}, {{3, 4}, 0, 1}, {{4}, 0.5, 2}},
      [](const Values& in) {
        return Values{multilabel_soft_margin_loss(in[0], in[1], in[2], Reduction::None),
                      multilabel_soft_margin_loss(in[0], in[1])};
      },
      [](const std::vector<Array>& in) {
        Array losses({3}), average{Shape{}};
        each_index({3, 4}, [&](const Dims& i) {
          const double share = 1 / (1 + std::exp(-in[0](i))), t = in[1](i);
          const double loss = -(t * std::log(share) + (1 - t) * std::log(1 - share));
          losses({i[0]}) += loss * in[2]({i[1]}) / 4;
          average.v[0] += loss / 12;
        });
        return std::vector<Array>{losses, average};
      },
      8);
  return rows;
}

const Family kVariants(&variant_rows);

Value doubles(const Shape& shape, const std::vector<double>& numbers) {
  return from_data(TensorData::of<double>(shape, std::span<const double>(numbers)), Device::cpu());
}
std::vector<std::int64_t> whole(const Value& x) { return x.data().to_vector<std::int64_t>(); }
const double kNan = std::nan("");

TEST(Unique, FindsTheDistinctSlicesOfADimension) {
  const Value x = doubles({5, 2}, {2, 1, 1, 3, 2, 1, 1, 0, 1, 3});
  const Distinct rows = unique(x, 0);
  EXPECT_EQ(whole(rows.values), (std::vector<std::int64_t>{1, 0, 1, 3, 2, 1}));
  EXPECT_EQ(whole(rows.inverse), (std::vector<std::int64_t>{2, 1, 2, 0, 1}));
  EXPECT_EQ(whole(rows.counts), (std::vector<std::int64_t>{1, 2, 2}));
  const Distinct columns = unique(transpose(x), -1);
  EXPECT_EQ(columns.values.shape(), (Shape{2, 3}));
  EXPECT_EQ(whole(columns.inverse), whole(rows.inverse));
  const Distinct runs = unique_consecutive(doubles({4}, {3, 3, 1, 3}), 0);
  EXPECT_EQ(whole(runs.values), (std::vector<std::int64_t>{3, 1, 3}));
  EXPECT_EQ(whole(runs.counts), (std::vector<std::int64_t>{2, 1, 1}));
  EXPECT_EQ(whole(unique(doubles({3, 2}, {1, kNan, kNan, 0, 1, kNan}), 0).counts), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(unique(zeros({0, 3}, Device::cpu()), 0).values.shape(), (Shape{0, 3}));
  EXPECT_EQ(whole(unique(zeros({3, 0}, Device::cpu()), 0).counts), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(unique(zeros({}, Device::cpu()), 0).values.shape(), (Shape{1}));
}

TEST(Fmax, PassesNanOver) {
  const Value x = doubles({4}, {kNan, 1, kNan, -2}), y = doubles({4}, {3, kNan, kNan, -1});
  const TensorData most = kiln::fmax(x, y).data(), least = kiln::fmin(x, y).data();
  EXPECT_EQ(most.at(0), 3);
  EXPECT_EQ(least.at(1), 1);
  EXPECT_TRUE(std::isnan(most.at(2)));
  EXPECT_EQ(most.at(3), -1);
  EXPECT_EQ(least.at(3), -2);
}

TEST(Isin, FindsNoNan) {
  EXPECT_EQ(whole(isin(doubles({3}, {kNan, 1, 2}), doubles({2}, {kNan, 2}))), (std::vector<std::int64_t>{0, 0, 1}));
  EXPECT_EQ(whole(isin(doubles({2}, {1, 2}), 2)), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(whole(isin(doubles({2}, {1, 2}), doubles({0}, {}))), (std::vector<std::int64_t>{0, 0}));
}

TEST(Round, LeavesNumbersAloneThatHaveNoSuchDigits) {
  EXPECT_EQ(kiln::round(doubles({1}, {1e300}), 100).item(), 1e300);
  EXPECT_EQ(kiln::round(full({1}, 60000.0, Device::cpu(), DType::F16), 3).item(), 60000);
  EXPECT_NEAR(kiln::round(full({1}, 0.1234, Device::cpu(), DType::F16), 2).item(), 0.12, 1e-4);
}

TEST(Attention, DropsSharesAndScalesTheOthers) {
  const Device device = Device::cpu();
  const Value q = normal({2, 2, 40, 8}, 0, 1, device, DType::F32, Key{1}),
              k = normal({2, 2, 50, 8}, 0, 1, device, DType::F32, Key{2});
  // With the identity for v the result is the shares themselves.
  const Value v = expand(
      reshape(cast(eq(unsqueeze(arange(0, 50, 1, device), 1), arange(0, 50, 1, device)), DType::F32), {1, 1, 50, 50}),
      {2, 2, 50, 50});
  for (const bool causal : {false, true}) {
    const TensorData all = attention(q, k, v, {.causal = causal}).data();
    const TensorData some = attention(q, k, v, {.causal = causal, .dropout = 0.25, .key = Key{3}}).data();
    std::int64_t dropped = 0, counted = 0;
    for (std::int64_t i = 0; i < all.numel(); ++i) {
      if (all.at(i) == 0) {
        EXPECT_EQ(some.at(i), 0);
        continue;
      }
      ++counted;
      if (some.at(i) == 0) ++dropped;
      else EXPECT_NEAR(some.at(i), all.at(i) / 0.75, 1e-6);
    }
    EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(counted), 0.25, 0.03);
  }
  const Value again = attention(q, k, v, {.dropout = 0.25, .key = Key{3}});
  EXPECT_EQ(whole(again * 1e6), whole(attention(q, k, v, {.dropout = 0.25, .key = Key{3}}) * 1e6));
  EXPECT_EQ(attention(cast(q, DType::BF16), cast(k, DType::BF16), cast(v, DType::BF16), {.dropout = 0.5}).dtype(),
            DType::BF16);
  EXPECT_EQ(max_abs(attention(q, k, v, {.dropout = 1}), all_dims(q)).item(), 0);
}

}  // namespace
}  // namespace kiln::test
