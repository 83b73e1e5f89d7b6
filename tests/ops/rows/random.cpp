// Draws against closed-form distribution functions, by fixed keys: Kolmogorov's and Smirnov's distance for continuous
// ones, chi-square for discrete ones. The bounds are those that chance exceeds less than once in a thousand.
#include "kiln/ops/create/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kiln/autodiff/backward.hpp"
#include "kiln/core/parallel.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

const Key kKey{42};

// ---- rows: the distributions whose draws are functions of their parameters ------------------------------------------

double unit(std::size_t i) { return to_uniform(random_word(kKey, 2 * i), random_word(kKey, 2 * i + 1)); }

double standard_normal(std::size_t i) {
  const std::size_t pair = i / 2 * 2;
  const double distance = std::sqrt(-2 * std::log(1 - unit(pair))), angle = 2 * M_PI * unit(pair + 1);
  return distance * (i == pair ? std::cos(angle) : std::sin(angle));
}

double standard_exponential(std::size_t i) {
  const double high = random_word(kKey, 2 * i), low = random_word(kKey, 2 * i + 1) >> 12;
  return -std::log((high * 0x1p20 + low + 0.5) * 0x1p-52);
}

std::vector<OpCase> random_rows() {
  std::vector<OpCase> rows;
  const auto add = [&](const char* name, std::vector<OperandSpec> operands,
                       std::function<Value(const Values&)> function,
                       std::function<double(const std::vector<double>&, std::size_t)> f) {
    rows.push_back({.name = name,
                    .operands = std::move(operands),
                    // In float64 whatever the operands are: there a draw has other words.
                    .function =
                        [function](const Values& in) {
                          Values wide;
                          for (const Value& x : in) wide.push_back(cast(x, DType::F64));
                          return Values{function(wide)};
                        },
                    .meaning =
                        [f](const std::vector<Array>& in) {
                          Array result({3, 4});
                          std::size_t i = 0;
                          each_index(result.shape, [&](const Dims& index) {
                            std::vector<double> at;
                            for (const Array& x : in) at.push_back(broadcast_at(x, index));
                            result(index) = f(at, i++);
                          });
                          return std::vector<Array>{result};
                        }});
  };
  add(
      "uniform_between", {{{3, 4}, -2, 0}, {{4}, 1, 2}}, [](const Values& in) { return uniform(in[0], in[1], kKey); },
      [](const auto& x, std::size_t i) { return x[0] + (x[1] - x[0]) * unit(i); });
  add(
      "normal_around", {{{3, 1}, -2, 2}, {{4}, 1, 2}}, [](const Values& in) { return normal(in[0], in[1], kKey); },
      [](const auto& x, std::size_t i) { return x[0] + x[1] * standard_normal(i); });
  add(
      "exponential_of_rates", {{{3, 4}, 0.5, 2}}, [](const Values& in) { return exponential(in[0], kKey); },
      [](const auto& x, std::size_t i) { return standard_exponential(i) / x[0]; });
  add(
      "draws_like", {{{3, 4}}},
      [](const Values& in) {
        return in[0] + normal_like(in[0], 1, 2, kKey) + uniform_like(in[0], 3, 4, kKey) +
               exponential_like(in[0], 2, kKey);
      },
      [](const auto& x, std::size_t i) {
        return x[0] + 1 + 2 * standard_normal(i) + 3 + unit(i) + standard_exponential(i) / 2;
      });
  return rows;
}

const Family kRandom(&random_rows);

// ---- against distribution functions ---------------------------------------------------------------------------------

constexpr std::int64_t kCount = 20000;

std::vector<double> numbers(const Value& draws) { return draws.data().to_vector<double>(); }

/// The largest distance between the share of draws up to x and cdf(x), times the root of their number.
double distance(const Value& draws, const std::function<double(double)>& cdf) {
  std::vector<double> x = numbers(draws);
  std::sort(x.begin(), x.end());
  const auto count = static_cast<double>(x.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = cdf(x[i]);
    worst = std::max({worst, std::abs(static_cast<double>(i) / count - expected),
                      std::abs(static_cast<double>(i + 1) / count - expected)});
  }
  return worst * std::sqrt(count);
}
constexpr double kFar = 1.95;

/// The draws' counts against expected ones, in standard deviations of chi-square above its mean.
double excess(const std::vector<double>& found, const std::vector<double>& expected) {
  double square = 0;
  for (std::size_t i = 0; i < found.size(); ++i) square += std::pow(found[i] - expected[i], 2) / expected[i];
  const auto freedom = static_cast<double>(found.size() - 1);
  return (square - freedom) / std::sqrt(2 * freedom);
}
constexpr double kUnlikely = 4;

