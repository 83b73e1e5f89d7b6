// The functions of special.def beside figures computed with 40 digits (mpmath), and at the edges of their domains.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "kiln/ops/special/special.hpp"

namespace kiln {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

struct Figure {
  const char* function;
  std::vector<double> operands;
  double value;
};

const Figure kFigures[] = {
    {"erfcx", {-20}, 1.0442939379528288e+174},
    {"erfcx", {-3}, 16205.988853999587},
    {"erfcx", {-0.5}, 1.9523604891825571},
    {"erfcx", {0}, 1.0},
    {"erfcx", {0.25}, 0.77034654773099674},
    {"erfcx", {2}, 0.25539567631050574},
    {"erfcx", {24.9}, 0.022639987776049506},
    {"erfcx", {26.5}, 0.021275046685371106},
    {"erfcx", {10000.0}, 5.6418958072680841e-5},
    {"ndtr", {-35}, 1.1249107064724062e-268},
    {"ndtr", {-8}, 6.2209605742717841e-16},
    {"ndtr", {-1.5}, 0.066807201268858066},
    {"ndtr", {-1}, 0.15865525393145705},
    {"ndtr", {0.3}, 0.61791142218895263},
    {"ndtr", {2}, 0.97724986805182079},
    {"ndtr", {6}, 0.99999999901341235},
    {"log_ndtr", {-10000.0}, -50000010.129278915},
    {"log_ndtr", {-40}, -804.60844201375379},
    {"log_ndtr", {-2}, -3.7831843336820319},
    {"log_ndtr", {-1}, -1.8410216450092635},
    {"log_ndtr", {0}, -0.69314718055994531},
    {"log_ndtr", {1.5}, -0.069143455612233983},
    {"log_ndtr", {6}, -9.8658764552437573e-10},
    {"ndtri", {1e-300}, -37.047096299361199},
    {"ndtri", {1e-20}, -9.2623400897984076},
    {"ndtri", {0.01}, -2.3263478740408411},
    {"ndtri", {0.25}, -0.67448975019608174},
    {"ndtri", {0.5625}, 0.1573106846101707},
    {"ndtri", {0.875}, 1.1503493803760082},
    {"ndtri", {0.99}, 2.3263478740408408},
    {"bessel_j0", {-3}, -0.26005195490193344},
    {"bessel_j0", {1e-10}, 1.0},
    {"bessel_j0", {0.5}, 0.9384698072408129},
    {"bessel_j0", {4}, -0.39714980986384737},
    {"bessel_j0", {11.75}, -0.0096693525670746315},
    {"bessel_j0", {24.9}, 0.08324596835301549},
    {"bessel_j0", {25.1}, 0.10827567149994945},
    {"bessel_j0", {300}, -0.033298554876305668},
    {"bessel_j0", {10000.0}, -0.0070961603533888015},
    {"bessel_j1", {-3}, -0.33905895852593646},
    {"bessel_j1", {1e-10}, 5.0000000000000002e-11},
    {"bessel_j1", {0.5}, 0.24226845767487389},
    {"bessel_j1", {4}, -0.066043328023549136},
    {"bessel_j1", {11.5}, -0.22837862066532347},
    {"bessel_j1", {24.9}, -0.13485569953140887},
    {"bessel_j1", {25.1}, -0.11463478413442257},
    {"bessel_j1", {300}, -0.03188743137749995},
    {"bessel_j1", {10000.0}, 0.0036474507555295803},
    {"bessel_y0", {1e-12}, -17.664258668214953},
    {"bessel_y0", {0.001}, -4.4714166113759233},
    {"bessel_y0", {0.5}, -0.44451873350670656},
    {"bessel_y0", {3}, 0.37685001001279038},
    {"bessel_y0", {11.5}, -0.22523211169118787},
    {"bessel_y0", {24.9}, -0.13649918399676524},
    {"bessel_y0", {25.1}, -0.11676770763803695},
    {"bessel_y0", {300}, -0.031831889730003398},
    {"bessel_y1", {1e-12}, -636619772367.58136},
    {"bessel_y1", {0.001}, -636.62216723113941},
    {"bessel_y1", {0.5}, -1.4714723926702431},
    {"bessel_y1", {3}, 0.32467442479179998},
    {"bessel_y1", {11.5}, 0.057942547143000822},
    {"bessel_y1", {24.9}, -0.086002557595554252},
    {"bessel_y1", {25.1}, -0.11062223322783099},
    {"bessel_y1", {300}, 0.033245548121310216},
    {"i0e", {-8}, 0.14343178185685031},
    {"i0e", {1e-08}, 0.99999999000000007},
    {"i0e", {0.5}, 0.64503527044915007},
    {"i0e", {19.9}, 0.090008588864389597},
    {"i0e", {20.1}, 0.089553763620613444},
    {"i0e", {700}, 0.015081295651531358},
    {"i0e", {1000000.0}, 0.00039894233026924578},
    {"i1e", {-8}, -0.13414249329269818},
    {"i1e", {1e-08}, 4.9999999500000004e-9},
    {"i1e", {0.5}, 0.1564208031848717},
    {"i1e", {19.9}, 0.087717102131706101},
    {"i1e", {20.1}, 0.087296851843201592},
    {"i1e", {700}, 0.015070519444716847},
    {"i1e", {1000000.0}, 0.00039894213079803078},
    {"modified_bessel_k0", {1e-12}, 27.746952631586961},
    {"modified_bessel_k0", {0.01}, 4.7212447301610949},
    {"modified_bessel_k0", {0.9}, 0.48673030816290051},
    {"modified_bessel_k0", {1.1}, 0.36560239154318584},
    {"modified_bessel_k0", {5}, 0.0036910983340425943},
    {"modified_bessel_k0", {24.9}, 3.8360965209894921e-12},
    {"modified_bessel_k0", {25.1}, 3.1283127143211171e-12},
    {"modified_bessel_k0", {700}, 4.6697764316853769e-306},
    {"modified_bessel_k1", {1e-12}, 1.0e+12},
    {"modified_bessel_k1", {0.01}, 99.973894118296246},
    {"modified_bessel_k1", {0.9}, 0.71653357877601905},
    {"modified_bessel_k1", {1.1}, 0.50976002716702698},
    {"modified_bessel_k1", {5}, 0.0040446134454521642},
    {"modified_bessel_k1", {24.9}, 3.9123824362567633e-12},
    {"modified_bessel_k1", {25.1}, 3.190032318604266e-12},
    {"modified_bessel_k1", {700}, 4.6731107967079661e-306},
    {"scaled_modified_bessel_k0", {0.01}, 4.7686940285444619},
    {"scaled_modified_bessel_k0", {1.1}, 1.0983302829475997},
    {"scaled_modified_bessel_k0", {24.9}, 0.24993215015402474},
    {"scaled_modified_bessel_k0", {25.1}, 0.24894399546328753},
    {"scaled_modified_bessel_k0", {1000000.0}, 0.0012533139806513212},
    {"scaled_modified_bessel_k1", {0.01}, 100.97864845824005},
    {"scaled_modified_bessel_k1", {1.1}, 1.5314037539811933},
    {"scaled_modified_bessel_k1", {24.9}, 0.25490238558081709},
    {"scaled_modified_bessel_k1", {25.1}, 0.25385550089505651},
    {"scaled_modified_bessel_k1", {1000000.0}, 0.0012533146073081549},
    {"spherical_bessel_j0", {-7}, 0.093855228388398441},
    {"spherical_bessel_j0", {1e-05}, 0.99999999998333333},
    {"spherical_bessel_j0", {1}, 0.84147098480789651},
    {"spherical_bessel_j0", {40}, 0.01862782901198372},
    {"igamma", {0.001, 0.5}, 0.99943993334352925},
    {"igamma", {0.5, 1e-06}, 0.0011283787909692364},
    {"igamma", {3, 2}, 0.32332358381693654},
    {"igamma", {3, 9}, 0.99376780489362268},
    {"igamma", {50, 30}, 0.00051889146254803429},
    {"igamma", {400, 390}, 0.31294286318558784},
    {"igamma", {1500, 1490}, 0.40123051414333362},
    {"igamma", {100000.0, 100200.0}, 0.73666201000519871},
    {"igamma", {2000, 1500}, 6.6014881156204824e-35},
    {"igammac", {1e-05, 0.3}, 9.056782717213817e-6},
    {"igammac", {0.5, 1e-06}, 0.99887162120903076},
    {"igammac", {0.7, 1}, 0.23881237643741393},
    {"igammac", {3, 2}, 0.67667641618306346},
    {"igammac", {3, 40}, 3.5728659287002263e-15},
    {"igammac", {50, 80}, 0.00013078397659141034},
    {"igammac", {1500, 1560}, 0.062075080515654161},
    {"igammac", {100000.0, 100200.0}, 0.26333798999480129},
    {"igammac", {2000, 2600}, 6.0281550200821682e-35},
    {"zeta", {1.001, 1}, 1000.5772884760116},
    {"zeta", {2, 1}, 1.6449340668482264},
    {"zeta", {2, 0.01}, 10001.621213528313},
    {"zeta", {3.5, 7.25}, 0.0033524741021978822},
    {"zeta", {20, 3}, 2.8771746654611315e-10},
    {"zeta", {60, 1.5}, 2.7197216389365647e-11},
    {"chebyshev_t", {0.3, 5}, 0.99888},
    {"chebyshev_t", {-1.5, 12}, 51841.0},
    {"chebyshev_t", {1, 40}, 1.0},
    {"chebyshev_u", {0.3, 5}, 1.01376},
    {"chebyshev_u", {-1.5, 12}, 121393.0},
    {"chebyshev_v", {0.3, 5}, 0.96415999999999995},
    {"chebyshev_v", {-1.5, 12}, 167761.0},
    {"chebyshev_w", {0.3, 5}, 1.0633600000000001},
    {"chebyshev_w", {-1.5, 12}, 75025.0},
    {"hermite_h", {0.3, 5}, 31.757759999999999},
    {"hermite_h", {-4, 20}, 6.19678016654336e+14},
    {"hermite_he", {0.3, 5}, 4.2324299999999999},
    {"hermite_he", {-4, 20}, 8532194451.0},
    {"legendre_p", {0.3, 5}, 0.34538625},
    {"legendre_p", {-1.5, 12}, 18151.005744695663},
    {"legendre_p", {0.9, 50}, -0.17003765994383679},
    {"laguerre_l", {0.3, 5}, -0.093332749999999973},
    {"laguerre_l", {-4, 20}, 1072746.257704548},
    {"laguerre_l", {30, 12}, -313710.94805194805},
};

const Figure kEdges[] = {
    {"erfcx", {-kInf}, kInf},
    {"erfcx", {kInf}, 0},
    {"erfcx", {kNan}, kNan},
    {"erfcx", {-30}, kInf},
    {"ndtr", {-kInf}, 0},
    {"ndtr", {kInf}, 1},
    {"ndtr", {0}, 0.5},
    {"ndtr", {kNan}, kNan},
    {"log_ndtr", {-kInf}, -kInf},
    {"log_ndtr", {kInf}, 0},
    {"log_ndtr", {kNan}, kNan},
    {"ndtri", {0}, -kInf},
    {"ndtri", {1}, kInf},
    {"ndtri", {0.5}, 0},
    {"ndtri", {-0.1}, kNan},
    {"ndtri", {1.1}, kNan},
    {"ndtri", {kNan}, kNan},
    {"igamma", {0, 1}, 1},
    {"igamma", {2, 0}, 0},
    {"igamma", {0, 0}, kNan},
    {"igamma", {-1, 1}, kNan},
    {"igamma", {1, -1}, kNan},
    {"igamma", {kInf, 1}, 0},
    {"igamma", {1, kInf}, 1},
    {"igamma", {2.5, 1e300}, 1},
    {"igamma", {kNan, 1}, kNan},
    {"igammac", {0, 1}, 0},
    {"igammac", {2, 0}, 1},
    {"igammac", {kInf, 1}, 1},
    {"igammac", {1, kInf}, 0},
    {"igammac", {2.5, 1e300}, 0},
    {"igammac", {kInf, kInf}, kNan},
    {"zeta", {1, 2}, kInf},
    {"zeta", {0.5, 2}, kNan},
    {"zeta", {2, 0}, kInf},
    {"zeta", {2, -3}, kInf},
    {"zeta", {2.5, -0.5}, kNan},
    {"zeta", {2, kInf}, 0},
    {"zeta", {kInf, 1}, 1},
    {"zeta", {2, kNan}, kNan},
    {"bessel_j0", {0}, 1},
    {"bessel_j0", {kInf}, 0},
    {"bessel_j0", {-kInf}, 0},
    {"bessel_j0", {kNan}, kNan},
    {"bessel_j1", {0}, 0},
    {"bessel_j1", {kInf}, 0},
    {"bessel_j1", {kNan}, kNan},
    {"bessel_y0", {0}, -kInf},
    {"bessel_y0", {-1}, kNan},
    {"bessel_y0", {kInf}, 0},
    {"bessel_y0", {kNan}, kNan},
    {"bessel_y1", {0}, -kInf},
    {"bessel_y1", {-1}, kNan},
    {"bessel_y1", {kInf}, 0},
    {"bessel_y1", {kNan}, kNan},
    {"i0e", {0}, 1},
    {"i0e", {kInf}, 0},
    {"i0e", {kNan}, kNan},
    {"i1e", {0}, 0},
    {"i1e", {-kInf}, 0},
    {"i1e", {kNan}, kNan},
    {"modified_bessel_k0", {0}, kInf},
    {"modified_bessel_k0", {-1}, kNan},
    {"modified_bessel_k0", {kInf}, 0},
    {"modified_bessel_k1", {0}, kInf},
    {"modified_bessel_k1", {kNan}, kNan},
    {"modified_bessel_k1", {kInf}, 0},
    {"scaled_modified_bessel_k0", {0}, kInf},
    {"scaled_modified_bessel_k0", {kInf}, 0},
    {"scaled_modified_bessel_k1", {0}, kInf},
    {"scaled_modified_bessel_k1", {-2}, kNan},
    {"spherical_bessel_j0", {0}, 1},
    {"spherical_bessel_j0", {kInf}, 0},
    {"spherical_bessel_j0", {kNan}, kNan},
    {"chebyshev_t", {2, -1}, 0},
    {"chebyshev_t", {0.3, 2.9}, -0.82},
    {"chebyshev_t", {-2, 10001}, -kInf},
    {"chebyshev_t", {0.5, 2e6}, kNan},
    {"chebyshev_u", {kNan, 0}, kNan},
    {"legendre_p", {1, 1000}, 1},
    {"laguerre_l", {1e300, 5}, -kInf},
    {"laguerre_l", {-1e300, 5}, kInf},
    {"hermite_h", {kInf, 3}, kInf},
    {"frexp_mantissa", {-12}, -0.75},
    {"frexp_exponent", {-12}, 4},
    {"frexp_mantissa", {kInf}, kInf},
    {"frexp_exponent", {kInf}, 0},
    {"frexp_exponent", {0}, 0},
    {"frexp_mantissa", {kNan}, kNan},
};

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
  for (const Figure& figure : kFigures) {
    const double value = found(figure, DType::F64, Device::cpu());
    EXPECT_LE(std::fabs(value - figure.value),
              1e-13 * std::fabs(figure.value) + (figure.function[0] == 'b' ? 2e-16 : 0))
        << figure.function << '(' << figure.operands[0] << ", ...) is " << value << ", expected " << figure.value;
  }
}

TEST(SpecialFunctions, AreRoundedOnceInFloat32) {
  for (const Figure& figure : kFigures) {
    bool exact = true;
    for (const double number : figure.operands) exact &= static_cast<double>(static_cast<float>(number)) == number;
    if (!exact || std::fabs(figure.value) < 1e-37 || std::fabs(figure.value) > 1e37) continue;
    const double value = found(figure, DType::F32, Device::cpu());
    EXPECT_EQ(value, static_cast<double>(static_cast<float>(figure.value))) << figure.function << figure.operands[0];
  }
}

TEST(SpecialFunctions, SayWhatTheyDoAtTheEdges) {
  for (const char* device : {"cpu", "reference"})
    for (const Figure& edge : kEdges) {
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
  EXPECT_NEAR(j0.scalar().to<double>(), std::cyl_bessel_j(0, 2.5), 1e-14);
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
