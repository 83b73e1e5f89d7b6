#include "kiln/ops/elementwise/numbers.hpp"

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

std::vector<OpCase> number_rows() {
  std::vector<OpCase> rows;
  const auto unary = [&](const char* name, std::function<Value(const Value&)> function, double (*f)(double),
                         double low = -2, double high = 2, bool gradient = true) {
    rows.push_back({.name = name,
                    .operands = {{{3, 5}, low, high}},
                    .function = [function](const Values& in) { return Values{function(in[0])}; },
                    .meaning = [f](const std::vector<Array>& in) { return std::vector<Array>{map(in[0], f)}; },
                    .tolerance = 4,
                    .gradient = gradient});
  };
  const auto composed = [&](const char* name, std::vector<OperandSpec> operands,
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
      "powi", {{{3, 4}}, {{4}, 0, 5, OperandSpec::Index}}, [](const Values& in) { return powi(in[0], in[1]); },
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
      "within", {{{20}, -3, 3}}, [](const Values& in) { return within(in[0], -3, 3); },
      [](const Numbers& x) { return x[0]; });
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

  return rows;
}

const Family kNumberFamily(&number_rows);

// ---- the edges, with figures by hand --------------------------------------------------------------------------------

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

TEST(Numbers, PowersByPlainNumbersAreThoseOfTheCLibrary) {
  const std::vector<double> given{0, -0., 1, -1, 0.3, -2.5, 1e-30, 3e19, -7e11, kInf, -kInf, kNan};
  for (const char* device : {"cpu", "reference"})
    for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
      for (const double exponent : {2.0, 3.0, -1.0, -2.0, 0.5, -0.5, 2.5, 0.0, 1.0}) {
        const Value x = of(given, dtype, device);
        const Numbers at = elements(x);
        Numbers expected;
        for (const double a : at) expected.push_back(std::pow(a, exponent));
        if (std::abs(exponent) == 0.5)  // roots: of -0 and -infinity
          for (std::size_t i = 0; i < at.size(); ++i)
            if (std::signbit(at[i])) expected[i] = at[i] == 0 ? std::pow(at[i], 2 * exponent) : kNan;
        const Numbers rounded = elements(of(expected, dtype, device)), found = elements(pow(x, exponent));
        const double ulps = dtype == DType::F64 ? 4e-16 : dtype == DType::F32 ? 2e-7 : 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
          if (std::isnan(rounded[i])) EXPECT_TRUE(std::isnan(found[i])) << at[i] << " to the " << exponent;
          else if (std::isinf(rounded[i]) || rounded[i] == 0) {
            EXPECT_EQ(found[i], rounded[i]) << at[i] << " to the " << exponent;
            EXPECT_EQ(std::signbit(found[i]), std::signbit(rounded[i])) << at[i] << " to the " << exponent;
          } else {
            EXPECT_NEAR(found[i], rounded[i], ulps * std::abs(rounded[i])) << at[i] << " to the " << exponent;
          }
        }
      }
}

