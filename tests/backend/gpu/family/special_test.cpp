// Functions that are no elementwise ops, through the same kernels.
#include <numeric>

#include "kiln/ops/special/functions.hpp"
#include "kiln/ops/special/special.hpp"
#include "tests/backend/gpu/family/device.hpp"
#include "tests/support/bessel.hpp"

namespace kiln::test {
namespace {

TEST(GpuSpecial, TakesOneOperandAndTwoAndNumbers) {
  const TensorData x = TensorData::of<double>({5, 1}, {0.5, 1, 2, 3.5, 8}),
                   y = TensorData::of<double>({3}, {0.25, 2, 9});
  for (const auto& [dtype, bound] : {std::pair{DType::F64, 1e-12}, std::pair{DType::F32, 2e-5}}) {
    const Value a = from_data(x.to(dtype), simulated()), b = from_data(y.to(dtype), simulated());
    const TensorData one = emit(op::Special{op::SpecialFn::BesselJ0}, {a}).data();
    const TensorData two = emit(op::Special{op::SpecialFn::Igamma}, {a, b}).data();
    const TensorData number = emit(op::Special{op::SpecialFn::Igamma}, {a, 2.0}).data();
    for (std::int64_t i = 0; i < 5; ++i) {
      EXPECT_NEAR(one.at(i), bessel_j(0, x.at(i)), bound);
      for (std::int64_t j = 0; j < 3; ++j)
        EXPECT_NEAR(two.at(i * 3 + j), special::igamma(x.at(i), y.at(j)), bound) << i << " " << j;
      EXPECT_NEAR(number.at(i), special::igamma(x.at(i), 2), bound);
    }
  }
}

TEST(GpuSpecial, TakesThreeOperands) {
  const TensorData a = TensorData::of<double>({4, 1}, {0.5, 2, 30, 800}),
                   x = TensorData::of<double>({3}, {0.125, 0.5, 0.875});
  for (const auto& [dtype, bound] : {std::pair{DType::F64, 1e-12}, std::pair{DType::F32, 5e-5}}) {
    const Value in = from_data(a.to(dtype), simulated()), at = from_data(x.to(dtype), simulated());
    const TensorData result = emit(op::Special{op::SpecialFn::Betainc}, {in, 9.5, at}).data();
    for (std::int64_t i = 0; i < 12; ++i)
      EXPECT_NEAR(result.at(i), special::betainc(a.at(i / 3), 9.5, x.at(i % 3)), bound) << i;
  }
}

TEST(GpuSpecial, FindsTheGreatestCommonDivisor) {
  for (const DType dtype : {DType::I64, DType::I32, DType::I8, DType::U64, DType::U16}) {
    const TensorData x = whole_numbers({7, 300}, dtype, 120, 3), y = whole_numbers({300}, dtype, 120, 4);
    const TensorData z = emit(op::Gcd{}, {from_data(x, simulated()), from_data(y, simulated())}).data();
    for (std::int64_t i = 0; i < 2100; ++i)
      ASSERT_EQ(z.at(i), std::gcd(static_cast<std::int64_t>(x.at(i)), static_cast<std::int64_t>(y.at(i % 300))));
  }
}

}  // namespace
}  // namespace kiln::test
