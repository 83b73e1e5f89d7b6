#include <cmath>

#include "tests/backend/cpu/grid.hpp"

namespace kiln {
namespace {

class CpuElementwise : public OnEachCpu {};
KILN_ON_EACH_CPU(CpuElementwise);

double half_step(DType dtype) { return dtype == DType::BF16 ? 8e-3 : dtype == DType::F16 ? 1e-3 : 1e-5; }

TEST_P(CpuElementwise, ReadsStridedOperandsOfEveryFloatType) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    const Value x = scattered(device, {3, 5, 300}, dtype);
    const Grid from(x);
    const Tolerance tolerance{.relative = half_step(dtype), .absolute = half_step(dtype)};
    EXPECT_EQ(
        difference(exp(x).data(), grid(from.shape, [&](auto& i) { return std::exp(from[i]); }).to(dtype), tolerance),
        "");
    EXPECT_EQ(
        difference(tanh(x).data(), grid(from.shape, [&](auto& i) { return std::tanh(from[i]); }).to(dtype), tolerance),
        "");
    EXPECT_EQ(difference(neg(x).data(), grid(from.shape, [&](auto& i) { return -from[i]; }).to(dtype), {0, 0}), "");
  }
}

TEST_P(CpuElementwise, BroadcastsOperandsAndPlainNumbers) {
  const Value x = scattered(device, {4, 1, 6}, DType::F32), y = scattered(device, {5, 1}, DType::F32);
  const Grid a(x), b(y);
  const Shape shape{4, 5, 6};
  EXPECT_EQ(difference((x * y).data(), grid(shape, [&](auto& i) { return a[i] * b[i]; }).to(DType::F32)), "");
  EXPECT_EQ(difference((x - 1.5).data(), grid(a.shape, [&](auto& i) { return a[i] - 1.5; }).to(DType::F32)), "");
  EXPECT_EQ(difference((Value(1.5) - x).data(), grid(a.shape, [&](auto& i) { return 1.5 - a[i]; }).to(DType::F32)), "");
  EXPECT_EQ(difference(where(lt(x, 0), y, 9).data(),
                       grid(shape, [&](auto& i) { return a[i] < 0 ? b[i] : 9; }).to(DType::F32)),
            "");
}

TEST_P(CpuElementwise, TakesEmptyTensorsAndRankZero) {
  const Value none = zeros({0, 3}, device), one = full({}, 2.0, device);
  EXPECT_EQ(exp(none).data().shape(), (Shape{0, 3}));
  EXPECT_EQ((none + zeros({1, 3}, device)).data().shape(), (Shape{0, 3}));
  EXPECT_EQ((one * one).item(), 4);
  EXPECT_EQ(cast(none, DType::I8).data().dtype(), DType::I8);
}

TEST_P(CpuElementwise, WrapsIntegersOfEveryWidth) {
  const auto add_one = [&]<class T>(T number) {
    return (from_data(TensorData::of<T>({1}, {number}), device) + 1).data().template to_vector<T>()[0];
  };
  EXPECT_EQ(add_one(std::int8_t{127}), -128);
  EXPECT_EQ(add_one(std::uint8_t{255}), 0);
  EXPECT_EQ(add_one(std::int16_t{32767}), -32768);
  EXPECT_EQ(add_one(std::uint16_t{65535}), 0);
  EXPECT_EQ(add_one(std::int32_t{INT32_MAX}), INT32_MIN);
  EXPECT_EQ(add_one(std::uint32_t{UINT32_MAX}), 0u);
  EXPECT_EQ(add_one(std::int64_t{INT64_MAX}), INT64_MIN);
  EXPECT_EQ(add_one(std::uint64_t{UINT64_MAX}), 0u);
  const Value least = from_data(TensorData::of<std::int8_t>({1}, {-128}), device);
  EXPECT_EQ(abs(least).item(), -128);
  EXPECT_EQ(floor_divide(least, -1).item(), -128);
  EXPECT_EQ(floor_divide(least, 0).item(), 0);
  EXPECT_EQ(remainder(from_data(TensorData::of<std::int32_t>({2}, {-7, 7}), device), -3).data().to_vector<int>(),
            (std::vector{-1, -2}));
}