// Figures from mpmath with 30 digits.
TEST(Numbers, SpecialFunctionsKeepTheirDigitsInDoublePrecision) {
  struct Case {
    Value found;
    Numbers expected;
  };
  const Case cases[] = {
      {lgamma(of({1e-10, 0.3, 0.9999, 1.7, 2.00001, 5.5, 30.25, 100000.0, 1e+300, -0.5, -3.75, -40.3})),
       {23.025850929882736, 1.0957979948180756, 5.7729791561193866e-05, -0.09580769740706588, 4.22787559764836e-06,
        3.9578139676187165, 72.104204742008, 1051287.7089736569, 6.897755278982137e+302, 1.2655121234846454,
        -1.3172679424463636, -110.07548100733777}},
      {digamma(of({1e-10, 0.3, 1.0, 1.4616, 1.47, 1.75, 2.5, 7.25, 9.99, 10.0, 50.5, 100000000.0, -0.5, -3.75, -40.3})),
       {-10000000000.577215, -3.502524222200133, -0.5772156649015329, -3.110625123034165e-05, 0.008066489011364869,
        0.24747245354686118, 0.7031566406452432, 1.910453526883736, 2.250700372831201, 2.251752589066721,
        3.912039670928392, 18.420680738952367, 0.03648997397857652, -1.6923885983113303, 5.991207777718806}},
      {polygamma(1, of({0.001, 0.3, 1.0, 2.5, 9.75, 20.0, 400.0, -0.75, -3.25})),
       {1000001.6425331958, 12.245364546107732, 1.6449340668482264, 0.49035775610023485, 0.10800324333663186,
        0.05127082293520312, 0.0025031276041634115, 18.975106932284888, 19.474085068082154}},
      {polygamma(2, of({0.001, 0.3, 1.0, 2.5, 9.75, 20.0, 400.0, -0.75, -3.25})),
       {-2000000002.3976321, -75.27253658872604, -2.4041138063191885, -0.2362040516417274, -0.011653444287958333,
        -0.0026281224023146548, -6.26564453120931e-06, -124.58699919679619, 123.95521103942203}},
      {polygamma(5, of({0.001, 0.3, 1.0, 2.5, 9.75, 20.0, 400.0, -0.75, -3.25})),
       {1.1999999999999998e+20, 164634.84609922304, 122.0811674381339, 0.5785691785671835, 0.0003493258260354381,
        8.48426620615823e-06, 2.3584350583801298e-12, 492226.7524508089, 492231.2373357213}},
      {polygamma(30, of({0.001, 0.3, 1.0, 2.5, 9.75, 20.0, 400.0, -0.75, -3.25})),
       {-2.652528598121909e+125, -4.2943869917015745e+48, -2.652528599357095e+32, -1.2232990235199246e+20,
        -61.15860045303723, -1.59402668621415e-08, -7.960308042899723e-48, -1.2232629049437595e+51,
        1.2232629049437595e+51}},
      {polygamma(150, of({20.0, 1000.0})), {-2.002804262779509e+66, -4.101778391925375e-190}},
      {erfinv(of({1e-300, 1e-09, 0.01, 0.3, -0.5, 0.75, 0.99, -0.999999, 0.9999999999990905, 0.9999999999999999})),
       {8.86226925452758e-301, 8.86226925452758e-10, 0.008862501280950598, 0.2724627147267543, -0.4769362762044699,
        0.8134198475976185, 1.8213863677184494, -3.458910737275499, 5.05125408524939, 5.8635847487551676}},
      {i0(of({1e-08, 0.5, -3.0, 8.0, 19.99, 20.0, 45.5, 700.0, 712.0})),
       {1.0, 1.0634833707413236, 4.8807925858650245, 427.5641157218048, 43135797.87064526, 43558282.559553534,
        3.415936846687578e+18, 1.5295933476718737e+302, 2.4684110577627523e+307}},
      {i1(of({1e-08, 0.5, -3.0, 8.0, 19.99, 20.0, 45.5, -700.0, 712.0})),
       {5e-09, 0.2578943053908963, -3.9533702174026093, 399.8731367825601, 42042635.9277871, 42454973.38512777,
        3.378188131456849e+18, -1.5285003902339006e+302, 2.4666770135246153e+307}},
      {sinc(of({1e-09, 0.3, 1.0000001, -2.5, 100.25, 12345.678})),
       {1.0, 0.8583936913341398, -9.999999005838606e-08, 0.12732395447351627, 0.0022451778457783195,
        -2.1855767447993962e-05}},
      {logit(of({1e-300, 1e-05, 0.2, 0.25, 0.4999999, 0.5000001, 0.75, 0.9999999999999999})),
       {-690.7755278982137, -11.512915464920228, -1.3862943611198906, -1.0986122886681098, -4.000000000115076e-07,
        3.99999999789463e-07, 1.0986122886681098, 36.7368005696771}},
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
