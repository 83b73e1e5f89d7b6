// Wrong calls of numbers, activations, creation and random numbers, and what integers do where C++ leaves it undefined.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/ops/create/create.hpp"
#include "kiln/ops/create/random.hpp"
#include "kiln/ops/elementwise/activation.hpp"
#include "kiln/ops/elementwise/numbers.hpp"
#include "tests/support/wrong_call.hpp"

namespace kiln {
namespace {

Device cpu() { return Device::cpu(); }
constexpr double kInf = INFINITY;
const double kNan = std::nan("");

Value list(std::vector<double> elements, DType dtype = DType::F32, const Device& device = cpu()) {
  return from_data(TensorData::of<double>({static_cast<std::int64_t>(elements.size())}, elements).to(dtype), device);
}

const WrongCall kNumbersCalls[] = {
    // numbers
    {"DTypeError: powi: needs a whole exponent, got 0.5", [] { powi(floats({2}), 0.5); }},
    {"ArgumentError: logit: epsilon 0.75 is not between 0 and 0.5", [] { logit(floats({2}), 0.75); }},
    {"ArgumentError: is_close: the tolerances -1 and 0 must not be negative",
     [] { is_close(floats({2}), floats({2}), -1, 0); }},
    {"ShapeError: lerp: [2] and [3] do not broadcast: 2 and 3 differ in dimension -1",
     [] { lerp(floats({2}), floats({3}), 0.5); }},
    {"DTypeError: shift_left: takes integers or booleans, got float32", [] { shift_left(floats({2}), 1); }},
    {"DTypeError: bitwise_or: takes integers or booleans, got float32", [] { bitwise_or(list({1}, DType::I32), 0.5); }},
    // activations
    {"ShapeError: prelu: weight float32 [2] has neither one element nor one for each of dimension 1 of float32 [2, 3]",
     [] { prelu(floats({2, 3}), floats({2})); }},
    {"ArgumentError: hardtanh: the range from 1 to -1 is empty", [] { hardtanh(floats({2}), 1, -1); }},
    {"ArgumentError: softplus: beta must be positive, got 0", [] { softplus(floats({2}), 0); }},
    {"ArgumentError: shrink: the bound must not be negative, got -0.5", [] { shrink(floats({2}), -0.5); }},
    {"ShapeError: glu: dimension 0 of float32 [3] has no two halves", [] { glu(floats({3}), 0); }},
    {"IndexError: softmin: dimension 2 is out of range for rank 1", [] { softmin(floats({3}), 2); }},
    {"IndexError: quiet_softmax: dimension -2 is out of range for rank 1", [] { quiet_softmax(floats({3}), -2); }},
    // creation
    {"ArgumentError: linspace: the count must not be negative, got -1", [] { linspace(0, 1, -1, cpu()); }},
    {"ArgumentError: logspace: the count must not be negative, got -1", [] { logspace(0, 1, -1, cpu()); }},
    {"ShapeError: eye: makes matrices, not [2, 2, 2]", [] { eye({2, 2, 2}, cpu()); }},
    {"ArgumentError: eye: the size must not be negative, got -2", [] { eye({3, -2}, cpu()); }},
    // random
    {"ArgumentError: uniform_like: needs a tensor, got nothing", [] { uniform_like(Value()); }},
    {"ArgumentError: normal_like: needs a tensor, got 3", [] { normal_like(3); }},
    {"ArgumentError: bernoulli_like: needs a tensor, got 3", [] { bernoulli_like(3, 0.5); }},
    {"ArgumentError: exponential_like: needs a tensor, got 3", [] { exponential_like(3); }},
    {"ArgumentError: randint_like: needs a tensor, got 3", [] { randint_like(3, 0, 2); }},
    {"ArgumentError: uniform: the range from nan to 1 is empty", [] { uniform({2}, kNan, 1, cpu()); }},
    {"ArgumentError: uniform: the range from 0 to inf is not finite", [] { uniform({2}, 0, kInf, cpu()); }},
    {"DTypeError: uniform: int64 cannot hold numbers between others", [] { uniform({2}, 0, 1, cpu(), DType::I64); }},
    {"ArgumentError: normal: a standard deviation of -1", [] { normal({2}, 0, -1, cpu()); }},
    {"ArgumentError: normal: a standard deviation of nan", [] { normal({2}, 0, kNan, cpu()); }},
    {"ArgumentError: normal: plain numbers have no shape; give one", [] { normal(0.0, 1.0); }},
    {"ArgumentError: normal: a parameter is empty", [] { normal(Value(), floats({2})); }},
    {"ShapeError: uniform: [2] and [3] do not broadcast: 2 and 3 differ in dimension -1",
     [] { uniform(floats({2}), floats({3})); }},
    {"ArgumentError: truncated_normal: the range from 1 to 0 is empty",
     [] { truncated_normal({2}, {0, 1, 1, 0}, cpu()); }},
    {"ArgumentError: truncated_normal: a standard deviation of 0", [] { truncated_normal({2}, {0, 0, 0, 1}, cpu()); }},
    {"ArgumentError: truncated_normal: a mean of inf", [] { truncated_normal({2}, {kInf, 1, 0, 1}, cpu()); }},
    {"ArgumentError: bernoulli: a probability of -0.1 is not between 0 and 1", [] { bernoulli({2}, -0.1, cpu()); }},
    {"ArgumentError: bernoulli: a probability of nan is not between 0 and 1", [] { bernoulli({2}, kNan, cpu()); }},
    {"ArgumentError: bernoulli: plain numbers have no shape; give one", [] { bernoulli(0.5); }},
    {"ArgumentError: exponential: the rate must be positive, got 0", [] { exponential({2}, 0, cpu()); }},
    {"ArgumentError: gamma: the concentration must be positive, got 0", [] { gamma({2}, 0, 1, cpu()); }},
    {"ArgumentError: gamma: the scale must be positive, got nan", [] { gamma({2}, 1, kNan, cpu()); }},
    {"ArgumentError: beta: the parameter must be positive, got -1", [] { beta({2}, 1, -1, cpu()); }},
    {"ArgumentError: poisson: the rate must not be negative, got -1", [] { poisson({2}, -1, cpu()); }},
    {"ArgumentError: poisson: the rate must not be negative, got nan", [] { poisson({2}, kNan, cpu()); }},
    {"AutodiffError: gamma: a sample has no gradient for float32 [2]; detach() it",
     [] { gamma(ones({2}, cpu().autodiff()).require_grad()); }},
    {"AutodiffError: beta: a sample has no gradient for float32 [2]; detach() it",
     [] { beta(1.0, ones({2}, cpu().autodiff()).require_grad()); }},
    {"ArgumentError: randint: the range from 3 to 3 is empty", [] { randint({2}, 3, 3, cpu()); }},
    {"ArgumentError: randint: uint8 does not hold 256", [] { randint({2}, 0, 257, cpu(), DType::U8); }},
    {"ArgumentError: randint: uint8 does not hold -1", [] { randint({2}, -1, 4, cpu(), DType::U8); }},
    {"ArgumentError: randint: uint64 does not hold -1", [] { randint({2}, -1, 4, cpu(), DType::U64); }},
    {"DTypeError: randint: gives whole numbers, not float32", [] { randint({2}, 0, 4, cpu(), DType::F32); }},
    {"ArgumentError: randperm: the count must not be negative, got -1", [] { randperm(-1, cpu()); }},
    {"ArgumentError: randperm: int8 does not hold 128", [] { randperm(129, cpu(), DType::I8); }},
    {"ShapeError: categorical: needs weights [..., classes], got float32 []", [] { categorical(floats({})); }},
    {"ShapeError: categorical: needs weights [..., classes], got float32 [2, 0]", [] { categorical(floats({2, 0})); }},
    {"ArgumentError: categorical: weight 1 of row 1 is -1", [] { categorical(reshape(list({1, 2, 3, -1}), {2, 2})); }},
    {"ArgumentError: categorical: weight 0 of row 0 is nan", [] { categorical(list({kNan, 2})); }},
    {"ArgumentError: categorical: weight 1 of row 0 is inf", [] { categorical(list({1, kInf})); }},
    {"ArgumentError: categorical: the weights of row 0 add up to 0", [] { categorical(list({0, 0})); }},
    {"ArgumentError: multinomial: cannot sample -1 times", [] { multinomial(floats({2}), -1); }},
    {"ArgumentError: multinomial: weights must be finite and not negative", [] { multinomial(list({1, -1, 1}), 1); }},
    {"ArgumentError: multinomial: cannot sample 2 times without replacement from a row of 1 weights",
     [] { multinomial(reshape(list({1, 2, 3, 0}), {2, 2}), 2); }},
};

TEST(WrongNumbers, AreAnsweredWithASentence) { expect_sentences(kNumbersCalls); }

// ---- docs/numbers.md, line by line --------------------------------------------------------------------------------

using Numbers = std::vector<double>;
Numbers read(const Value& x) { return x.data().to_vector<double>(); }

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                       kMost = std::numeric_limits<std::int64_t>::max();

std::int64_t whole(const Value& x) { return x.data().to_vector<std::int64_t>()[0]; }

class IntegersOn : public testing::TestWithParam<const char*> {
 protected:
  Device device = Device::parse(GetParam());
  Value of(DType dtype, std::vector<double> elements) { return list(std::move(elements), dtype, device); }
  Value big(std::int64_t value) { return full({3}, value, device, DType::I64); }
};
INSTANTIATE_TEST_SUITE_P(Devices, IntegersOn, testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(IntegersOn, ArithmeticWrapsAround) {
  EXPECT_EQ(read(of(DType::I8, {127, -128}) + of(DType::I8, {1, -1})), (Numbers{-128, 127}));
  EXPECT_EQ(read(of(DType::U8, {0, 250}) - of(DType::U8, {1, 251})), (Numbers{255, 255}));
  EXPECT_EQ(read(of(DType::I16, {300}) * of(DType::I16, {300})), (Numbers{90000 - 65536}));
  EXPECT_EQ(read(neg(of(DType::I32, {-2147483648.0}))), (Numbers{-2147483648.0}));
  EXPECT_EQ(read(neg(of(DType::U8, {1}))), (Numbers{255}));
  EXPECT_EQ(read(abs(of(DType::I8, {-128}))), (Numbers{-128}));
  EXPECT_EQ(read(square(of(DType::U8, {17}))), (Numbers{289 - 256}));
  EXPECT_EQ(whole(big(kMost) + 1), kLeast);
  EXPECT_EQ(whole(big(kLeast) - 1), kMost);
  EXPECT_EQ(whole(big(kLeast) * -1), kLeast);
  EXPECT_EQ(whole(abs(big(kLeast))), kLeast);
  EXPECT_EQ(read(of(DType::U8, {1}) + 256), (Numbers{1}));  // a plain number takes the tensor's type first
}

TEST_P(IntegersOn, DivisionByZeroGivesZero) {
  for (const DType dtype : {DType::I8, DType::U8, DType::I32, DType::I64, DType::U64}) {
    const Value x = of(dtype, {7, 0}), zero = of(dtype, {0, 0});
    EXPECT_EQ(read(floor_divide(x, zero)), (Numbers{0, 0}));
    EXPECT_EQ(read(remainder(x, zero)), (Numbers{0, 0}));
    EXPECT_EQ(read(fmod(x, 0)), (Numbers{0, 0}));
  }
  EXPECT_EQ(whole(floor_divide(big(kLeast), -1)), kLeast);
  EXPECT_EQ(whole(remainder(big(kLeast), -1)), 0);
  EXPECT_EQ(whole(fmod(big(kLeast), -1)), 0);
  EXPECT_EQ(read(floor_divide(of(DType::I8, {-128}), of(DType::I8, {-1}))), (Numbers{-128}));
}

TEST_P(IntegersOn, QuotientsRoundDownAndRemaindersFollow) {
  const Value x = of(DType::I32, {7, -7, 7, -7}), y = of(DType::I32, {2, 2, -2, -2});
  EXPECT_EQ(read(floor_divide(x, y)), (Numbers{3, -4, -4, 3}));
  EXPECT_EQ(read(remainder(x, y)), (Numbers{1, 1, -1, -1}));
  EXPECT_EQ(read(fmod(x, y)), (Numbers{1, -1, 1, -1}));
  const Value f = cast(x, DType::F64), g = cast(y, DType::F64);
  EXPECT_EQ(read(floor_divide(f, g)), (Numbers{3, -4, -4, 3}));
  EXPECT_EQ(read(remainder(f, g)), (Numbers{1, 1, -1, -1}));
  EXPECT_EQ(read(fmod(f, g)), (Numbers{1, -1, 1, -1}));
}

TEST_P(IntegersOn, ShiftsBeyondTheWidthShiftEverythingOut) {
  for (const DType dtype : {DType::I8, DType::I32, DType::I64})
    EXPECT_EQ(read(shift_right(of(dtype, {-1, 5, -1, 5}), of(dtype, {100, 100, -1, -1}))), (Numbers{-1, 0, -1, 0}));
  for (const DType dtype : {DType::U8, DType::I8, DType::I32, DType::I64, DType::U64})
    EXPECT_EQ(read(shift_left(of(dtype, {1, 3}), of(dtype, {100, 64}))), (Numbers{0, 0}));
  EXPECT_EQ(read(shift_left(of(DType::I8, {1, 64}), of(DType::I8, {7, 1}))), (Numbers{-128, -128}));
  EXPECT_EQ(read(shift_left(of(DType::I64, {1}), -1)), (Numbers{0}));
  EXPECT_EQ(read(shift_right(of(DType::U8, {200}), 3)), (Numbers{25}));
}

TEST_P(IntegersOn, PowersWrapAndNegativeExponentsGiveZero) {
  EXPECT_EQ(read(pow(of(DType::I32, {2, -3, 0, 7}), of(DType::I32, {31, 3, 0, 0}))),
            (Numbers{-2147483648.0, -27, 1, 1}));
  EXPECT_EQ(read(pow(of(DType::I64, {2, 1, -1, -1, 0}), of(DType::I64, {-1, -5, -2, -3, -1}))),
            (Numbers{0, 1, 1, -1, 0}));
  EXPECT_EQ(read(pow(2, of(DType::U8, {7, 8}))), (Numbers{128, 0}));
}

TEST_P(IntegersOn, FloatsAreCastByTruncationWithinTheLimits) {
  const Value x = of(DType::F64, {-1.75, 2.5, 1e30, -1e30, kInf, -kInf, kNan});
  EXPECT_EQ(read(cast(x, DType::I8)), (Numbers{-1, 2, 127, -128, 127, -128, 0}));
  EXPECT_EQ(read(cast(x, DType::U8)), (Numbers{0, 2, 255, 0, 255, 0, 0}));
  EXPECT_EQ(read(cast(x, DType::I32)), (Numbers{-1, 2, 2147483647, -2147483648.0, 2147483647, -2147483648.0, 0}));
  EXPECT_EQ(read(cast(x, DType::Bool)), (Numbers{1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(whole(cast(x, DType::I64)), -1);
  EXPECT_EQ(cast(x, DType::I64).data().to_vector<std::int64_t>()[2], kMost);
  EXPECT_EQ(read(cast(of(DType::I32, {300, -1}), DType::U8)), (Numbers{44, 255}));
}

TEST_P(IntegersOn, FloatsFollowTheirStandard) {
  const Value x = of(DType::F32, {1, -1, 0}), zero = of(DType::F32, {0, 0, 0});
  const Numbers quotients = read(x / zero);
  EXPECT_EQ(quotients[0], kInf);
  EXPECT_EQ(quotients[1], -kInf);
  EXPECT_TRUE(std::isnan(quotients[2]));
  for (const Value& rest : {remainder(x, zero), fmod(x, zero)})
    for (const double element : read(rest)) EXPECT_TRUE(std::isnan(element));
  EXPECT_EQ(read(of(DType::I32, {1, -1}) / of(DType::I32, {0, 0})), (Numbers{kInf, -kInf}));
  EXPECT_EQ(read(of(DType::F16, {65504, -65504}) * 2.0), (Numbers{kInf, -kInf}));
  EXPECT_EQ(read(round(of(DType::F64, {0.5, 1.5, 2.5, -0.5, -1.5}))), (Numbers{0, 2, 2, -0., -2}));
  EXPECT_EQ(read(eq(of(DType::F64, {kNan, 0}), of(DType::F64, {kNan, -0.}))), (Numbers{0, 1}));
  EXPECT_TRUE(std::isnan(maximum(of(DType::F64, {kNan}), 1).item()));
}

TEST_P(IntegersOn, PlainNumbersCountAsSixtyFourBitIntegers) {
  EXPECT_EQ(add(kMost, 1).scalar().to<std::int64_t>(), kLeast);
  EXPECT_EQ(floor_divide(1, 0).scalar().to<std::int64_t>(), 0);
  EXPECT_EQ(shift_left(1, 64).scalar().to<std::int64_t>(), 0);
  EXPECT_EQ(div(1, 0).scalar().to<double>(), kInf);
}

}  // namespace
}  // namespace kiln
