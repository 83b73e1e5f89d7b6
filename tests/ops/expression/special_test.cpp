// The trees of special.def against the functions of doubles that the processor runs: in float64, and in float32 with no
// more than what shaders have.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "kiln/ops/expression/evaluate.hpp"
#include "kiln/ops/expression/print.hpp"
#include "kiln/ops/expression/rows.hpp"
#include "tests/ops/expression/operands.hpp"
#include "tests/ops/expression/portable.hpp"
#include "tests/ops/expression/printed.hpp"

namespace kiln::expr {
namespace {

struct Operands {
  double x, y, w;
};

bool begins_with(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  for (const std::string_view beginning : beginnings)
    if (name.starts_with(beginning)) return true;
  return false;
}
bool is_polynomial(std::string_view name) {
  return begins_with(name, {"chebyshev", "hermite", "legendre", "laguerre", "gegenbauer", "generalized"});
}

/// Numbers that float32 holds, so that both types compute the same.
std::vector<double> numbers(std::initializer_list<double> list) {
  std::vector<double> result;
  for (const double number : list) result.push_back(static_cast<float>(number));
  return result;
}
std::vector<Operands> operands_of(op::SpecialFn fn) {
  const std::string_view name = op::name(fn);
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> all =
      numbers({0.0,   -0.0, 1e-12,     1e-3, 0.1,  0.3,  0.4,  0.49, 0.51, 0.75, 0.9,  0.95, 1.0,   1.1, 1.5,       2,
               2.5,   3,    5.5,       7.75, 8.25, 10,   12.5, 19.5, 20.5, 24.9, 25.1, 26.5, 33.5,  40,  60,        80,
               100.5, 1e3,  kInfinity, kNan, -1,   -0.3, -1.5, -2.5, -3,   -5,   -8.5, -20,  -26.5, -30, -kInfinity});
  std::vector<Operands> result;
  const auto cross = [&](const std::vector<double>& xs, const std::vector<double>& ys, const std::vector<double>& ws) {
    for (const double x : xs)
      for (const double y : ys)
        for (const double w : ws) result.push_back({x, y, w});
  };
  if (arity(fn) == 1) cross(all, {0}, {0});
  else if (name == "nextafter" || name == "next_number") cross(all, numbers({0, 1, -1, 7.75, kInfinity, kNan}), {24});
  else if (is_polynomial(name))
    cross(numbers({-1.5, -1, -0.3, 0, 0.1, 0.75, 1, 2.5, kNan}), numbers({-1, 0, 1, 2, 3.5, 7, 12, 2e6, kNan}),
          arity(fn) == 3 ? numbers({0, 0.5, 2}) : std::vector<double>{0});
  else if (name == "zeta") cross(numbers({0.5, 1, 1.1, 2, 3, 3.5, 8, 30, kInfinity, kNan}), all, {0});
  else
    cross(numbers({-1, 0, 0.1, 0.5, 1, 2.5, 9.5, 10.5, 30, 200, 1500, kInfinity, kNan}),
          [&] {
            std::vector<double> xs = all;
            for (const double x : {150.0, 195.0, 205.0, 250.0, 1400.0, 1490.0, 1510.0, 1600.0, 2000.0}) xs.push_back(x);
            return xs;
          }(),
          {0});
  return result;
}

/// What errors are measured by where that is larger than the value: what the function takes from each other.
double scale_of(std::string_view name, const Operands& in) {
  if (begins_with(name, {"bessel_j", "bessel_y"})) return in.x < 25 ? 1 : 1 / std::sqrt(in.x);
  if (name == "spherical_bessel_j0") return 1 / std::max(1.0, std::abs(in.x));
  if (name == "log_ndtr") return 1e-7;
  if (name == "ndtri") return 1;
  // Terms on both sides of 0.
  if (name == "zeta" && in.y < 0) {
    const double above = in.y - std::floor(in.y);
    return std::pow(above, -in.x) + std::pow(1 - above, -in.x);
  }
  if (is_polynomial(name)) return std::abs(in.x) <= 1 ? 1 + std::abs(in.y) * (1 + in.w) : 1;
  return 0;
}

template <class T>
void expect_function(op::SpecialFn fn, const Dialect* dialect, double tolerance) {
  const std::string_view name = op::name(fn);
  int wrong = 0, compared = 0;
  for (const Operands& in : operands_of(fn)) {
    const double expected = op::function_of(fn)(in.x, in.y, in.w);
    const Cell<T> cells[] = {
        {.number = static_cast<T>(in.x)}, {.number = static_cast<T>(in.y)}, {.number = static_cast<T>(in.w)}};
    const T found = evaluate<T>(tree(fn), std::span(cells, static_cast<std::size_t>(arity(fn))), dialect).number;
    const T rounded = static_cast<T>(expected);
    ++compared;
    // Devices may take subnormal numbers for 0.
    if (std::abs(rounded) < std::numeric_limits<T>::min() && std::abs(found) < 2 * std::numeric_limits<T>::min())
      continue;
    if (distance(found, rounded, scale_of(name, in)) > tolerance && ++wrong <= 6)
      ADD_FAILURE() << name << " of " << shown(in.x) << ", " << shown(in.y) << ", " << shown(in.w) << ": "
                    << shown(found) << ", expected " << shown(rounded);
  }
  EXPECT_EQ(wrong, 0) << name;
  EXPECT_GT(compared, 40) << name;
}

template <class F>
void each_function(F&& f) {
  for (std::size_t i = 0; i < kSpecialCount; ++i) f(static_cast<op::SpecialFn>(i));
}

TEST(SpecialExpressions, AreTheFunctionsOfDoubles) {
  each_function([](op::SpecialFn fn) { expect_function<double>(fn, nullptr, 1e-12); });
}

TEST(SpecialExpressions, AreTheFunctionsInSinglePrecisionWithWhatShadersHave) {
  each_function([](op::SpecialFn fn) { expect_function<float>(fn, &portable(), 1e-4); });
}

TEST(SpecialExpressions, ArePrintedAsTheyAre) {
  int count = 0;
  for (const PrintedSpecial* printed = kPrintedSpecials; printed->set; ++printed, ++count)
    visit_computed(static_cast<DType>(printed->dtype), [&]<class T>(TypeTag<T>) {
      const auto fn = static_cast<op::SpecialFn>(printed->fn);
      const Dialect& dialect = std::strcmp(printed->set, "native") == 0 ? kCpp : portable();
      int wrong = 0;
      for (const Operands& in : operands_of(fn)) {
        const T x = static_cast<T>(in.x), y = static_cast<T>(in.y), w = static_cast<T>(in.w);
        const Cell<T> cells[] = {{.number = x}, {.number = y}, {.number = w}};
        const std::span<const Cell<T>> some(cells, static_cast<std::size_t>(arity(fn)));
        const T expected = evaluate<T>(tree(fn), some, &dialect).number;
        T found = 0;
        printed->run(&x, &y, &w, &found, 1);
        if (!same(found, expected) && ++wrong <= 3)
          ADD_FAILURE() << printed->set << " " << op::name(fn) << " of " << shown(x) << ", " << shown(y) << ", "
                        << shown(w) << ": " << shown(found) << ", the tree says " << shown(expected);
      }
    });
  EXPECT_EQ(count, 4 * static_cast<int>(kSpecialCount));
}

TEST(SpecialExpressions, AreWithinReachOfEveryDevice) {
  each_function([](op::SpecialFn fn) {
    for (const Dialect* dialect : {&kCpp, &kCuda, &kHip, &kGlsl, &kWgsl})
      EXPECT_TRUE(supports(*dialect, tree(fn), DType::F32)) << op::name(fn) << " in " << dialect->name;
    for (const Dialect* dialect : {&kCpp, &kCuda, &kHip})
      EXPECT_TRUE(supports(*dialect, tree(fn), DType::F64)) << op::name(fn) << " in " << dialect->name;
  });
}

TEST(SpecialExpressions, DivideIntegersAsTheProcessorDoes) {
  const auto expect = [&]<class T>(TypeTag<T>) {
    const std::vector<T> some = operands<T>(20);
    for (const T x : some)
      for (const T y : some) {
        const Cell<T> cells[] = {{.number = x}, {.number = y}};
        const auto size = [](T number) {
          return number < 0 ? -static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
        };
        EXPECT_EQ(evaluate<T>(greatest_common_divisor(), cells).number, static_cast<T>(std::gcd(size(x), size(y))))
            << shown(x) << ", " << shown(y);
      }
  };
  expect(TypeTag<std::int32_t>{});
  expect(TypeTag<std::int64_t>{});
  expect(TypeTag<std::uint32_t>{});
}

}  // namespace
}  // namespace kiln::expr
