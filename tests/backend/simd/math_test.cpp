// The vector functions against the C library in a wider type: over all exponents, and at the special values.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

using op::UnaryFn;

long double sinc(long double x) {
  const long double pi = 3.14159265358979323846264338327950288L, whole = std::rint(x);
  if (x == 0) return 1;
  const long double sine = std::sin(pi * (x - whole));
  return (std::fmod(whole, 2.0L) == 0 ? sine : -sine) / (pi * x);
}
long double logit(long double x) { return std::log(x) - std::log1p(-x); }
/// Winitzki's approximation, refined by Newton's method on erf, or near the ends on erfc.
long double erfinv(long double x) {
  const long double size = std::abs(x);
  if (!(size < 1)) return size == 1 ? std::copysign(std::numeric_limits<long double>::infinity(), x) : std::nan("");
  if (size < 1e-15L) return x / M_2_SQRTPIl;
  const long double log = std::log1p(-x * x), b = 4.33L + log / 2;
  long double y = std::sqrt(std::sqrt(b * b - log / 0.147L) - b);
  for (int step = 0; step < 6; ++step) {
    const long double error = size < 0.5L ? std::erf(y) - size : 1 - size - std::erfc(y);
    y -= error * std::exp(y * y) / M_2_SQRTPIl;
  }
  return std::copysign(y, x);
}

struct MathCase {
  UnaryFn fn;
  long double (*expected)(long double);
  double ulp = 4;
};
const MathCase kMath[] = {
    {UnaryFn::Exp, std::exp},
    {UnaryFn::Exp2, std::exp2},
    {UnaryFn::Expm1, std::expm1},
    {UnaryFn::Log, std::log},
    {UnaryFn::Log2, std::log2},
    {UnaryFn::Log10, std::log10},
    {UnaryFn::Log1p, std::log1p},
    {UnaryFn::Sin, std::sin},
    {UnaryFn::Cos, std::cos},
    {UnaryFn::Tan, std::tan},
    {UnaryFn::Asin, std::asin},
    {UnaryFn::Acos, std::acos},
    {UnaryFn::Atan, std::atan},
    {UnaryFn::Sinh, std::sinh},
    {UnaryFn::Cosh, std::cosh},
    {UnaryFn::Tanh, std::tanh},
    {UnaryFn::Asinh, std::asinh},
    {UnaryFn::Acosh, std::acosh},
    {UnaryFn::Atanh, std::atanh},
    {UnaryFn::Erf, std::erf},
    {UnaryFn::Erfc, std::erfc, 8},
    {UnaryFn::Erfinv, erfinv, 6},
    {UnaryFn::Lgamma, std::lgamma, 8},
    {UnaryFn::Sinc, sinc},
    {UnaryFn::Logit, logit},
    {UnaryFn::Sqrt, std::sqrt, 0.5},
    {UnaryFn::Floor, std::floor, 0},
    {UnaryFn::Ceil, std::ceil, 0},
    {UnaryFn::Trunc, std::trunc, 0},
    {UnaryFn::Round, std::rint, 0},
    {UnaryFn::Recip, [](long double x) { return 1 / x; }, 0.5},
    {UnaryFn::Sign, [](long double x) -> long double { return x > 0    ? 1
                                                              : x < 0  ? -1
                                                              : x != x ? x
                                                                       : 0; }, 0},
};

template <class T>
std::vector<double> arguments(std::int64_t count) {
  constexpr auto limits = std::numeric_limits<T>();
  std::vector<double> x = {0.0,
                           -0.0,
                           1,
                           -1,
                           0.5,
                           -0.5,
                           1.5,
                           2.5,
                           -2.5,
                           INFINITY,
                           -INFINITY,
                           NAN,
                           limits.max(),
                           -limits.max(),
                           limits.min(),
                           -limits.min(),
                           limits.denorm_min(),
                           88,
                           89,
                           -88,
                           -104,
                           709,
                           710,
                           -745,
                           4,
                           30001,
                           1e10};
  // As many in each factor of 10, and more where functions bend.
  const double decades = sizeof(T) == 4 ? 38 : 307;
  for (const double u : random_numbers(count, -decades, decades, 7)) x.push_back(std::pow(10.0, u));
  for (const double u : random_numbers(count, -decades, decades, 8)) x.push_back(-std::pow(10.0, u));
  for (const double u : random_numbers(count, -4, 4, 9)) x.push_back(u);
  for (const double u : random_numbers(count, -110, 110, 10)) x.push_back(u);
  for (const double u : random_numbers(count, 0, 13, 11)) x.push_back(1 - std::pow(10.0, -u));
  return rounded(dtype_of<T>, x);
}