/// excess() for whole numbers with a probability each; those expected fewer than 8 times are put together.
double excess(const Value& draws, std::int64_t least, std::int64_t most,
              const std::function<double(double)>& probability) {
  const std::vector<double> x = numbers(draws);
  const auto count = static_cast<double>(x.size());
  std::map<double, double> counts;
  for (const double value : x) ++counts[value];
  std::vector<double> found{0}, expected{0};
  double rest = count, unseen = count;
  for (std::int64_t k = least; k <= most; ++k) {
    if (expected.back() >= 8) found.push_back(0), expected.push_back(0);
    const auto value = static_cast<double>(k);
    expected.back() += count * probability(value);
    found.back() += counts[value];
    rest -= count * probability(value);
    unseen -= counts[value];
  }
  expected.back() += std::max(rest, 0.0);
  found.back() += unseen;
  return excess(found, expected);
}

double normal_cdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

/// The lower incomplete gamma function over Gamma(a), by its power series.
double gamma_cdf(double a, double x) {
  if (x <= 0) return 0;
  double sum = 0, term = 1 / std::tgamma(a + 1);
  for (int n = 1; term > 1e-18 * sum && n < 2000; ++n) sum += term, term *= x / (a + n);
  return std::pow(x, a) * std::exp(-x) * sum;
}

class RandomOn : public testing::TestWithParam<std::tuple<const char*, DType>> {
 protected:
  Device device = Device::parse(std::get<0>(GetParam()));
  DType dtype = std::get<1>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, RandomOn,
                         testing::Combine(testing::Values("cpu", "reference"), testing::Values(DType::F32, DType::F64)),
                         [](const auto& info) { return text(std::get<0>(info.param), "_", std::get<1>(info.param)); });

TEST_P(RandomOn, ContinuousDrawsFollowTheirDistributionFunctions) {
  const auto check = [&](const char* name, const Value& draws, const std::function<double(double)>& cdf) {
    EXPECT_EQ(draws.dtype(), dtype) << name;
    EXPECT_LT(distance(draws, cdf), kFar) << name;
  };
  check("uniform", uniform({kCount}, -1, 3, device, dtype, kKey), [](double x) { return (x + 1) / 4; });
  check("normal", normal({kCount}, 2, 3, device, dtype, kKey), [](double x) { return normal_cdf((x - 2) / 3); });
  check("exponential", exponential({kCount}, 0.5, device, dtype, kKey), [](double x) { return 1 - std::exp(-x / 2); });
  for (const double a : {0.3, 0.5, 1.0, 1.5, 4.0, 20.0})
    check("gamma", gamma({kCount}, a, 2, device, dtype, kKey), [a](double x) { return gamma_cdf(a, x / 2); });
  check("beta(2, 3)", beta({kCount}, 2, 3, device, dtype, kKey),
        [](double x) { return x * x * (6 - 8 * x + 3 * x * x); });
  check("beta(1/2, 1/2)", beta({kCount}, 0.5, 0.5, device, dtype, kKey),
        [](double x) { return 2 / M_PI * std::asin(std::sqrt(x)); });
  check("beta(1, 5)", beta({kCount}, 1, 5, device, dtype, kKey), [](double x) { return 1 - std::pow(1 - x, 5); });

  const std::pair<double, double> bounds[] = {
      {-2, 2},  {-INFINITY, INFINITY}, {-0.25, 0.5}, {0, INFINITY}, {-1, 0},       {0.5, 9}, {1, 1.25}, {4, 6},
      {-6, -4}, {-INFINITY, -5},       {8, 8.01},    {-0.5, 7},     {30, INFINITY}};
  for (const auto& [low, high] : bounds) {
    const Value z = truncated_normal({kCount}, {0, 1, low, high}, device, dtype, kKey);
    // From the tail that is nearer, so that the differences keep their digits.
    const double side = low > 0 ? -1 : 1, first = normal_cdf(side > 0 ? low : -high),
                 last = normal_cdf(side > 0 ? high : -low);
    check(text("truncated_normal ", low, " ", high).c_str(), z, [&](double x) {
      const double share = (normal_cdf(side * x) - first) / (last - first);
      return side > 0 ? share : 1 - share;
    });
    EXPECT_TRUE(all(logical_and(ge(z, low), le(z, high))).item() != 0) << low << " to " << high;
  }
  const Value shifted = truncated_normal({kCount}, {5, 2, 4, 6}, device, dtype, kKey);
  const double edge = normal_cdf(-0.5);
  check("truncated_normal around 5", shifted,
        [&](double x) { return (normal_cdf((x - 5) / 2) - edge) / (1 - 2 * edge); });
}