TEST_P(CpuElementwise, ComparesLargeUnsignedNumbersAsUnsigned) {
  const Value x = from_data(TensorData::of<std::uint64_t>({2}, {UINT64_MAX, 1}), device);
  EXPECT_EQ(gt(x, 1).data().to_vector<int>(), (std::vector{1, 0}));
  EXPECT_EQ(maximum(x, slice(x, {{Range{{}, {}, -1}}})).data().to_vector<std::uint64_t>()[1], UINT64_MAX);
}

TEST_P(CpuElementwise, ComplementsBooleansAsOneBit) {
  const Value x = from_data(TensorData::of<bool>({2}, {true, false}), device);
  EXPECT_EQ(bitwise_not(x).data().to_vector<int>(), (std::vector{0, 1}));
  EXPECT_EQ(logical_xor(x, logical_not(x)).data().to_vector<int>(), (std::vector{1, 1}));
}

TEST_P(CpuElementwise, KeepsNaNInMaximumAndSign) {
  const Value x = from_data(TensorData::of<float>({3}, {NAN, 1, -2}), device);
  const TensorData larger = maximum(x, 0).data(), signs = sign(x).data();
  EXPECT_TRUE(std::isnan(larger.at(0)) && std::isnan(signs.at(0)));
  EXPECT_EQ(larger.at(2), 0);
  EXPECT_EQ(signs.at(2), -1);
}

TEST_P(CpuElementwise, CastsBySaturatingRoundingAndKeepingLowBits) {
  const Value x = from_data(TensorData::of<float>({6}, {300, -300, NAN, 1.9f, -1.9f, 0}), device);
  EXPECT_EQ(cast(x, DType::I8).data().to_vector<int>(), (std::vector{127, -128, 0, 1, -1, 0}));
  EXPECT_EQ(cast(x, DType::U8).data().to_vector<int>(), (std::vector{255, 0, 0, 1, 0, 0}));
  EXPECT_EQ(cast(x, DType::Bool).data().to_vector<int>(), (std::vector{1, 1, 1, 1, 1, 0}));
  const Value wide = from_data(TensorData::of<std::int32_t>({2}, {0x12345, -1}), device);
  EXPECT_EQ(cast(wide, DType::U8).data().to_vector<int>(), (std::vector{0x45, 255}));
  // 2^24 + 1 lies halfway between two floats; 65520 rounds beyond the largest half.
  EXPECT_EQ(cast(from_data(TensorData::of<std::int64_t>({1}, {(1 << 24) + 1}), device), DType::F32).item(), 1 << 24);
  EXPECT_EQ(cast(full({}, 65520.0, device), DType::F16).item(), INFINITY);
}

TEST_P(CpuElementwise, DividesHalvesByNumbersWhoseInverseIsNone) {
  for (const DType dtype : {DType::F16, DType::BF16}) {
    const Value x =
        from_data(TensorData::of<float>({5}, {0, 0x1p-10F, -0x1p-14F, 0x1p-12F, INFINITY}).to(dtype), device);
    EXPECT_EQ((x / 0x1p-20).data().to_vector<float>(), (std::vector<float>{0, 1024, -64, 256, INFINITY}));
  }
}

TEST_P(CpuElementwise, LeavesChannelsLastDataChannelsLast) {
  const Value x = permute(numbers(device, {2, 4, 5, 3}, DType::F32), {0, 3, 1, 2});
  EXPECT_EQ(relu(x).node()->strides, x.node()->strides);
  EXPECT_EQ((x + zeros({3, 1, 1}, device)).node()->strides, x.node()->strides);
}

}  // namespace
}  // namespace kiln
