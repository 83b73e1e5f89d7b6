#include "kiln/ops/functions/numbers.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

Array map(Array x, const std::function<double(double)>& f) {
  for (double& value : x.v) value = f(value);
  return x;
}

/// Elementwise over operands that broadcast.
Array zip(const std::vector<Array>& in, const std::function<double(const std::vector<double>&)>& f) {
  Shape shape;
  for (const Array& x : in) shape = broadcast("test", shape, x.shape);
  Array result(shape);
  each_index(shape, [&](const Dims& index) {
    std::vector<double> at;
    for (const Array& x : in) at.push_back(broadcast_at(x, index));
    result(index) = f(at);
  });
  return result;
}

using Numbers = std::vector<double>;

std::vector<Row> number_rows() {
  std::vector<Row> rows;
  const auto unary = [&](const char* name, std::function<Value(const Value&)> function, double (*f)(double),
                         double low = -2, double high = 2, bool gradient = true) {
    rows.push_back({.name = name,
                    .operands = {{{3, 5}, low, high}},
                    .function = [function](const Values& in) { return Values{function(in[0])}; },
                    .meaning = [f](const std::vector<Array>& in) { return std::vector<Array>{map(in[0], f)}; },
                    .tolerance = 4,
                    .gradient = gradient});
  };
  const auto composed = [&](const char* name, std::vector<Operand> operands,
                            std::function<Value(const Values&)> function, std::function<double(const Numbers&)> f,
                            bool gradient = true) {
    rows.push_back({.name = name,
                    .operands = std::move(operands),
                    .function = [function](const Values& in) { return Values{function(in)}; },
                    .meaning = [f](const std::vector<Array>& in) { return std::vector<Array>{zip(in, f)}; },
                    .tolerance = 4,
                    .gradient = gradient});
  };
  unary("deg2rad", [](const Value& x) { return deg2rad(x); }, [](double x) { return x / 180 * M_PI; }, -90, 90);
  unary("rad2deg", [](const Value& x) { return rad2deg(x); }, [](double x) { return x * 180 / M_PI; });
  unary(
      "logit_within", [](const Value& x) { return logit(x, 0.2); },
      [](double x) {
        const double bounded = std::fmin(std::fmax(x, 0.2), 0.8);
        return std::log(bounded / (1 - bounded));
      },
      0.1, 0.9);
  unary(
      "trigamma", [](const Value& x) { return trigamma(x); },
      [](double x) {
        double sum = 1 / (x + 2000) + 0.5 / std::pow(x + 2000, 2);
        for (int k = 0; k < 2000; ++k) sum += std::pow(x + k, -2);
        return sum;
      },
      0.5, 6);
  unary(
      "nan_to_num", [](const Value& x) { return nan_to_num(log(x), 7, 8, 9); },
      [](double x) { return x > 0 ? std::log(x) : 7; });
  unary(
      "is_posinf", [](const Value& x) { return is_posinf(x); }, [](double x) { return x == INFINITY ? 1. : 0.; }, -1, 1,
      false);
  unary(
      "is_neginf", [](const Value& x) { return is_neginf(x); }, [](double x) { return x == -INFINITY ? 1. : 0.; }, -1,
      1, false);
  composed(
      "float_power", {{{3, 4}, 0.3, 2}, {{4}}}, [](const Values& in) { return float_power(in[0], in[1]); },
      [](const Numbers& x) { return std::exp(x[1] * std::log(x[0])); });
  composed(
      "powi", {{{3, 4}}, {{4}, 0, 5, Operand::Index}}, [](const Values& in) { return powi(in[0], in[1]); },
      [](const Numbers& x) {
        double power = 1;
        for (int n = 0; n < static_cast<int>(x[1]); ++n) power *= x[0];
        return power;
      });
  composed(
      "clamp_min", {{{20}, -3, 3}}, [](const Values& in) { return clamp_min(in[0], -1); },
      [](const Numbers& x) { return std::fmax(x[0], -1); });
  composed(
      "clamp_max", {{{3, 4}}, {{4}}}, [](const Values& in) { return clamp_max(in[0], in[1]); },
      [](const Numbers& x) { return std::fmin(x[0], x[1]); });
  composed(
      "is_close", {{{50}, 0, 3}, {{}, 1, 2}}, [](const Values& in) { return is_close(in[0], in[1], 0.25, 0.125); },
      [](const Numbers& x) { return std::fabs(x[0] - x[1]) <= 0.125 + 0.25 * x[1] ? 1. : 0.; }, false);
  composed(
      "lerp", {{{3, 4}}, {{4}}, {{3, 1}, -0.3, 1.3}}, [](const Values& in) { return lerp(in[0], in[1], in[2]); },
      [](const Numbers& x) { return (1 - x[2]) * x[0] + x[2] * x[1]; });
  for (const double weight : {0.25, 0.75})
    composed(
        weight < 0.5 ? "lerp_near" : "lerp_far", {{{3, 4}}, {{4}}},
        [weight](const Values& in) { return lerp(in[0], in[1], weight); },
        [weight](const Numbers& x) { return (1 - weight) * x[0] + weight * x[1]; });
  composed(
      "addcmul", {{{3, 4}}, {{4}}, {{3, 1}}}, [](const Values& in) { return addcmul(in[0], in[1], in[2], 3); },
      [](const Numbers& x) { return x[0] + 3 * x[1] * x[2]; });
  composed(
      "addcdiv", {{{3, 4}}, {{4}}, {{3, 1}, 0.5, 2}}, [](const Values& in) { return addcdiv(in[0], in[1], in[2], -2); },
      [](const Numbers& x) { return x[0] - 2 * x[1] / x[2]; });

  const auto summed = [](const Array& x, const Array& y) {
    Array result(Shape{});
    for (std::size_t i = 0; i < x.v.size(); ++i) result.v[0] += x.v[i] * y.v[i];
    return std::vector<Array>{result};
  };
  for (const std::int64_t size : {0, 1, 7})
    rows.push_back({.name = "dot_of_" + std::to_string(size),
                    .operands = {{{size}}, {{size}}},
                    .function = [](const Values& in) { return Values{dot(in[0], in[1])}; },
                    .meaning = [summed](const std::vector<Array>& in) { return summed(in[0], in[1]); },
                    .tolerance = 4});
  rows.push_back({.name = "vdot",
                  .operands = {{{2, 3}}, {{2, 3}}},
                  .function = [](const Values& in) { return Values{vdot(in[0], in[1])}; },
                  .meaning = [summed](const std::vector<Array>& in) { return summed(in[0], in[1]); },
                  .tolerance = 4});
  rows.push_back({.name = "vecdot",
                  .operands = {{{2, 3, 4}}, {{3, 1}}},
                  .function = [](const Values& in) { return Values{vecdot(in[0], in[1], 1)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({2, 4});
                        each_index(in[0].shape,
                                   [&](const Dims& i) { result({i[0], i[2]}) += in[0](i) * in[1]({i[1], 0}); });
                        return std::vector<Array>{result};
                      },
                  .tolerance = 4});
  rows.push_back({.name = "cross",
                  .operands = {{{2, 3, 4}}, {{3, 1}}},
                  .function = [](const Values& in) { return Values{cross(in[0], in[1], -2)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({2, 3, 4});
                        each_index({2, 4}, [&](const Dims& at) {
                          const auto x = [&](std::int64_t i) { return in[0]({at[0], i, at[1]}); };
                          const auto y = [&](std::int64_t i) { return in[1]({i, 0}); };
                          result({at[0], 0, at[1]}) = x(1) * y(2) - x(2) * y(1);
                          result({at[0], 1, at[1]}) = x(2) * y(0) - x(0) * y(2);
                          result({at[0], 2, at[1]}) = x(0) * y(1) - x(1) * y(0);
                        });
                        return std::vector<Array>{result};
                      },
                  .tolerance = 4});
  return rows;
}

const Family numbers(&number_rows);

// ---- the edges, with figures by hand -----------------------------------------------------------------------------------

const double kNan = std::nan(""), kInf = INFINITY;

Value of(std::vector<double> elements, DType dtype = DType::F64, const char* device = "cpu") {
  return from_data(TensorData::of<double>({static_cast<std::int64_t>(elements.size())}, elements).to(dtype),
                   Device::parse(device));
}
Numbers elements(const Value& x) { return x.data().to_vector<double>(); }

/// Equal, NaN and the sign of a zero included.
void expect_same(const Value& actual, const Numbers& expected) {
  const Numbers found = elements(actual);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i])) EXPECT_TRUE(std::isnan(found[i])) << i << ": " << found[i];
    else {
      EXPECT_EQ(found[i], expected[i]) << i;
      EXPECT_EQ(std::signbit(found[i]), std::signbit(expected[i])) << i;
    }
  }
}

