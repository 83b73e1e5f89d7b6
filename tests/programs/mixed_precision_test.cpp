// Training in half precision: the loss comes down as it does in float32.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/data/digits.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/kiln.hpp"

using namespace kiln;

namespace {

struct Model {
  nn::Conv2d conv;
  nn::BatchNorm norm;
  nn::Linear linear1, linear2;
  nn::Dropout dropout;

  /// images [batch, 16, 16] -> logits [batch, 10]
  Tensor<2> forward(const Tensor<3>& images) const {
    const Tensor<4> x = relu(norm.forward(conv.forward(images.unsqueeze(1))));
    return linear2.forward(dropout.forward(gelu(linear1.forward(x.flatten<1>()))));
  }
  Tensor<0> loss(const ImageTensors& batch) const {
    return nn::CrossEntropyLoss{}.forward(forward(batch.images), batch.targets);
  }
};

Model make_model(const Device& device) {
  device.seed(1);
  return {.conv = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3, 3}, .stride = {2, 2}}.init(device),
          .norm = nn::BatchNormConfig{.channels = 8}.init(device),
          .linear1 = nn::LinearConfig{.in = 8 * 7 * 7, .out = 64}.init(device),
          .linear2 = nn::LinearConfig{.in = 64, .out = 10}.init(device),
          .dropout = {.probability = 0.1}};
}

constexpr int kSteps = 200;

/// The losses of a training on handwritten digits; `step` makes the next model from a batch and says what was lost.
template <class Step>
std::vector<double> curve(const Device& device, Step step) {
  const Digits digits({.count = kSteps * 64, .seed = 3, .side = 16});
  DataLoader loader(digits, ImageBatcher{}, {.batch_size = 64, .shuffle = true, .seed = 5});
  std::vector<double> losses;
  for (auto& batch : loader) losses.push_back(step(to_tensors(std::move(batch), device)));
  return losses;
}

/// Training under Autocast(dtype), of a model in float32.
std::vector<double> curve_of(DType dtype) {
  const Device device = Device::cpu().autodiff();
  Model model = make_model(device);
  AdamW optimizer = AdamWConfig{}.init(model);
  GradientScaler scaler = GradientScalerConfig{.interval = 50}.init();
  return curve(device, [&](const ImageTensors& batch) {
    const Autocast scope(dtype);
    if (dtype != DType::F16) {
      auto [loss, grads] = value_and_grad(model, [&](const Model& m) { return m.loss(batch); });
      model = optimizer.step(5e-3, std::move(model), grads);
      return static_cast<double>(loss.item());
    }
    const double scale = scaler.scale();
    auto [loss, grads] = value_and_grad(model, [&](const Model& m) { return scaler.scale(m.loss(batch)); });
    model = optimizer.step(5e-3, std::move(model), scaler.unscale(std::move(grads)));
    return static_cast<double>(loss.item()) / scale;
  });
}

double mean_of(const std::vector<double>& curve, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += curve[i];
  return sum / static_cast<double>(end - begin);
}

/// Averages over windows of 25 steps differ by at most a twentieth and 0.01.
void expect_alike(const std::vector<double>& half, const std::vector<double>& single) {
  ASSERT_EQ(half.size(), single.size());
  for (std::size_t i = 0; i < single.size(); i += 25) {
    const double expected = mean_of(single, i, i + 25);
    EXPECT_NEAR(mean_of(half, i, i + 25), expected, 0.05 * expected + 0.01) << "steps from " << i;
  }
}

TEST(MixedPrecision, LearnsAsFloat32Does) {
  const std::vector<double> single = curve_of(DType::F32);
  EXPECT_NEAR(single[0], std::log(10.0), 0.5);
  EXPECT_LT(mean_of(single, kSteps - 25, kSteps), 0.3);
  expect_alike(curve_of(DType::BF16), single);
  expect_alike(curve_of(DType::F16), single);
}

TEST(MixedPrecision, LearnsWithParametersInHalfPrecisionAndMastersInFloat32) {
  const Device device = Device::cpu().autodiff();
  const auto losses = [&](DType dtype) {
    Model model = map_params(make_model(device), [&](const auto&, const Value& value) { return cast(value, dtype); });
    AdamW optimizer = AdamWConfig{}.init(model);
    return curve(device, [&](const ImageTensors& batch) {
      auto [loss, grads] = value_and_grad(
          model, [&](const Model& m) { return m.loss({.images = batch.images.to(dtype), .targets = batch.targets}); });
      model = optimizer.step(5e-3, std::move(model), grads);
      EXPECT_EQ(model.linear1.weight.dtype(), dtype);
      return static_cast<double>(loss.item());
    });
  };
  expect_alike(losses(DType::BF16), losses(DType::F32));
}

}  // namespace
