// Kernels that users wrote in WGSL.
#include <gtest/gtest.h>

#include "kiln/backend/gpu/custom.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::webgpu::test {
namespace {

constexpr const char* kScale = R"(
struct Arguments { x_begins: i32, y_begins: i32, count: i32, factor: f32 }
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> given: Arguments;

@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) place: vec3<u32>) {
  let i = i32(place.x);
  if (i < given.count) { y[given.y_begins + i] = given.factor * x[given.x_begins + i]; }
}
)";

struct Text {
  bool fails;
  gpu::TextKernel text() const {
    return {.language = gpu::Language::Wgsl,
            .name = "scale",
            .text = fails ? std::string("not today\n") + kScale : kScale,
            .buffers = 2,
            .numbers = 2};
  }
};

/// `factor` x by that text; its expansion says something else, so that a test sees which of the two ran.
struct Scale final : CustomOp {
  double factor;
  bool fails, in_place;
  std::int64_t count_more;
  explicit Scale(double by, bool wrong = false, bool same = false, std::int64_t more = 0)
      : factor(by), fails(wrong), in_place(same), count_more(more) {}
  std::string name() const override { return "Scale"; }
  Descs infer(Inputs in) const override { return op::one(in[0].shape(), in[0].dtype()); }
  Values expand(Inputs in) const override { return {in[0] * 0}; }
  bool run(std::string_view backend, Call call) const override {
    gpu::Gpu* const gpu = gpu::as_gpu(backend);
    if (!gpu || !gpu->takes(gpu::Language::Wgsl)) return false;
    Value held;
    const gpu::Array x = gpu->read_contiguous(call.in[0], held), y = gpu->allocate(call.out[0]);
    gpu->launch(Text{fails}, gpu::blocks_for(x.numel(), 64),
                {x, in_place ? x : y, x.numel() + count_more, gpu::Argument(factor, DType::F32)});
    return true;
  }
};

class WebgpuText : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device = kiln::Device::parse("webgpu");
    } catch (const Error& error) { GTEST_SKIP() << "no device: " << error.what(); }
  }
  Value numbers() const {
    std::vector<float> all;
    for (int i = 0; i < 100; ++i) all.push_back(static_cast<float>(i));
    return from_data(TensorData::of<float>({10, 10}, all), device);
  }
  std::string said_of(Ref<const CustomOp> op) const {
    return sentence_of([&] { return custom(std::move(op), Values{numbers()})[0].data(); });
  }
  kiln::Device device;
};

TEST_F(WebgpuText, IsLaunchedByAnOperation) {
  const Value y = custom(make_ref<const Scale>(2.5), Values{numbers()})[0];
  // The rows from the third on begin where nothing can be bound.
  const Value rows = custom(make_ref<const Scale>(-1), Values{narrow(numbers(), 0, 3, 5)})[0];
  const auto all = y.data().to_vector<float>(), some = rows.data().to_vector<float>();
  ASSERT_EQ(some.size(), 50u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], 2.5f * static_cast<float>(i));
  for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i], -static_cast<float>(i + 30));
}

TEST_F(WebgpuText, ThatIsWrongNamesTheOperationAndTheKernel) {
  const std::string said = said_of(make_ref<const Scale>(1, true));
  EXPECT_EQ(said.find("DeviceError: Scale: webgpu: kernel scale does not compile: "), 0u) << said;
  EXPECT_NE(said.find("\nnot today\n"), said.npos) << said;
  EXPECT_EQ(said_of(make_ref<const Scale>(1, false, true)),
            "DeviceError: Scale: webgpu: kernel scale: two of its buffers lie in one tensor, whose memory WebGPU binds "
            "once: copy one of them");
  EXPECT_EQ(said_of(make_ref<const Scale>(1, false, false, std::int64_t{1} << 32)),
            "DeviceError: Scale: webgpu: kernel scale: argument 2 is no number of 32 bits, of which WGSL's are");
}

}  // namespace
}  // namespace kiln::webgpu::test