TEST_P(RandomOn, SmallShapesKeepTheirLogarithms) {
  // With a shape a, -a log x nears a standard exponential; what underflows is 0.
  const Value x = gamma({kCount}, 0.02, 1, device, DType::F64, kKey);
  EXPECT_LT(distance(x, [](double t) { return gamma_cdf(0.02, t); }), kFar);
  // Beta of tiny shapes is 0 or 1, with odds of a to b.
  const double mean = kiln::mean(beta({kCount}, 1e-3, 3e-3, device, dtype, kKey)).item();
  EXPECT_NEAR(mean, 0.25, 5 * std::sqrt(0.1875 / kCount));
}

TEST_P(RandomOn, CountsFollowTheirProbabilities) {
  for (const double rate : {0.05, 0.7, 3.0, 9.99, 10.0, 25.5, 400.0}) {
    const auto spread = static_cast<std::int64_t>(6 * std::sqrt(rate) + 6), middle = static_cast<std::int64_t>(rate);
    const auto probability = [rate](double k) { return std::exp(k * std::log(rate) - rate - std::lgamma(k + 1)); };
    EXPECT_LT(excess(poisson({kCount}, rate, device, dtype, kKey), std::max<std::int64_t>(0, middle - spread),
                     middle + spread, probability),
              kUnlikely)
        << rate;
  }
  // Large rates are nearly normal.
  for (const double rate : {1e6, 1e10})
    EXPECT_LT(distance(poisson({kCount}, rate, device, DType::F64, kKey),
                       [rate](double k) { return normal_cdf((k + 0.5 - rate) / std::sqrt(rate)); }),
              kFar)
        << rate;
  for (const double rate : {1e15, 1e30})
    EXPECT_NEAR(mean(poisson({kCount}, rate, device, DType::F64, kKey)).item() / rate, 1, 1 / std::sqrt(rate) + 1e-12);
  const Value ones = bernoulli({kCount}, 0.3, device, dtype, kKey);
  EXPECT_LT(excess(ones, 0, 1, [](double k) { return k == 1 ? 0.3 : 0.7; }), kUnlikely);
  EXPECT_EQ(numbers(bernoulli(full({kCount}, 0.3, device, dtype), kKey)), numbers(ones));
}

TEST_P(RandomOn, TensorsOfParametersDrawAsTheirNumbersDo) {
  const Value rows = from_data(TensorData::of<double>({2, 1}, {0.5, 30}).to(dtype), device);
  const Value a = expand(rows, {2, 500});
  const auto second = [&](const Value& x) { return numbers(at(x, 0, 1)); };
  const auto alone = [&](const Value& x) { return numbers(narrow(x, 0, 500, 500)); };
  EXPECT_EQ(second(gamma(a, kKey)), alone(gamma({1000}, 30, 1, device, dtype, kKey)));
  EXPECT_EQ(second(poisson(a, kKey)), alone(poisson({1000}, 30, device, dtype, kKey)));
  EXPECT_EQ(second(beta(a, 2, kKey)), alone(beta({1000}, 30, 2, device, dtype, kKey)));
  EXPECT_EQ(second(beta(2, transpose(expand(transpose(rows), {500, 2})), kKey)),
            alone(beta({1000}, 2, 30, device, dtype, kKey)));
}

