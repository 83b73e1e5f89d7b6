#include "kiln/ops/scope/autocast.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/product/linear.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/spatial/conv.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff;

Value random_tensor(const Shape& shape, std::uint64_t seed, DType dtype = DType::F32) {
  return normal(shape, 0, 1, autodiff, dtype, Key{seed});
}

TEST(Autocast, ComputesProductsInHalfPrecisionAndSumsInFloat32) {
  for (const DType half : {DType::BF16, DType::F16}) {
    const Value a = random_tensor({4, 8}, 1), b = random_tensor({8, 3}, 2), image = random_tensor({1, 2, 5, 5}, 3),
                filter = random_tensor({4, 2, 3, 3}, 4), heads = random_tensor({1, 2, 5, 4}, 5),
                weight = random_tensor({6, 8}, 6), bias = random_tensor({6}, 7), row = random_tensor({3}, 8);
    const Autocast scope(half);
    const Value product = matmul(a, b);
    EXPECT_EQ(product.dtype(), half);
    EXPECT_EQ(matmul(product, random_tensor({3, 3}, 9)).dtype(), half);
    EXPECT_EQ(conv(image, filter, {}).dtype(), half);
    EXPECT_EQ(conv_transpose(image, transpose(filter, 0, 1), {}).dtype(), half);
    EXPECT_EQ(attention(heads, heads, heads).dtype(), half);
    EXPECT_EQ(linear(a, weight, bias).dtype(), half);
    EXPECT_EQ(tanh(product).dtype(), half);
    EXPECT_EQ((product + product).dtype(), half);
    EXPECT_EQ(max(product).dtype(), half);
    for (const Value& wide : {sum(product), mean(product, {0}), softmax(product, 1), log_softmax(product, 1),
                              layer_norm(product, row, row), product + row, a + a, sum(a)})
      EXPECT_EQ(wide.dtype(), DType::F32);
    const Value targets = from_data(TensorData::of<std::int64_t>({4}, {0, 1, 2, 0}), autodiff);
    EXPECT_EQ(cross_entropy_each(product, targets).dtype(), DType::F32);
  }
}

// What comes from a product in half precision meets float32 weights; the one type is settled for both.
TEST(Autocast, TakesHalvesBesideFloat32IntoEveryContraction) {
  for (const DType half : {DType::BF16, DType::F16}) {
    const Value image = random_tensor({1, 2, 5, 5}, 3, half), filter = random_tensor({2, 2, 3, 3}, 4),
                bias = random_tensor({2}, 5), rows = random_tensor({3, 4}, 6, half), weight = random_tensor({2, 4}, 7),
                heads = random_tensor({1, 2, 5, 4}, 8, half), wide = random_tensor({1, 2, 5, 4}, 9);
    const Autocast scope(half);
    for (const Value& result :
         {conv(image, filter, {}), conv(image, filter, bias), conv_transpose(image, filter, {}),
          conv_transpose(image, filter, bias), conv_transpose(random_tensor({1, 2, 5, 5}, 3), cast(filter, half), {}),
          deform_conv2d(image, zeros({1, 18, 3, 3}, autodiff), filter, bias), matmul(rows, transpose(weight)),
          linear(rows, weight, bias), attention(heads, wide, wide)})
      EXPECT_EQ(result.dtype(), half);
    EXPECT_EQ(difference(conv_transpose(image, filter, bias).data().to(DType::F32),
                         conv_transpose(cast(image, DType::F64), cast(filter, DType::F64), cast(bias, DType::F64))
                             .data()
                             .to(DType::F32),
                         {0.05, 0.05}),
              "");
  }
}

TEST(Autocast, LeavesFloat64AndIntegersAlone) {
  const Autocast scope(DType::BF16);
  const Value wide = random_tensor({2, 2}, 1, DType::F64), whole = arange(0, 4, 1, autodiff);
  EXPECT_EQ(matmul(wide, wide).dtype(), DType::F64);
  EXPECT_EQ(matmul(reshape(whole, {2, 2}), reshape(whole, {2, 2})).dtype(), DType::I64);
}

TEST(Autocast, IsOverWhereItsScopeEnds) {
  const Value a = random_tensor({2, 2}, 1);
  EXPECT_EQ(autocast_dtype(), DType::F32);
  {
    const Autocast outer(DType::BF16);
    {
      const Autocast off(DType::F32);
      EXPECT_EQ(matmul(a, a).dtype(), DType::F32);
    }
    {
      const Autocast inner(DType::F16);
      EXPECT_EQ(matmul(a, a).dtype(), DType::F16);
    }
    EXPECT_EQ(matmul(a, a).dtype(), DType::BF16);
    std::thread([&] { EXPECT_EQ(matmul(a, a).dtype(), DType::F32); }).join();
  }
  EXPECT_EQ(matmul(a, a).dtype(), DType::F32);
}

