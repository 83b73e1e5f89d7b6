// The functions of special.def beside figures with 40 digits (special_figures.py), and at the edges of their domains.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "kiln/ops/special/special.hpp"

#include "tests/support/bessel.hpp"
#include "tests/support/figures.hpp"

namespace kiln {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

struct Figure {
  std::string function;
  std::vector<test::Number> operands;
  test::Number value;
};

struct Figures {
  std::string made_with;
  std::vector<Figure> figures, edges;
};

/// special_figures.json. Throws IoError or ConfigError where it is missing or damaged.
const Figures& stored() {
  static const auto all = load_config<Figures>(KILN_SOURCE_DIR "/tests/ops/special_figures.json");
  return all;
}

std::map<std::string, Value (*)(const Values&)> functions() {
  return {
#define KILN_SPECIAL_OF_1(Name, function, ...) {#function, [](const Values& in) { return kiln::function(in[0]); }},
#define KILN_SPECIAL_OF_2(Name, function, ...) \
  {#function, [](const Values& in) { return kiln::function(in[0], in[1]); }},
#define KILN_SPECIAL_OF_3(Name, function, ...) \
  {#function, [](const Values& in) { return kiln::function(in[0], in[1], in[2]); }},
#include "kiln/ops/special/special.def"
  };
}

/// A figure's operands as tensors of that type; the operands may round to other numbers.
double found(const Figure& figure, DType dtype, const Device& device) {
  Values operands;
  for (const double number : figure.operands) operands.push_back(full({1}, number, device, dtype));
  return functions().at(figure.function)(operands).item();
}

TEST(SpecialFunctions, HaveThirteenDigitsInFloat64) {
  ASSERT_EQ(stored().figures.size(), 162u);
  for (const Figure& figure : stored().figures) {
    const double value = found(figure, DType::F64, Device::cpu());
    EXPECT_LE(std::fabs(value - figure.value),
              1e-13 * std::fabs(figure.value) + (figure.function[0] == 'b' ? 2e-16 : 0))
        << figure.function << '(' << figure.operands[0] << ", ...) is " << value << ", expected " << figure.value;
  }
}

/// What op rows compare Bessel functions with.
const std::map<std::string, double (*)(double)> kIntegrals = {
    {"bessel_j0", [](double x) { return test::bessel_j(0, x); }},
    {"bessel_j1", [](double x) { return test::bessel_j(1, x); }},
    {"bessel_y0", [](double x) { return test::bessel_y(0, x); }},
    {"bessel_y1", [](double x) { return test::bessel_y(1, x); }},
    {"i0e", [](double x) { return test::scaled_bessel_i(0, x); }},
    {"i1e", [](double x) { return test::scaled_bessel_i(1, x); }},
};

TEST(BesselIntegrals, AgreeWithTheFigures) {
  std::set<std::string> compared;
  for (const Figure& figure : stored().figures) {
    const auto integral = kIntegrals.find(figure.function);
    const double x = figure.operands[0];
    if (integral == kIntegrals.end() || std::abs(x) < 1e-3 || std::abs(x) > 300) continue;
    compared.insert(figure.function);
    EXPECT_NEAR(integral->second(x), figure.value, 2e-15 * std::max(1.0, std::fabs(figure.value)))
        << figure.function << ' ' << x;
  }
  EXPECT_EQ(compared.size(), kIntegrals.size());
}

TEST(SpecialFunctions, AreRoundedOnceInFloat32) {
  for (const Figure& figure : stored().figures) {
    bool exact = true;
    for (const double number : figure.operands) exact &= static_cast<double>(static_cast<float>(number)) == number;
    if (!exact || std::fabs(figure.value) < 1e-37 || std::fabs(figure.value) > 1e37) continue;
    const double value = found(figure, DType::F32, Device::cpu());
    EXPECT_EQ(value, static_cast<double>(static_cast<float>(figure.value))) << figure.function << figure.operands[0];
  }
}

TEST(SpecialFunctions, SayWhatTheyDoAtTheEdges) {
  ASSERT_EQ(stored().edges.size(), 109u);
  for (const char* device : {"cpu", "reference"})
    for (const Figure& edge : stored().edges) {
      const double value = found(edge, DType::F64, Device::parse(device));
      const bool right =
          std::isnan(edge.value) ? std::isnan(value) : value == edge.value || std::fabs(value - edge.value) < 1e-15;
      EXPECT_TRUE(right) << edge.function << '(' << edge.operands[0] << ", ...) is " << value << ", expected "
                         << edge.value;
    }
}

TEST(SpecialFunctions, OfPlainNumbersArePlainNumbers) {
  const Value j0 = bessel_j0(2.5);
  ASSERT_TRUE(j0.is_scalar());
  EXPECT_NEAR(j0.scalar().to<double>(), test::bessel_j(0, 2.5), 1e-14);
  EXPECT_EQ(legendre_p(0.5, 2).scalar().to<double>(), -0.125);
}

TEST(Nextafter, IsTheNextNumberOfTheType) {
  const auto next = [](double x, double y, DType dtype) {
    return nextafter(full({1}, x, Device::cpu(), dtype), full({1}, y, Device::cpu(), dtype)).item();
  };
  for (const double x : {0.0, 1.0, -1.0, 3.75, 1e-45, 3.4028234663852886e38, -kInf, kInf})
    for (const double y : {-kInf, -1.0, 0.0, 1.0, 5.0, kInf}) {
      const auto expected = std::nextafter(static_cast<float>(x), static_cast<float>(y));
      EXPECT_EQ(next(x, y, DType::F32), static_cast<double>(expected)) << x << " towards " << y;
      EXPECT_EQ(next(x, y, DType::F64), std::nextafter(x, y)) << x << " towards " << y;
    }
  EXPECT_TRUE(std::isnan(next(kNan, 1, DType::F32)));
  EXPECT_EQ(next(1, 2, DType::F16), 1 + 0x1p-10);
  EXPECT_EQ(next(1, 0, DType::F16), 1 - 0x1p-11);
  EXPECT_EQ(next(0, 1, DType::F16), 0x1p-24);
  EXPECT_EQ(next(65504, kInf, DType::F16), kInf);
  EXPECT_EQ(next(kInf, 0, DType::F16), 65504);
  EXPECT_EQ(next(1, 2, DType::BF16), 1 + 0x1p-7);
  EXPECT_EQ(next(-1, 0, DType::BF16), -1 + 0x1p-8);
}

TEST(Gcd, IsExactInEveryIntegerType) {
  const auto of = [](std::int64_t x, std::int64_t y, DType dtype) {
    return gcd(full({1}, x, Device::cpu(), dtype), full({1}, y, Device::cpu(), dtype))
        .data()
        .to_vector<std::int64_t>()[0];
  };
  EXPECT_EQ(of(9007199254740993 * 3, 9007199254740993 * 5, DType::I64), 9007199254740993);
  EXPECT_EQ(of(-12, 18, DType::I8), 6);
  EXPECT_EQ(of(200, 150, DType::U8), 50);
  EXPECT_EQ(of(0, -7, DType::I32), 7);
  EXPECT_EQ(of(0, 0, DType::I32), 0);
  EXPECT_EQ(gcd(full({2}, 12, Device::cpu(), DType::I16), 8).dtype(), DType::I16);
}

}  // namespace
}  // namespace kiln
