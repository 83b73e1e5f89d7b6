// The example's kernels as CUDA C++: that NVRTC compiles them, where there is one; and that they do the same, where there is
// a GPU.
#include <gtest/gtest.h>

#include "kiln/backend/cuda/nvrtc.hpp"
#include "kiln/ops/devices.hpp"
#include "tests/examples/custom_kernel.hpp"

using namespace kiln;
using test::numbers;
using test::tensor;

namespace {

TEST(CustomKernelTexts, AreTheSameKernels) {
  std::string missing;
  try {
    (void)cuda::nvrtc();
  } catch (const Error& error) { missing = error.what(); }
  if (!missing.empty()) GTEST_SKIP() << missing;
  const char* const options[] = {"--gpu-architecture=sm_90", "--std=c++17"};
  for (const gpu::TextKernel& text : {LinearGeluText{}.text(), StateScanText{false}.text(), StateScanText{true}.text()})
    EXPECT_FALSE(cuda::nvrtc().compile(text.name, text.text, options).empty());
  if (Device::best().name() != "cuda") return;
  const Device device = Device::best();
  const Value x = tensor(numbers(70 * 33, 1, -1, 1), {70, 33}, device, DType::F32),
              w = tensor(numbers(33 * 65, 2, -1, 1), {33, 65}, device, DType::F32),
              b = tensor(numbers(65, 3, -1, 1), {65}, device, DType::F32);
  const auto expect_near = [](const Value& found, const Value& expected) {
    const auto a = found.data().to_vector<float>(), e = expected.data().to_vector<float>();
    ASSERT_EQ(a.size(), e.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], e[i], 1e-5f) << i;
  };
  const Values text = custom_all(LinearGelu{true}, x, w, b), written = custom_all(LinearGelu{}, x, w, b);
  expect_near(text[0], written[0]);
  expect_near(text[1], written[1]);
  const Shape shape{2, 37, 40};
  const Value a = tensor(numbers(numel(shape), 1, -1, 1), shape, device, DType::F32),
              s = tensor(numbers(numel(shape), 2, -1, 1), shape, device, DType::F32);
  for (const bool backwards : {false, true})
    expect_near(custom_all(StateScan{backwards, true}, a, s)[0], custom_all(StateScan{backwards}, a, s)[0]);
}

}  // namespace