TEST(Numbers, SpecialFunctionsHaveTheirLimitsAtPolesAndInfinity) {
  for (const char* device : {"cpu", "reference"})
    for (const DType dtype : {DType::F64, DType::F32}) {
      const auto x = [&](std::vector<double> list) { return of(std::move(list), dtype, device); };
      expect_same(lgamma(x({0, -0., -1, -7, 1, 2, kInf, -kInf, kNan})),
                  {kInf, kInf, kInf, kInf, 0, 0, kInf, kInf, kNan});
      expect_same(digamma(x({0, -0., -1, kInf, -kInf, kNan})), {-kInf, kInf, kNan, kInf, kNan, kNan});
      expect_same(polygamma(1, x({0, -3, kInf, kNan})), {kInf, kInf, 0, kNan});
      expect_same(polygamma(2, x({0, -0., -3, kInf})), {-kInf, kInf, kNan, -0.});
      expect_same(polygamma(x({-1, 0.5, 1001, kNan}), 2.5), {kNan, kNan, kNan, kNan});
      expect_same(erfinv(x({1, -1, 0, -0., 1.5, kNan})), {kInf, -kInf, 0, -0., kNan, kNan});
      expect_same(i0(x({0, kInf, -kInf, kNan})), {1, kInf, kInf, kNan});
      expect_same(i1(x({0, -0., kInf, -kInf, kNan})), {0, -0., kInf, -kInf, kNan});
      expect_same(abs(sinc(x({0, -0., 1, -2, 1e30, kInf}))), {1, 1, 0, 0, 0, kNan});
      expect_same(logit(x({0, 1, 0.5, -0.1, 2})), {-kInf, kInf, 0, kNan, kNan});
      expect_same(xlogy(x({0, 0, 0, 1, 0}), x({0, -1, kInf, 0, kNan})), {0, 0, 0, -kInf, kNan});
      expect_same(copysign(x({0, 3, kInf, kNan}), x({-1, -0., -2, 1})), {-0., -3, -kInf, kNan});
      expect_same(heaviside(x({-1, 0, 2, kNan}), 0.5), {0, 0.5, 1, kNan});
      expect_same(frac(x({1.5, -1.5, 3, kInf})), {0.5, -0.5, 0, kNan});
      expect_same(signbit(x({0, -0., -kInf, 1})), {0, 1, 1, 0});
    }
}

