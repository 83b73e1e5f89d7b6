// Kernels that users wrote in GLSL.
#include "kiln/backend/gpu/custom.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/vulkan/machine.hpp"

namespace kiln::vulkan::test {
namespace {

constexpr const char* kScale = R"(#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 48) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float at[]; };
layout(push_constant) uniform Arguments { Floats x; Floats y; int count; int count_high; float factor; } given;

void main() {
  const int i = int(gl_WorkGroupID.x * 48u + gl_LocalInvocationID.x);
  if (i < given.count) given.y.at[i] = given.factor * given.x.at[i];
}
)";

struct Text {
  bool fails;
  std::uint32_t numbers;
  gpu::TextKernel text() const {
    return {.language = gpu::Language::Glsl,
            .name = "scale",
            .text = fails ? std::string(kScale) + "not today\n" : kScale,
            .buffers = 2,
            .numbers = numbers};
  }
};

/// `factor` x by that text; its expansion says something else, so that a test sees which of the two ran.
struct Scale final : CustomOp {
  double factor;
  Text source;
  explicit Scale(double by, bool fails = false, std::uint32_t numbers = 2) : factor(by), source{fails, numbers} {}
  std::string name() const override { return "Scale"; }
  Descs infer(Inputs in) const override { return op::one(in[0].shape(), in[0].dtype()); }
  Values expand(Inputs in) const override { return {in[0] * 0}; }
  bool run(std::string_view backend, Call call) const override {
    gpu::Gpu* const gpu = gpu::as_gpu(backend);
    if (!gpu || !gpu->takes(gpu::Language::Glsl)) return false;
    Value held;
    const gpu::Array x = gpu->read_contiguous(call.in[0], held), y = gpu->allocate(call.out[0]);
    gpu->launch(source, gpu::blocks_for(x.numel(), 48), {x, y, x.numel(), gpu::Argument(factor, DType::F32)});
    return true;
  }
};

Value numbers() {
  std::vector<float> all;
  for (int i = 0; i < 100; ++i) all.push_back(static_cast<float>(i));
  return from_data(TensorData::of<float>({10, 10}, all), Device::parse("vulkan"));
}
std::string said_of(Ref<const CustomOp> op) {
  return sentence_of([&] { return custom(std::move(op), Values{numbers()})[0].data(); });
}

TEST(VulkanText, IsLaunchedByAnOperation) {
  KILN_NEEDS_DEVICE();
  const Value y = custom(make_ref<const Scale>(2.5), Values{numbers()})[0];
  const Value rows = custom(make_ref<const Scale>(-1), Values{narrow(numbers(), 0, 3, 5)})[0];
  const auto all = y.data().to_vector<float>(), some = rows.data().to_vector<float>();
  ASSERT_EQ(some.size(), 50u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], 2.5f * static_cast<float>(i));
  for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i], -static_cast<float>(i + 30));
}

TEST(VulkanText, ThatIsWrongNamesTheOperationAndTheKernel) {
  KILN_NEEDS_DEVICE();
  const std::string said = said_of(make_ref<const Scale>(1, true));
  EXPECT_EQ(said.find("DeviceError: Scale: vulkan: kernel scale is refused by glslang: "), 0u) << said;
  EXPECT_NE(said.find("\nnot today\n"), said.npos) << said;
  EXPECT_EQ(said_of(make_ref<const Scale>(1, false, 15)),
            "DeviceError: Scale: vulkan: kernel scale has 17 parameters, a kernel written in GLSL at most 16");
  EXPECT_EQ(said_of(make_ref<const Scale>(1, false, 3)),
            "DeviceError: Scale: vulkan: kernel scale takes 5 arguments, got 4");
}

}  // namespace
}  // namespace kiln::vulkan::test
