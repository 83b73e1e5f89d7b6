// The vector functions against the C library in a wider type: over all exponents, and at the special values.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "kiln/ops/elementwise/enumerators.hpp"
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

using op::UnaryFn;

constexpr long double kTwoPerRootOfPi = 2 * std::numbers::inv_sqrtpi_v<long double>;

long double sinc(long double x) {
  const long double pi = 3.14159265358979323846264338327950288L, whole = std::rint(x);
  if (x == 0) return 1;
  const long double sine = std::sin(pi * (x - whole));
  return (std::fmod(whole, 2.0L) == 0 ? sine : -sine) / (pi * x);
}
/// musl's is infinite for some numbers below 1.
long double acosh(long double x) { return x < 1 ? std::nan("") : std::acosh(x); }
long double logit(long double x) {
  // Near its zero, the difference would be of the logarithms' last digits.
  return std::abs(x - 0.5L) < 0.25L ? std::log1p((2 * x - 1) / (1 - x)) : std::log(x) - std::log1p(-x);
}
/// Winitzki's approximation, refined by Newton's method on erf, or near the ends on erfc.
long double erfinv(long double x) {
  const long double size = std::abs(x);
  if (!(size < 1)) return size == 1 ? std::copysign(std::numeric_limits<long double>::infinity(), x) : std::nan("");
  if (size < 1e-15L) return x / kTwoPerRootOfPi;
  const long double log = std::log1p(-x * x), b = 4.33L + log / 2;
  long double y = std::sqrt(std::sqrt(b * b - log / 0.147L) - b);
  for (int step = 0; step < 6; ++step) {
    const long double error = size < 0.5L ? std::erf(y) - size : 1 - size - std::erfc(y);
    y -= error * std::exp(y * y) / kTwoPerRootOfPi;
  }
  return std::copysign(y, x);
}

/// By recurrence to where the asymptotic series is exact enough, below 0 by reflection.
long double digamma(long double x) {
  const long double pi = 3.14159265358979323846264338327950288L;
  if (x == 0) return std::copysign(std::numeric_limits<long double>::infinity(), -x);
  if (x < 0) return x == std::rint(x) ? std::nan("") : digamma(1 - x) - pi / std::tan(pi * (x - std::rint(x)));
  long double sum = 0;
  for (; x < 50; ++x) sum -= 1 / x;
  const long double s = 1 / (x * x);
  return sum + std::log(x) - 0.5L / x -
         s * (1 / 12.0L - s * (1 / 120.0L - s * (1 / 252.0L - s * (1 / 240.0L - s / 132))));
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
    {UnaryFn::Acosh, acosh},
    {UnaryFn::Atanh, std::atanh},
    {UnaryFn::Erf, std::erf},
    {UnaryFn::Erfc, std::erfc, 8},
    {UnaryFn::Erfinv, erfinv, 6},
    {UnaryFn::Lgamma, std::lgamma, 8},
    {UnaryFn::Digamma, digamma, 8},
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

/// Whether the C library computes the wider type in its precision. musl, which Emscripten has, computes logarithms,
/// exponentials and others of it as double's.
bool library_is_wider() {
  const volatile long double three = 3;
  return std::log(three) != static_cast<long double>(std::log(static_cast<double>(three)));
}

/// By how many units in the last place what a result of type T is compared with may be wrong.
template <class T>
double error_of_library() {
  return sizeof(T) == sizeof(double) && !library_is_wider() ? 1 : 0;
}

template <class T>
void expect_accurate(std::int64_t count) {
  const std::vector<double> x = arguments<T>(count);
  const auto size = static_cast<std::int64_t>(x.size());
  const double more = error_of_library<T>(), near_zero = more > 0 ? 0.4 : 0.1;
  for_each_target([&] {
    for (const MathCase& c : kMath) {
      const auto y = numbers(run_op(op::Unary{c.fn}, {tensor(dtype_of<T>, {size}, x)}));
      double worst = 0, worst_at = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        // Near their zeros below 0, these keep an absolute error only.
        if ((c.fn == UnaryFn::Lgamma || c.fn == UnaryFn::Digamma) && x[i] < 0) continue;
        // So does the sum that is taken for digamma here, near its zero above.
        if (c.fn == UnaryFn::Digamma && std::abs(x[i] - 1.4616321449683622) < near_zero) continue;
        const double error = ulp_error(static_cast<T>(y[i]), c.expected(static_cast<long double>(x[i])));
        if (error > worst) worst = error, worst_at = x[i];
      }
      EXPECT_LE(worst, c.ulp > 1 ? c.ulp + more : c.ulp) << op::name(c.fn) << "(" << worst_at << ")";
    }
  });
}

TEST(SimdMath, IsWithinFourUlpInSinglePrecision) { expect_accurate<float>(20000); }
TEST(SimdMath, IsWithinFourUlpInDoublePrecision) { expect_accurate<double>(4000); }

