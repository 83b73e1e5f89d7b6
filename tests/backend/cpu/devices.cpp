// The devices that every program has, and what happens to ops without a kernel.
#include <gtest/gtest.h>

#include "kiln/ops/backend.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {
namespace {

Value upload(const Device& device, const Shape& shape, std::initializer_list<float> values) {
  return from_data(TensorData::of<float>(shape, values), device);
}

TEST(CpuDevices, AreOneEach) {
  EXPECT_EQ(Device::cpu(), Device::parse("cpu"));
  EXPECT_EQ(Device::parse("reference"), Device::parse("reference"));
  EXPECT_FALSE(Device::cpu() == Device::parse("reference"));
}

TEST(CpuDevices, GiveBackWhatWasUploaded) {
  for (const char* name : {"cpu", "reference"}) {
    const TensorData data = TensorData::of<std::int16_t>({2, 3}, {1, -2, 3, -4, 5, -6});
    EXPECT_EQ(difference(from_data(data, Device::parse(name)).data(), data), "");
    EXPECT_EQ(from_data(TensorData({0, 3}, DType::F64), Device::parse(name)).data().shape(), (Shape{0, 3}));
  }
}

TEST(CpuDevices, CountTheMemoryOfLiveTensors) {
  const Device device = Device::cpu();
  const std::int64_t before = device.memory().in_use;
  {
    const Value x = zeros({1000}, device);
    EXPECT_GE(device.memory().in_use, before + 4000);
    const Value view = reshape(x, {10, 100});
    EXPECT_LE(device.memory().in_use, before + 8000);
  }
  EXPECT_EQ(device.memory().in_use, before);
  EXPECT_GE(device.memory().peak, before + 4000);
}

TEST(CpuDevices, RefuseATensorLargerThanTheMachineAndNameIt) {
  try {
    zeros({1 << 20, 1 << 20, 1 << 10}, Device::cpu());
    FAIL() << "a petabyte was allocated";
  } catch (const MemoryError& error) {
    EXPECT_NE(std::string(error.what()).find("float32 [1048576, 1048576, 1024] needs 4503599627370496 bytes"),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(zeros({std::int64_t{1} << 62}, Device::cpu(), DType::F64), MemoryError);
}

/// x -> 2 x, with or without a kernel of its own.
struct Twice : CustomOp {
  explicit Twice(bool has_kernel) : has_kernel(has_kernel) {}
  std::string name() const override { return "twice"; }
  Descs infer(Inputs in) const override { return {Desc{in[0].shape(), in[0].dtype()}}; }
  Values expand(Inputs in) const override {
    ++expansions;
    return {in[0] + in[0]};
  }
  bool run(std::string_view backend, Call call) const override {
    asked = backend;
    if (has_kernel) call.out[0] = call.in[0] * 2;
    return has_kernel;
  }

  bool has_kernel;
  mutable int expansions = 0;
  mutable std::string asked;
};

TEST(CpuDevices, AskACustomOpForItsKernelAndExpandItOtherwise) {
  for (const bool has_kernel : {true, false}) {
    const auto op = make_ref<Twice>(has_kernel);
    const Value result = custom(op, std::vector{upload(Device::cpu(), {3}, {1, 2, 3})})[0];
    EXPECT_EQ(difference(result.data(), TensorData::of<float>({3}, {2, 4, 6})), "");
    EXPECT_EQ(op->asked, "cpu");
    EXPECT_EQ(op->expansions, has_kernel ? 0 : 1);
  }
}

TEST(CpuDevices, RunCompositeOpsOnTheReferenceAsWhatTheyAreMadeOf) {
  const Device device = Device::parse("reference");
  EXPECT_FALSE(device.backend().has_kernel(op::Softmax{0}));
  const Value result = softmax(upload(device, {2, 2}, {0, 0, 1, 1}), 1);
  EXPECT_EQ(difference(result.data(), TensorData::of<float>({2, 2}, {0.5, 0.5, 0.5, 0.5})), "");
}

}  // namespace
}  // namespace kiln
