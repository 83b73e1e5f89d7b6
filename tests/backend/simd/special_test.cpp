// Special functions against their integrals, on every instruction set.
#include <cmath>

#include "tests/backend/simd/harness.hpp"
#include "tests/support/bessel.hpp"

namespace kiln::cpu::simd {
namespace {

using op::SpecialFn;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct SpecialCase {
  SpecialFn fn;
  double (*expected)(double);
  bool negative;  // takes such numbers
  double at_zero, at_infinity;
};
const SpecialCase kSpecial[] = {
    {SpecialFn::BesselJ0, [](double x) { return test::bessel_j(0, x); }, true, 1, 0},
    {SpecialFn::BesselJ1, [](double x) { return test::bessel_j(1, x); }, true, 0, 0},
    {SpecialFn::BesselY0, [](double x) { return test::bessel_y(0, x); }, false, -kInfinity, 0},
    {SpecialFn::BesselY1, [](double x) { return test::bessel_y(1, x); }, false, -kInfinity, 0},
    {SpecialFn::I0e, [](double x) { return test::scaled_bessel_i(0, x); }, true, 1, 0},
    {SpecialFn::I1e, [](double x) { return test::scaled_bessel_i(1, x); }, true, 0, 0},
};

// Numbers of all methods side by side, and each by itself in whole vectors: no lane may hang on another.
TEST(SimdSpecial, BesselFunctionsAgreeWithTheirIntegrals) {
  for_each_target([] {
    for (const SpecialCase& c : kSpecial) {
      SCOPED_TRACE(op::name(c.fn));
      std::vector<double> x = random_numbers(2000, 1e-3, 60);
      for (const double high : {0.01, 1.0, 4.0})
        for (const double number : random_numbers(100, 0, high)) x.push_back(number);
      for (const double number : random_numbers(100, 4, 25)) x.push_back(number);
      for (const double number : random_numbers(100, 20, 300)) x.push_back(number);
      if (c.negative)
        for (std::size_t i = 0; i < x.size(); i += 2) x[i] = -x[i];
      for (const DType dtype : {DType::F64, DType::F32, DType::BF16}) {
        const std::vector<double> given = rounded(dtype, x);
        std::vector<double> expected;
        for (const double number : given) expected.push_back(c.expected(number));
        const Value found = run_op(op::Special{c.fn}, {tensor(dtype, {std::ssize(x)}, given)});
        const double tolerance = dtype == DType::F64 ? 2e-14 : dtype == DType::F32 ? 1e-7 : 4e-3;
        expect_close(numbers(found), expected, tolerance, dtype == DType::F64 ? 5e-15 : 1e-9);
      }
      const std::vector<double> ends{0, kInfinity, NAN, c.negative ? -kInfinity : -2.0};
      expect_close(numbers(run_op(op::Special{c.fn}, {tensor(DType::F64, {4}, ends)})),
                   {c.at_zero, c.at_infinity, NAN, c.negative ? -c.at_infinity : NAN}, 0);
    }
  });
}

TEST(SimdSpecial, TakesOperandsThatAreSpreadAndRepeated) {
  const Value x = tensor(DType::F32, {3, 1}, {0.5, 1.5, 30});
  for (const Value& operand : {expanded(x, {3, 70}), every(2, expanded(x, {3, 140}))}) {
    const std::vector<double> found = numbers(run_op(op::Special{SpecialFn::BesselJ0}, {operand}));
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], test::bessel_j(0, i < 70 ? 0.5 : i < 140 ? 1.5 : 30), 1e-7);
  }
}

}  // namespace
}  // namespace kiln::cpu::simd