// Figures of mpmath.
struct Figures {
  UnaryFn fn;
  std::vector<std::pair<double, double>> points;
};
const Figures kFigures[] = {
    {UnaryFn::Digamma,
     {{0.0078125, -128.56443747297672764},
      {0.25, -4.2274535333762654081},
      {0.875, -0.80401707154769538232},
      {1.4375, -0.023613544005297899142},
      {1.5, 0.036489973978576520559},
      {2.25, 0.57254646662373459191},
      {5.5, 1.6110931485817511237},
      {9.75, 2.225109535044576012},
      {10.5, 2.3030010342976863753},
      {300.25, 5.7029492576422538984},
      {-0.5, 0.036489973978576520559},
      {-1.25, 3.7141391202135278304},
      {-7.625, 0.79428494736138964832},
      {-30.375, 4.7312807808950658349}}},
    {UnaryFn::Lgamma,
     {{0.0078125, 4.8475707758816648668},
      {0.25, 1.2880225246980774574},
      {0.875, 0.085858707225334323502},
      {1.4375, -0.12120242719902265897},
      {1.5, -0.12078223763524522235},
      {2.25, 0.1248717148923965943},
      {5.5, 3.9578139676187162939},
      {9.75, 12.242204940050762559},
      {10.5, 13.940625219403763633},
      {300.25, 1410.6277005023789395},
      {-0.5, 1.2655121234846453965},
      {-1.25, 1.3664317612369762345},
      {-7.625, -8.5863454020361765306},
      {-30.375, -74.718292904358106829}}},
    {UnaryFn::I0,
     {{0.0078125, 1.0000152588472702596},
      {-0.25, 1.0156861412236079234},
      {1.5, 1.6467231897728908449},
      {-3.75, 9.1189458608445666907},
      {9.5, 1753.4809905273226698},
      {19.75, 34140102.060101444318},
      {25.5, 9425875965.3176763876}}},
    {UnaryFn::I1,
     {{0.0078125, 0.0039062798023981790168},
      {-0.25, -0.12597910894546792591},
      {1.5, 0.98166642857790758565},
      {-3.75, -7.780015229824415865},
      {9.5, 1658.4530777821342002},
      {19.75, 33264251.978947733136},
      {25.5, 9239167088.556889133}}},
};
const std::vector<std::pair<double, double>> kTrigamma = {
    {0.0078125, 16385.626348148031664}, {0.25, 17.197329154507110739},   {0.875, 2.0057409579249181388},
    {1.4375, 0.98950291789562720386},   {1.5, 0.93480220054467930942},   {2.25, 0.55732915450711073927},
    {5.5, 0.19934238698962765913},      {9.75, 0.10800324333663185456},  {10.5, 0.099916956059126733204},
    {300.25, 0.0033361103337199194617}, {-0.5, 8.9348022005446793094},   {-1.25, 19.181879647671606498},
    {-7.625, 11.440038432057676436},    {-30.375, 11.530574972173612792}};

/// f([x, x, ..., x]) is y everywhere: vectors are full, and their ends are not.
template <class F>
void expect_figures(const std::vector<std::pair<double, double>>& points, F&& f) {
  for (const DType dtype : {DType::F32, DType::F64})
    for (const auto& [x, y] : points) {
      SCOPED_TRACE(x);
      expect_close(numbers(f(tensor(dtype, {37}, std::vector<double>(37, x)))), std::vector<double>(37, y),
                   dtype == DType::F64 ? 4e-15 : 3e-7, 1e-15);
    }
  // Side by side, so that no lane hangs on another.
  std::vector<double> x, y;
  for (int i = 0; i < 5; ++i)
    for (const auto& [from, to] : points) x.push_back(from), y.push_back(to);
  expect_close(numbers(f(tensor(DType::F64, {std::ssize(x)}, x))), y, 4e-15, 1e-15);
}

TEST(SimdMath, SpecialFunctionsAgreeWithFigures) {
  for_each_target([] {
    for (const Figures& figures : kFigures) {
      SCOPED_TRACE(op::name(figures.fn));
      expect_figures(figures.points, [&](const Value& x) { return run_op(op::Unary{figures.fn}, {x}); });
    }
    expect_figures(kTrigamma, [](const Value& x) {
      const Value ones = tensor(x.dtype(), x.shape(), std::vector<double>(static_cast<std::size_t>(x.numel()), 1));
      return run_op(op::Binary{op::BinaryFn::Polygamma}, {ones, x});
    });
  });
}

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
  const double decades = sizeof(T) == 4 ? 37 : 306;
  for (const double u : random_numbers(count, -decades, decades, 9)) x.push_back(std::pow(10.0, u));
  for (const double u : random_numbers(count, -decades, decades, 10)) y.push_back(-std::pow(10.0, u));
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
      EXPECT_LE(worst, 1 + error_of_library<T>()) << op::name(c.fn) << "(" << x[at] << ", " << y[at] << ") = " << z[at];
    }
  });
}

TEST(SimdMath, FunctionsOfTwoAreWithinOneUlp) {
  expect_accurate_of_two<float>(20000);
  expect_accurate_of_two<double>(2000);
}

}  // namespace
}  // namespace kiln::cpu::simd