/// How far `got` is from `exact`, in units of the last place (of the smallest normal number below it).
template <class T>
double ulp_error(T got, long double exact) {
  const T nearest = static_cast<T>(exact);
  if (std::isnan(nearest) && std::isnan(got)) return 0;
  if (nearest == got && std::signbit(nearest) == std::signbit(got)) return 0;
  if (std::isinf(got) && std::abs(nearest) > std::numeric_limits<T>::max() * T(0.999999)) return 1;
  if (std::isinf(nearest) || std::isnan(nearest) || std::isnan(got)) return INFINITY;
  if (nearest == 0 && got == 0) return INFINITY;  // of the wrong sign
  const T size_of_exact = std::max(std::abs(nearest), std::numeric_limits<T>::min());
  const long double ulp = static_cast<long double>(size_of_exact) - std::nextafter(size_of_exact, T(0));
  return static_cast<double>(std::abs(exact - got) / ulp);
}

template <class T>
void expect_accurate(std::int64_t count) {
  const std::vector<double> x = arguments<T>(count);
  const auto size = static_cast<std::int64_t>(x.size());
  for_each_target([&] {
    for (const MathCase& c : kMath) {
      const auto y = numbers(run_op(op::Unary{c.fn}, {tensor(dtype_of<T>, {size}, x)}));
      double worst = 0, worst_at = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        // Near its zeros below 0, lgamma keeps an absolute error only.
        if (c.fn == UnaryFn::Lgamma && x[i] < 0) continue;
        const double error = ulp_error(static_cast<T>(y[i]), c.expected(static_cast<long double>(x[i])));
        if (error > worst) worst = error, worst_at = x[i];
      }
      EXPECT_LE(worst, c.ulp) << op::name(c.fn) << "(" << worst_at << ")";
    }
  });
}

TEST(SimdMath, IsWithinFourUlpInSinglePrecision) { expect_accurate<float>(20000); }
TEST(SimdMath, IsWithinFourUlpInDoublePrecision) { expect_accurate<double>(4000); }

struct BinaryMathCase {
  op::BinaryFn fn;
  long double (*expected)(long double, long double);
};
const BinaryMathCase kBinaryMath[] = {
    {op::BinaryFn::Pow, std::pow},
    {op::BinaryFn::Atan2, std::atan2},
    {op::BinaryFn::Hypot, std::hypot},
    {op::BinaryFn::Fmod, std::fmod},
    {op::BinaryFn::Remainder,
     [](long double x, long double y) {
       const long double rest = std::fmod(x, y);
       return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
     }},
};

template <class T>
void expect_accurate_of_two(std::int64_t count) {
  // Ordinary numbers fill whole vectors, so that the vector forms run; special ones meet each other after them.
  std::vector<double> x = random_numbers(count, -12, 12, 3), y = random_numbers(count, -12, 12, 4);
  for (const double u : random_numbers(count, -30, 30, 5)) x.push_back(std::pow(10.0, u));
  for (const double u : random_numbers(count, -30, 30, 6)) y.push_back(u);
  for (const double u : random_numbers(count, -30, 30, 7)) x.push_back(-std::pow(10.0, u));
  for (const double u : random_numbers(count, -30, 30, 8)) y.push_back(std::rint(u));
  constexpr auto limits = std::numeric_limits<T>();
  const double special[] = {0.0,  -0.0, 1,    -1,       2,         -2, 3,   -3,  0.5,          -2.5,
                            1e10, NAN,  1e-3, INFINITY, -INFINITY, 33, -34, 127, limits.max(), limits.denorm_min()};
  for (const double a : special)
    for (const double b : special)
      for (std::size_t lane = 0; lane < 16; ++lane) x.push_back(a), y.push_back(b);
  x = rounded(dtype_of<T>, x);
  y = rounded(dtype_of<T>, y);
  const auto size = static_cast<std::int64_t>(x.size());
  for_each_target([&] {
    for (const BinaryMathCase& c : kBinaryMath) {
      const auto z =
          numbers(run_op(op::Binary{c.fn}, {tensor(dtype_of<T>, {size}, x), tensor(dtype_of<T>, {size}, y)}));
      double worst = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < z.size(); ++i) {
        const double error = ulp_error(static_cast<T>(z[i]), c.expected(x[i], y[i]));
        if (error > worst) worst = error, at = i;
      }
      EXPECT_LE(worst, 1) << op::name(c.fn) << "(" << x[at] << ", " << y[at] << ") = " << z[at];
    }
  });
}

TEST(SimdMath, FunctionsOfTwoAreWithinOneUlp) {
  expect_accurate_of_two<float>(20000);
  expect_accurate_of_two<double>(2000);
}

}  // namespace
}  // namespace kiln::cpu::simd