TEST(Autocast, TakesHalfTypesAlone) {
  EXPECT_EQ(sentence_of([] { const Autocast wrong(DType::F64); }),
            "ArgumentError: Autocast: must be bfloat16, float16 or float32, got float64");
  EXPECT_EQ(autocast_dtype(), DType::F32);
}

// d sum(a b * g) / da = g b^T: sums of eight products, each of which rounds its factors to 8 bits.
TEST(Autocast, GivesFloat32LeavesFloat32Gradients) {
  const Value a = random_tensor({4, 8}, 1).require_grad(), b = random_tensor({8, 5}, 2).require_grad();
  const Value g = random_tensor({4, 5}, 3);
  const Gradients gradients = [&] {
    const Autocast scope(DType::BF16);
    return backward(sum(matmul(a, b) * g));
  }();
  EXPECT_EQ(gradients.of(a).dtype(), DType::F32);
  EXPECT_EQ(gradients.of(b).dtype(), DType::F32);
  const std::vector<double> da = gradients.of(a).data().to_vector<double>(), x = b.data().to_vector<double>(),
                            y = g.data().to_vector<double>();
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      double expected = 0, size = 0;
      for (std::size_t k = 0; k < 5; ++k) {
        expected += y[i * 5 + k] * x[j * 5 + k];
        size += std::abs(y[i * 5 + k] * x[j * 5 + k]);
      }
      EXPECT_NEAR(da[i * 8 + j], expected, size / 64);
    }
}

TEST(Autocast, DoesNotReachIntoGradientsOfWhatRanWithout) {
  const Value a = random_tensor({40, 30}, 1).require_grad(), b = random_tensor({30, 20}, 2);
  const Value loss = sum(square(matmul(a, b)));
  const std::vector<double> outside = backward(loss).of(a).data().to_vector<double>();
  const Autocast scope(DType::BF16);
  EXPECT_EQ(backward(loss).of(a).data().to_vector<double>(), outside);
  EXPECT_EQ(grad(loss, {&a, 1})[0].data().to_vector<double>(), outside);
}

TEST(Autocast, DoesNotReachIntoWhatOpsAreMadeOf) {
  // A pseudo-inverse is made of products; its op was asked for in float32, and that is what it computes in.
  const Value x = random_tensor({6, 4}, 1);
  const auto apply = [&] { return pinv(x); };
  const std::vector<double> outside = apply().data().to_vector<double>();
  const Autocast scope(DType::BF16);
  EXPECT_EQ(apply().data().to_vector<double>(), outside);
  const Device reference = Device::parse("reference");
  const Value far = to_device(x, reference),
              near = attention(unsqueeze(unsqueeze(far, 0), 0), unsqueeze(unsqueeze(far, 0), 0),
                               unsqueeze(unsqueeze(far, 0), 0));
  EXPECT_EQ(near.dtype(), DType::BF16);  // the reference expands attention, whose sums are float32 inside
  const std::vector<double> rows = x.data().to_vector<double>(), mixed = near.data().to_vector<double>();
  for (std::size_t i = 0; i < 6; ++i) {
    std::vector<double> share(6);
    double total = 0;
    for (std::size_t j = 0; j < 6; ++j) {
      double score = 0;
      for (std::size_t k = 0; k < 4; ++k) score += rows[i * 4 + k] * rows[j * 4 + k];
      total += share[j] = std::exp(score / 2);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      double expected = 0;
      for (std::size_t j = 0; j < 6; ++j) expected += share[j] / total * rows[j * 4 + k];
      EXPECT_NEAR(mixed[i * 4 + k], expected, 0.03 * (1 + std::abs(expected)));
    }
  }
}

// What an optimizer reads together should lie alike, whatever the products are made in.
TEST(Autocast, LeavesGradientsInTheOrderOfTheirWeights) {
  const Value x = random_tensor({8, 5}, 1), weight = random_tensor({3, 5}, 2).require_grad();
  const auto strides = [&] {
    const Value gradient = backward(sum(square(linear(x, weight, {})))).of(weight);
    (void)gradient.data();
    return gradient.node()->strides;
  };
  EXPECT_EQ(strides(), (Dims{5, 1}));
  const Autocast scope(DType::BF16);
  EXPECT_EQ(strides(), (Dims{5, 1}));
}

}  // namespace
}  // namespace kiln