TEST_P(RandomOn, WhatIsNoParameterGivesNan) {
  const Value wrong = from_data(TensorData::of<double>({3}, {-1, 0, std::nan("")}).to(dtype), device);
  const auto is_nan = [](const Value& x) { return numbers(kiln::is_nan(x)); };
  using Numbers = std::vector<double>;
  EXPECT_EQ(is_nan(gamma(wrong, kKey)), (Numbers{1, 1, 1}));
  EXPECT_EQ(is_nan(beta(wrong, 1, kKey)), (Numbers{1, 1, 1}));
  EXPECT_EQ(is_nan(poisson(wrong, kKey)), (Numbers{1, 0, 1}));
  EXPECT_EQ(is_nan(exponential(wrong, kKey)), (Numbers{1, 0, 1}));
  EXPECT_EQ(numbers(exponential(wrong, kKey))[1], INFINITY);
  EXPECT_EQ(numbers(poisson(wrong, kKey))[1], 0);
  EXPECT_EQ(numbers(bernoulli(from_data(TensorData::of<double>({3}, {-1, 2, std::nan("")}).to(dtype), device), kKey)),
            (Numbers{0, 1, 0}));
  const Value most = full({2}, INFINITY, device, dtype);
  EXPECT_EQ(numbers(gamma(most, kKey)), (Numbers{INFINITY, INFINITY}));
  EXPECT_EQ(numbers(poisson(most, kKey)), (Numbers{INFINITY, INFINITY}));
  EXPECT_EQ(numbers(beta(most, 1, kKey)), (Numbers{1, 1}));
  EXPECT_EQ(numbers(beta(1, most, kKey)), (Numbers{0, 0}));
  EXPECT_EQ(numbers(beta(most, most, kKey)), (Numbers{0.5, 0.5}));
}

TEST_P(RandomOn, BoundsFarOutNeitherHangNorLeave) {
  for (const auto& [low, high] :
       {std::pair<double, double>{1e8, INFINITY}, {1e17, 1e18}, {1e200, INFINITY}, {-1e300, -1e299}}) {
    const Value z = truncated_normal({100}, {0, 1, low, high}, device, DType::F64, kKey);
    EXPECT_GE(min(z).item(), low);
    EXPECT_LE(max(z).item(), high);
  }
  EXPECT_EQ(numbers(truncated_normal({2}, {0, 1, 3, 3}, device, dtype, kKey)), (std::vector<double>{3, 3}));
}

TEST_P(RandomOn, WholeNumbersAreUnbiased) {
  for (const auto& [low, high] : {std::pair<std::int64_t, std::int64_t>{0, 2}, {-3, 4}, {100, 257}})
    EXPECT_LT(excess(randint({kCount}, low, high, device, DType::I32, kKey), low, high - 1,
                     [span = static_cast<double>(high - low)](double) { return 1 / span; }),
              kUnlikely);
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  EXPECT_LT(
      distance(randint({kCount}, least, most, device, DType::I64, kKey), [](double x) { return x * 0x1p-64 + 0.5; }),
      kFar);
  const Value bytes = randint_like(zeros({kCount}, device, DType::U8), 0, 256, kKey);
  EXPECT_EQ(bytes.dtype(), DType::U8);
  EXPECT_LT(excess(bytes, 0, 255, [](double) { return 1 / 256.; }), kUnlikely);
}

TEST_P(RandomOn, PlacesAreAsLikelyAsTheirWeights) {
  const std::vector<double> weights{1, 0, 3, 4};
  const Value one = from_data(TensorData::of<double>({4}, weights).to(dtype), device);
  const auto counted = [&](const Value& draws) {
    std::vector<double> found(4);
    for (const double k : numbers(draws)) ++found[static_cast<std::size_t>(k)];
    EXPECT_EQ(found[1], 0);
    return excess({found[0], found[2], found[3]}, {kCount / 8., kCount * 3 / 8., kCount / 2.});
  };
  EXPECT_LT(counted(multinomial(one, kCount, true, kKey)), kUnlikely);
  const Value many = categorical(expand(one, {4, kCount / 4, 4}), kKey);
  EXPECT_EQ(many.shape(), (Shape{4, kCount / 4}));
  EXPECT_EQ(many.dtype(), DType::I64);
  EXPECT_LT(counted(many), kUnlikely);
  EXPECT_LT(counted(multinomial(cast(one, DType::I32), kCount, true, kKey)), kUnlikely);
}

TEST_P(RandomOn, WithoutReplacementTheSecondDrawHasTheOthersWeights) {
  const std::vector<double> weights{1, 2, 3};
  const Value rows = expand(from_data(TensorData::of<double>({3}, weights).to(dtype), device), {kCount, 3});
  const std::vector<double> drawn = numbers(multinomial(rows, 2, false, kKey));
  std::vector<double> found(9), cells, expected;
  for (std::size_t i = 0; i < kCount; ++i) ++found[static_cast<std::size_t>(drawn[2 * i] * 3 + drawn[2 * i + 1])];
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b) {
      if (a == b) {
        EXPECT_EQ(found[3 * a + b], 0);
        continue;
      }
      cells.push_back(found[3 * a + b]);
      expected.push_back(kCount * weights[a] / 6 * weights[b] / (6 - weights[a]));
    }
  EXPECT_LT(excess(cells, expected), kUnlikely);
}

