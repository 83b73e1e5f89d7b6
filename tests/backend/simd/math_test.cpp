// The vector functions against the C library in a wider type: over all exponents, and at the special values.
#include <bit>
#include <limits>

#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

using op::UnaryFn;

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
    {UnaryFn::Erfc, std::erfc},
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
  return rounded(dtype_of<T>, x);
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
        const long double exact = c.expected(static_cast<long double>(x[i]));
        const T nearest = static_cast<T>(exact), got = static_cast<T>(y[i]);
        if (std::isnan(nearest) && std::isnan(got)) continue;
        if (nearest == got && std::signbit(nearest) == std::signbit(got)) continue;
        // One unit in the last place; of the smallest normal number below it.
        const T size_of_exact = std::max(std::abs(nearest), std::numeric_limits<T>::min());
        const long double ulp = static_cast<long double>(size_of_exact) - std::nextafter(size_of_exact, T(0));
        long double error =
            std::isinf(nearest) || std::isnan(nearest) || std::isnan(got) ? INFINITY : std::abs(exact - got) / ulp;
        if (std::isinf(got) && std::abs(nearest) > std::numeric_limits<T>::max() * T(0.999999)) error = 1;
        if (nearest == 0 && got == 0 && std::signbit(nearest) != std::signbit(got)) error = INFINITY;
        if (error > worst) worst = static_cast<double>(error), worst_at = x[i];
      }
      EXPECT_LE(worst, c.ulp) << op::name(c.fn) << "(" << worst_at << ")";
    }
  });
}

TEST(SimdMath, IsWithinFourUlpInSinglePrecision) { expect_accurate<float>(20000); }
TEST(SimdMath, IsWithinFourUlpInDoublePrecision) { expect_accurate<double>(4000); }

}  // namespace
}  // namespace kiln::cpu::simd
