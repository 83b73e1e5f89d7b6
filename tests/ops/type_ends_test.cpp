// Special functions, and those that are made of several steps, of every integer and half type at the ends of the type:
// nothing wraps around or overflows on the way, and halves are rounded once.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "kiln/ops/elementwise/activation.hpp"
#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/product/products.hpp"
#include "kiln/ops/reduce/calculus.hpp"
#include "kiln/ops/reduce/quantile.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/special/special.hpp"
#include "kiln/ops/special/special_ops.hpp"

namespace kiln {
namespace {

using Real = long double;
constexpr DType kTypes[] = {DType::I8,  DType::U8,  DType::I16, DType::U16, DType::I32,
                            DType::U32, DType::I64, DType::U64, DType::F16, DType::BF16};
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

/// The ends of a type and what lies between.
std::vector<double> numbers_of(DType dtype) {
  if (is_float(dtype)) {
    const double most = dtype == DType::F16 ? 65504 : 0x1.fep127, least = dtype == DType::F16 ? 0x1p-24 : 0x1p-133;
    return {-kInf, -most, -300, -2.5, -1, -0.25, -least, 0,    least, 0.25,
            0.5,   0.75,  1,    1.5,  3,  100,   300,    most, kInf,  kNan};
  }
  const bool is_signed = dtype == DType::I8 || dtype == DType::I16 || dtype == DType::I32 || dtype == DType::I64;
  const double bits = static_cast<double>(size_of(dtype)) * 8 - is_signed;
  std::vector<double> all = {0, 1, 2, 3, 5, 100, std::exp2(bits - 1)};
  // Of 64 bits the largest number that a double holds as well.
  all.push_back(bits < 60 ? std::exp2(bits) - 1 : std::exp2(bits) - std::exp2(bits - 53));
  if (is_signed) all.insert(all.end(), {-std::exp2(bits), 1 - std::exp2(std::min(bits, 50.0)), -100, -2, -1});
  return all;
}
TensorData data_of(DType dtype, const std::vector<double>& list) {
  // By way of whole numbers, of which a double of 2^63 is none that int64 holds.
  if (dtype != DType::U64) return TensorData::of<double>({std::ssize(list)}, list).to(dtype);
  std::vector<std::uint64_t> whole(list.begin(), list.end());
  return TensorData::of<std::uint64_t>({std::ssize(list)}, whole);
}
Value tensor(DType dtype, const std::vector<double>& list) { return from_data(data_of(dtype, list), Device::cpu()); }

DType answer_of(DType dtype) { return is_float(dtype) ? dtype : DType::F32; }
/// As the functions of floats take it.
double taken(DType dtype, double x) { return is_float(dtype) ? x : static_cast<float>(x); }
double rounded(DType dtype, Real x) {
  return TensorData::of<double>({1}, std::vector<double>{static_cast<double>(x)}).to(dtype).at(0);
}

/// Is it the number, rounded to the type, give or take `steps` of its last digit?
testing::AssertionResult is_near(double found, Real exact, DType dtype, double steps) {
  const double expected = rounded(dtype, exact);
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return testing::AssertionSuccess();
  const int digits = dtype == DType::F16 ? 11 : dtype == DType::BF16 ? 8 : 24;
  const int least = dtype == DType::F16 ? -24 : dtype == DType::BF16 ? -133 : -149;
  int exponent = 0;
  std::frexp(std::isfinite(expected) ? expected : found, &exponent);
  const double step = std::ldexp(1, std::max(exponent - digits, least));
  if (std::isfinite(found) && std::isfinite(expected) && std::abs(found - expected) <= steps * step)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << found << ", expected " << expected;
}

// ---- special.def -----------------------------------------------------------------------------------------------------

// What the rows are of doubles stands in special_figures_test.cpp; here: that of each type the same comes out.
TEST(TypeEnds, OfSpecialFunctionsAreThoseOfDoubles) {
  using One = Value (*)(const Value&);
  using Two = Value (*)(const Value&, const Value&);
  using Three = Value (*)(const Value&, const Value&, const Value&);
  struct Row {
    op::SpecialFn fn;
    std::function<Value(const Value&, const Value&, const Value&)> call;
    int operands;
  };
  const Row rows[] = {
#define KILN_SPECIAL_OF_1(Name, function, ...) \
  {op::SpecialFn::Name, [](const Value& x, const Value&, const Value&) { return One(&function)(x); }, 1},
#define KILN_SPECIAL_OF_2(Name, function, ...) \
  {op::SpecialFn::Name, [](const Value& x, const Value& y, const Value&) { return Two(&function)(x, y); }, 2},
#define KILN_SPECIAL_OF_3(Name, function, ...) \
  {op::SpecialFn::Name, [](const Value& x, const Value& y, const Value& w) { return Three(&function)(x, y, w); }, 3},
#include "kiln/ops/special/special.def"
  };
  for (const Row& row : rows)
    for (const DType dtype : kTypes) {
      const std::string_view name = op::name(row.fn);
      const std::vector<double> xs = numbers_of(dtype);
      for (const double y : row.operands > 1 ? std::vector<double>{0, 1, 2, 5} : std::vector<double>{0}) {
        const double w = name == "next_number" ? 24 : 2;
        const Value found = row.call(tensor(dtype, xs), tensor(dtype, {y}), w);
        EXPECT_EQ(found.dtype(), answer_of(dtype)) << name;
        const std::vector<double> values = found.data().to_vector<double>();
        for (std::size_t i = 0; i < xs.size(); ++i) {
          const double expected = op::function_of(row.fn)(taken(dtype, xs[i]), y, w);
          EXPECT_TRUE(is_near(values[i], expected, answer_of(dtype), 1))
              << text(name, " of ", dtype, ' ', xs[i], ", ", y, ", ", w);
        }
      }
    }
}

// ---- made of others ----------------------------------------------------------------------------------------------------

/// A function of pairs of elements, and what it means; `steps`: of the last digit that several roundings may take.
struct Composed {
  const char* name;
  std::function<Value(const Value& x, const Value& y)> function;
  Real (*meaning)(Real x, Real y);
  double steps = 1;
};

/// [n] -> [n, 2] of pairs, for what is taken along a dimension.
Value pairs(const Value& x, const Value& y) {
  const Shape shape = broadcast("pairs", x.shape(), y.shape());
  return stack(Values{expand(x, shape), expand(y, shape)}, 1);
}
bool is_nan_or_infinite(Real x, Real y) { return !std::isfinite(x) || !std::isfinite(y); }

const Composed kComposed[] = {
    {"entr", [](const Value& x, const Value&) { return entr(x); },
     [](Real x, Real) -> Real { return x < 0    ? -INFINITY
                                       : x == 0 ? 0
                                                : -x * std::log(x); }},
    {"xlog1py", [](const Value& x, const Value& y) { return xlog1py(x, y); },
     [](Real x, Real y) -> Real { return x == 0 && !std::isnan(y) ? 0 : x * std::log1p(y); }},
    {"logaddexp2", [](const Value& x, const Value& y) { return logaddexp2(x, y); },
     [](Real x, Real y) -> Real {
       return x == y ? x + 1
                     : std::fmax(x, y) + std::log1p(std::exp2(-std::abs(x - y))) / std::log(Real(2)) + 0 * (x + y);
     }},
    {"mvlgamma", [](const Value& x, const Value&) { return mvlgamma(x, 2); },
     [](Real x, Real) -> Real {
       return std::log(std::numbers::pi_v<Real>) / 2 + std::lgamma(x) + std::lgamma(x - 0.5L);
     },
     4},
    {"shifted_chebyshev_t", [](const Value& x, const Value&) { return shifted_chebyshev_t(x, 3); },
     [](Real x, Real) { return 4 * std::pow(2 * x - 1, 3) - 3 * (2 * x - 1); }},
    {"shifted_chebyshev_u", [](const Value& x, const Value&) { return shifted_chebyshev_u(x, 2); },
     [](Real x, Real) { return 4 * (2 * x - 1) * (2 * x - 1) - 1; }},
    {"shifted_chebyshev_v", [](const Value& x, const Value&) { return shifted_chebyshev_v(x, 1); },
     [](Real x, Real) { return 4 * x - 3; }},
    {"shifted_chebyshev_w", [](const Value& x, const Value&) { return shifted_chebyshev_w(x, 1); },
     [](Real x, Real) { return 4 * x - 1; }},
    {"ldexp", [](const Value& x, const Value&) { return ldexp(x, 7); }, [](Real x, Real) { return std::ldexp(x, 7); }},
    {"ldexp down", [](const Value& x, const Value&) { return ldexp(x, -9); },
     [](Real x, Real) { return std::ldexp(x, -9); }},
    {"lerp", [](const Value& x, const Value& y) { return lerp(x, y, 0.25); },
     [](Real x, Real y) -> Real { return is_nan_or_infinite(x, y) ? x + 0.25L * (y - x) : 0.75L * x + 0.25L * y; }, 2},
    {"addcmul", [](const Value& x, const Value& y) { return addcmul(x, x, y, 0.125); },
     [](Real x, Real y) { return x + x * y * 0.125L; }, 2},
    {"addcdiv", [](const Value& x, const Value& y) { return addcdiv(x, x, y, 0.125); },
     [](Real x, Real y) { return x + x / y * 0.125L; }, 2},
    {"deg2rad", [](const Value& x, const Value&) { return deg2rad(x); },
     [](Real x, Real) { return x * std::numbers::pi_v<Real> / 180; }},
    {"shrink", [](const Value& x, const Value&) { return shrink(x, 1.5, 0.5); },
     [](Real x, Real) -> Real { return std::isnan(x)         ? x
                                       : std::abs(x) <= 1.5L ? 0
                                                             : x - (x < 0 ? -0.5L : 0.5L); }},
    {"trapezoid", [](const Value& x, const Value& y) { return trapezoid(pairs(x, y), 1.0, 1); },
     [](Real x, Real y) { return x / 2 + y / 2; }},
    {"average",
     [](const Value& x, const Value& y) {
       const DType dtype = is_float(x.dtype()) ? x.dtype() : DType::F32;
       return average(pairs(x, y), full({2}, 0.5, x.device(), dtype), {1});
     },
     [](Real x, Real y) { return (x + y) / 2; }, 2},
    {"quantile", [](const Value& x, const Value& y) { return quantile(pairs(x, y), 0.5, 1); },
     [](Real x, Real y) -> Real { return x == y ? x : (x + y) / 2; }, 2},
};

TEST(TypeEnds, OfFunctionsOfSeveralSteps) {
  for (const Composed& each : kComposed)
    for (const DType dtype : kTypes) {
      const std::vector<double> xs = numbers_of(dtype);
      for (const double y : numbers_of(dtype)) {
        const Value found = each.function(tensor(dtype, xs), tensor(dtype, {y}));
        const DType answer = answer_of(dtype);
        EXPECT_EQ(found.dtype(), answer) << text(each.name, " of ", dtype);
        const std::vector<double> values = found.data().to_vector<double>();
        for (std::size_t i = 0; i < xs.size(); ++i) {
          const Real a = taken(dtype, xs[i]), b = taken(dtype, y);
          const Real exact = each.meaning(a, b);
          // Where an operand is no number, what the steps make of infinities is not this test's.
          if (std::isinf(a) || std::isinf(b)) continue;
          // Of integers float64 may know more than float32, which they are taken for.
          if (std::string_view(each.name) == "quantile" && !is_float(dtype) &&
              std::abs(values[i] - static_cast<double>(exact)) <= 1)
            continue;
          EXPECT_TRUE(is_near(values[i], exact, answer, each.steps))
              << text(each.name, " of ", dtype, ' ', xs[i], ", ", y);
        }
      }
    }
}

TEST(TypeEnds, OfSmallestAndSumsOfProductsStayInRoom) {
  const Value bytes = tensor(DType::U8, {5, 0, 255}), signs = tensor(DType::I8, {-128, 5, 127});
  EXPECT_EQ(nanmin(bytes, {0}).item(), 0);
  EXPECT_EQ(nanmin(signs, {0}).item(), -128);
  EXPECT_EQ(dot(signs, signs).item(), 128 * 128 + 25 + 127 * 127);
  EXPECT_EQ(vecdot(bytes, bytes, 0).item(), 25 + 255 * 255);
  const Value halves = tensor(DType::F16, {300, -300, 2});
  EXPECT_EQ(dot(halves, tensor(DType::F16, {300, 300, 3})).item(), 6);
  EXPECT_EQ(interp(tensor(DType::I8, {0}), tensor(DType::I8, {-128, 127}), tensor(DType::I8, {-128, 127})).item(), 0);
  EXPECT_EQ(ldexp(tensor(DType::F16, {0x1p-20}), tensor(DType::I32, {30})).item(), 0x1p10);
  const Value tiny = ldexp(from_data(TensorData::of<float>({1}, std::vector<float>{0x1p-100f}), Device::cpu()),
                           tensor(DType::I32, {150}));
  EXPECT_EQ(tiny.item(), 0x1p50);
  EXPECT_EQ(ldexp(full({1}, 0x1.8p-1000, Device::cpu(), DType::F64), 1900).item(), 0x1.8p900);
  EXPECT_EQ(ldexp(full({1}, 0x1.fffffffffffffp-500, Device::cpu(), DType::F64), -570).item(),
            std::ldexp(0x1.fffffffffffffp-500, -570));
  EXPECT_EQ(ldexp(full({1}, 0x1p-1074, Device::cpu(), DType::F64), 2097).item(), 0x1p1023);
  EXPECT_EQ(ldexp(tensor(DType::BF16, {0x1p-133}), 259).dtype(), DType::BF16);
  EXPECT_EQ(ldexp(tensor(DType::BF16, {0x1p-133}), 259).item(), 0x1p126);
}

}  // namespace
}  // namespace kiln
