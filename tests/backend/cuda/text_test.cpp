// Kernels that others wrote as CUDA C++.
#include <gtest/gtest.h>

#include "kiln/backend/gpu/custom.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/cuda/machine.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::cuda::test {
namespace {

constexpr const char* kTwice = R"(
extern "C" __global__ void twice(const float* x, float* y, long long count, float factor) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i < count) y[i] = factor * x[i];
}
)";

struct Text {
  bool fails;
  std::uint32_t parameters;
  int threads = 64;
  gpu::TextKernel text() const {
    return {.name = "twice",
            .text = fails ? std::string("#error not today\n") + kTwice : kTwice,
            .buffers = 2,
            .numbers = parameters - 2,
            .threads = threads};
  }
};

/// Twice x, by that text.
struct Twice final : CustomOp {
  Text source;
  int arguments;
  explicit Twice(Text text, int given = 4) : source(text), arguments(given) {}
  std::string name() const override { return "Twice"; }
  Descs infer(Inputs in) const override { return op::one(in[0].shape(), in[0].dtype()); }
  Values expand(Inputs in) const override { return {in[0] * 2}; }
  bool run(std::string_view backend, Call call) const override {
    gpu::Gpu* const gpu = gpu::as_gpu(backend);
    if (!gpu || !gpu->takes(gpu::Language::Cuda)) return false;
    Value held;
    const gpu::Array x = gpu->read_contiguous(call.in[0], held), y = gpu->allocate(call.out[0]);
    std::vector<gpu::Argument> all{x, y, x.numel(), gpu::Argument(2.0, DType::F32)};
    all.resize(static_cast<std::size_t>(arguments), gpu::Argument(0));
    gpu->launch(source, gpu::blocks_for(x.numel(), 64), all);
    return true;
  }
};

Value numbers(const Device& device) {
  std::vector<float> all;
  for (int i = 0; i < 100; ++i) all.push_back(static_cast<float>(i));
  return from_data(TensorData::of<float>({100}, all), device);
}

std::string said_of(Ref<const CustomOp> op) {
  return sentence_of([&] { return custom(std::move(op), Values{numbers(Device::cuda())})[0].data(); });
}

TEST(CudaText, IsLaunchedByAnOperation) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  const auto before = fake_state();
  const Value y = custom(make_ref<const Twice>(Text{false, 4}), Values{numbers(Device::cuda())})[0];
  const std::vector<float> found = y.data().to_vector<float>();
  if (before) {
    EXPECT_STREQ(fake_state()->last_launch.name, "twice");
    EXPECT_EQ(fake_state()->last_launch.blocks, 2u);
    EXPECT_EQ(fake_state()->last_launch.threads, 64u);
  } else {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)], static_cast<float>(2 * i));
  }
}

TEST(CudaText, ThatDoesNotCompileNamesTheOperationAndTheText) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  const std::string said = said_of(make_ref<const Twice>(Text{true, 4}));
  EXPECT_EQ(said.find("DeviceError: Twice: cuda: kernel twice does not compile: NVRTC_ERROR_COMPILATION\n"), 0u)
      << said;
  EXPECT_NE(said.find("\n1: #error not today\n"), said.npos) << said;
  EXPECT_NE(said.find("long long count, float factor) {"), said.npos) << said;
}

TEST(CudaText, HasAsManyThreadsAsABlockCan) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  for (const int threads : {0, -1, 1025})
    EXPECT_EQ(
        said_of(make_ref<const Twice>(Text{false, 4, threads})),
        text("DeviceError: Twice: cuda: kernel twice has ", threads, " threads to a block, which must be 1 to 1024"));
}

TEST(CudaText, IsComparedWithItsParametersAndArguments) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  const Ref<Stream> stream = make_ref<Stream>(driver_api(), 0);
  if (!stream->api().function_get_parameter) GTEST_SKIP() << "a driver that does not know a kernel's parameters";
  EXPECT_EQ(said_of(make_ref<const Twice>(Text{false, 3})),
            "DeviceError: Twice: cuda: kernel twice has more parameters than the 3 that were announced");
  EXPECT_EQ(said_of(make_ref<const Twice>(Text{false, 5})),
            "DeviceError: Twice: cuda: kernel twice has fewer parameters than the 5 that were announced");
  EXPECT_EQ(said_of(make_ref<const Twice>(Text{false, 4}, 2)),
            "DeviceError: Twice: cuda: kernel twice takes 4 arguments, got 2");
}

}  // namespace
}  // namespace kiln::cuda::test