TEST_P(RandomOn, EveryOrderIsEquallyLikely) {
  std::map<std::vector<double>, double> orders;
  for (std::uint64_t i = 0; i < 2400; ++i) ++orders[numbers(randperm(4, device, DType::I32, kKey.split(i)))];
  std::vector<double> found;
  for (const auto& [order, count] : orders) found.push_back(count);
  EXPECT_EQ(found.size(), 24u);
  EXPECT_LT(excess(found, std::vector<double>(24, 100)), kUnlikely);
  std::vector<double> thousand = numbers(randperm(1000, device, DType::I64, kKey));
  std::sort(thousand.begin(), thousand.end());
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(thousand[i], static_cast<double>(i));
  EXPECT_EQ(randperm(0, device).shape(), Shape{0});
}

// ---- who decides the numbers ----------------------------------------------------------------------------------------

/// One draw of each kind that takes a stream of the element's own, and of the others.
Values some_of_each(const Device& device, DType dtype) {
  const Shape shape{3000};
  return {
      uniform(shape, 0, 1, device, dtype, kKey),          normal(shape, 0, 1, device, dtype, kKey),
      exponential(shape, 1, device, dtype, kKey),         bernoulli_like(zeros(shape, device, dtype), 0.5, kKey),
      truncated_normal(shape, {}, device, dtype, kKey),   gamma(shape, 0.7, 1, device, dtype, kKey),
      beta(shape, 2, 0.5, device, dtype, kKey),           poisson(shape, 20, device, dtype, kKey),
      randint(shape, -5, 1000, device, DType::I32, kKey), multinomial(ones({3, 50}, device, dtype), 1000, true, kKey)};
}

TEST(Random, TheDeviceAndTheThreadsDoNotMatter) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    const Values expected = some_of_each(Device::parse("reference"), dtype);
    const int before = num_threads();
    for (const int threads : {1, 2, 3}) {
      set_num_threads(threads);
      const Values found = some_of_each(Device::cpu(), dtype);
      for (std::size_t i = 0; i < found.size(); ++i) {
        // The vectors' logarithms differ from the C library's in the last digit.
        const std::vector<double> a = numbers(found[i]), b = numbers(expected[i]);
        for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-6 * std::abs(b[k]) + 1e-6) << i;
      }
    }
    set_num_threads(before);
  }
}

TEST(Random, AnElementDependsOnItsPlaceAlone) {
  const Device device = Device::cpu();
  for (const auto& draw : {std::function([&](const Shape& s) { return gamma(s, 0.7, 1, device, DType::F32, kKey); }),
                           std::function([&](const Shape& s) { return exponential(s, 1, device, DType::F32, kKey); }),
                           std::function([&](const Shape& s) { return randint(s, 0, 9, device, DType::I64, kKey); })}) {
    const std::vector<double> few = numbers(draw({7, 3})), many = numbers(draw({5000}));
    EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  }
}

TEST(Random, WithoutAKeyTheDevicesSeedDecides) {
  const Device device = Device::cpu();
  device.seed(11);
  const std::vector<double> first = numbers(poisson({20}, 4, device)), second = numbers(poisson({20}, 4, device));
  EXPECT_NE(first, second);
  device.seed(11);
  EXPECT_EQ(numbers(poisson({20}, 4, device)), first);
  Generator generator(11);
  EXPECT_EQ(numbers(poisson({20}, 4, device, DType::F32, generator)), first);
  EXPECT_EQ(numbers(poisson({20}, 4, device, DType::F32, generator)), second);
}

TEST(Random, ContinuousDrawsAreWithinTheirOpenEnds) {
  for (const char* name : {"cpu", "reference"})
    for (const DType dtype : {DType::F32, DType::F16}) {
      const Value x = exponential({1 << 20}, 1, Device::parse(name), dtype, kKey);
      EXPECT_LT(max(x).item(), 23);
      if (dtype == DType::F32) { EXPECT_GT(min(x).item(), 0); }
    }
}

TEST(Random, GradientsStopWhereThereAreNone) {
  const Device device = Device::cpu().autodiff();
  const Value p = full({3}, 0.5, device).require_grad();
  EXPECT_FALSE(bernoulli(p).tracked());
  EXPECT_FALSE(poisson(p).tracked());
  EXPECT_FALSE(categorical(p).tracked());
  EXPECT_FALSE(multinomial(p, 2).tracked());
  EXPECT_TRUE(normal(p, 1).tracked());
}

}  // namespace
}  // namespace kiln::test