// Figures from mpmath with 30 digits.
TEST(Numbers, SpecialFunctionsKeepTheirDigitsInDoublePrecision) {
  struct Case {
    Value found;
    Numbers expected;
  };
  const Case cases[] = {
#include "tests/ops/special_figures.inc"
  };
  for (const auto& [found, expected] : cases) {
    const Numbers values = elements(found);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], expected[i], 1e-13 * std::abs(expected[i])) << i;
  }
}

TEST(Numbers, ToleranceIsRelativeToTheSecond) {
  expect_same(is_close(of({1, 1, kInf, kInf, -kInf, kNan, 5}), of({1.1, 1.3, kInf, 1, kInf, kNan, kInf}), 0.1, 0),
              {1, 0, 1, 0, 0, 0, 0});
  expect_same(is_close(of({kNan, 1}), of({kNan, kNan}), 0, 0, true), {1, 0});
  expect_same(is_close(of({1, 200}, DType::U8), of({2, 100}, DType::U8), 0, 1), {1, 0});
  EXPECT_EQ(all_close(of({1, 2}), of({1, 2 + 1e-6})).item(), 1);
  EXPECT_EQ(all_close(of({1, 2}), of({1, 2.1})).item(), 0);
  EXPECT_EQ(all_close(of({}), of({})).item(), 1);
  EXPECT_EQ(contains_nan(of({1, kNan})).item(), 1);
  EXPECT_EQ(contains_nan(of({1, kInf})).item(), 0);
}

TEST(Numbers, WithoutLimitsInfinityBecomesTheLargestNumber) {
  for (const auto& [dtype, most] : {std::pair{DType::F64, 1.7976931348623157e308},
                                    {DType::F32, 3.4028234663852886e38},
                                    {DType::F16, 65504.},
                                    {DType::BF16, 3.3895313892515355e38}})
    expect_same(nan_to_num(of({kNan, kInf, -kInf, 2}, dtype)), {0, most, -most, 2});
  expect_same(nan_to_num(of({3}, DType::I8)), {3});
  EXPECT_EQ(nan_to_num(kNan, 4).item(), 4);
}

TEST(Numbers, LerpMeetsBothEnds) {
  const Value x = of({0.1, 1e20}), y = of({0.7, 3});
  expect_same(lerp(x, y, 0.0), {0.1, 1e20});
  expect_same(lerp(x, y, 1.0), {0.7, 3});
  expect_same(lerp(x, y, of({1, 1})), {0.7, 3});
}

TEST(Numbers, PlainNumbersStandOnEitherSide) {
  const Value x = of({7, -7}, DType::I32);
  expect_same(floor_divide(x, 2), {3, -4});
  expect_same(floor_divide(20, x), {2, -3});
  expect_same(remainder(20, x), {6, -1});
  expect_same(fmod(20, x), {6, 6});
  expect_same(bitwise_and(5, x), {5, 1});
  expect_same(bitwise_xor(x, 1), {6, -8});
  expect_same(shift_left(1, of({3, 40, -1}, DType::I32)), {8, 0, 0});
  expect_same(fmod(7.5, of({2, -2})), {1.5, 1.5});
  expect_same(float_power(2, x), {128, 1. / 128});
  expect_same(powi(-2, of({3, 4}, DType::I64)), {-8, 16});
}

}  // namespace
}  // namespace kiln::test
