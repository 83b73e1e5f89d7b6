// TF32 is asked of cuBLASLt and cuDNN where Float32Precision::High is said, and nowhere else.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kiln/autodiff/backward.hpp"
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "tests/backend/cuda/machine.hpp"

namespace kiln::cuda::test {
namespace {

using Level = Float32Precision::Level;

/// What the fake libraries have computed; nothing where they are real ones.
struct Computed {
  int products = 0, rounded_products = 0, convolutions = 0, rounded_convolutions = 0;
  Computed operator-(const Computed& before) const {
    return {products - before.products, rounded_products - before.rounded_products, convolutions - before.convolutions,
            rounded_convolutions - before.rounded_convolutions};
  }
};
std::optional<Computed> computed() {
  void* const cublas = ::dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_LOCAL);
  void* const cudnn = ::dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (!cublas || !cudnn) return std::nullopt;
  const auto state = reinterpret_cast<void (*)(int*, int*)>(::dlsym(cublas, "kiln_fake_cublas_state"));
  const auto rounded = reinterpret_cast<int (*)()>(::dlsym(cublas, "kiln_fake_cublas_rounded"));
  const auto convolutions = reinterpret_cast<void (*)(int*, int*)>(::dlsym(cudnn, "kiln_fake_cudnn_convolutions"));
  if (!state || !rounded || !convolutions) return std::nullopt;
  Computed found;
  int which = 0;
  state(&which, &found.products);
  found.rounded_products = rounded();
  found.products -= found.rounded_products;
  convolutions(&found.convolutions, &found.rounded_convolutions);
  return found;
}

Value filled(const Device& device, const Shape& shape, float number) {
  TensorData data(shape, DType::F32);
  for (float& each : data.as<float>()) each = number;
  return from_data(data, device);
}

constexpr float kFine = 1 + 1.0f / 4096;  // TF32 has no such number: 1 is the nearest

TEST(CudaPrecision, IsSaidByScopeDeviceAndEnvironment) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  const auto product_of = [](const Device& device) {
    const Value x = filled(device, {16, 16}, kFine), y = filled(device, {16, 16}, 1);
    return matmul(x, y).data().to_vector<float>()[0];
  };
  ::setenv("KILN_TF32", "1", 1);
  const Device fast{Ref<Backend>(make_ref<gpu::Gpu>(make_ref<Driver>(0)))};
  ::setenv("KILN_TF32", "0", 1);
  const Device slow{Ref<Backend>(make_ref<gpu::Gpu>(make_ref<Driver>(0)))};
  ::unsetenv("KILN_TF32");
  const Device plain{Ref<Backend>(make_ref<gpu::Gpu>(make_ref<Driver>(0)))};
  EXPECT_EQ(Float32Precision::of(fast), Level::High);
  EXPECT_EQ(Float32Precision::of(slow), Level::Highest);
  EXPECT_EQ(Float32Precision::of(plain), Level::Highest);
  EXPECT_EQ(product_of(plain), 16 * kFine);
  EXPECT_EQ(product_of(fast), 16);
  for (const Device& device : {fast, plain}) {
    const Float32Precision scope(Level::High);
    EXPECT_EQ(product_of(device), 16);
    const Float32Precision inner(Level::Highest);
    EXPECT_EQ(product_of(device), 16 * kFine);
  }
  // A plan of the one precision is not used for the other: the same product, in turns.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(product_of(plain), 16 * kFine);
    const Float32Precision scope(Level::High);
    EXPECT_EQ(product_of(plain), 16);
  }
  Float32Precision::set(plain, Level::High);
  EXPECT_EQ(product_of(plain), 16);
  Float32Precision::set(fast, Level::Highest);
  EXPECT_EQ(product_of(fast), 16 * kFine);
}

TEST(CudaPrecision, ReachesLibrariesForwardsAndBackwards) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  if (!computed()) GTEST_SKIP() << "real libraries do not tell";
  const Ref<Backend> gpu = make_ref<gpu::Gpu>(make_ref<Driver>(0));
  for (const Ref<Backend>& backend : {gpu, Ref<Backend>(make_ref<fusion::Fusion>(gpu))}) {
    const Device device(backend, true);
    for (const Level level : {Level::Highest, Level::High}) {
      const Value x = filled(device, {32, 48}, 1).require_grad(), w = filled(device, {48, 64}, 1).require_grad();
      const Value image = filled(device, {2, 32, 8, 8}, 1).require_grad();
      const Value filter = filled(device, {32, 32, 3, 3}, 1).require_grad();
      const Computed before = *computed();
      Value loss, convolved;
      {
        const Float32Precision scope(level);
        loss = sum(square(matmul(x, w)));  // a gradient that no library refuses for its strides
        convolved = sum(square(conv(image, filter, {})));
      }
      const Gradients of_product = backward(loss), of_conv = backward(convolved);
      for (const Value& each :
           {loss, of_product.of(x), of_product.of(w), convolved, of_conv.of(image), of_conv.of(filter)})
        (void)each.data();
      const Computed now = *computed() - before;
      const bool high = level == Level::High;
      EXPECT_EQ(now.products, high ? 0 : 3);
      EXPECT_EQ(now.rounded_products, high ? 3 : 0);
      EXPECT_EQ(now.convolutions, high ? 0 : 3);
      EXPECT_EQ(now.rounded_convolutions, high ? 3 : 0);
    }
  }
}

}  // namespace
}  // namespace kiln::cuda::test
