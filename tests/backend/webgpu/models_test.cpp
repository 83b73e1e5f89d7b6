// Networks that run and learn on the device "webgpu", against figures of others and the processor's.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/backend/webgpu/adapter.hpp"
#include "kiln/nn.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/optim/rules/sgd.hpp"
#include "kiln/tensor/create.hpp"

namespace kiln::test {
namespace {

class WebgpuModels : public testing::Test {
 protected:
  void SetUp() override {
    try {
      gpu = Device::parse("webgpu");
    } catch (const DeviceError& error) { GTEST_SKIP() << "no device: " << error.what(); }
  }
  Device gpu = Device::cpu();
};

struct Small {
  nn::Linear hidden, out;
  /// x [batch, 2] -> [batch, 1]
  Tensor<2> forward(const Tensor<2>& x) const { return out.forward(hidden.forward(x).tanh()); }
};

Tensor<2> wave(double (*function)(double), double step, std::int64_t rows, std::int64_t columns, const Device& device) {
  std::vector<float> elements;
  for (std::int64_t i = 0; i < rows * columns; ++i)
    elements.push_back(static_cast<float>(function(static_cast<double>(i) * step)));
  return Tensor<2>::of(elements, {rows, columns}, device);
}

// The losses of step 0, 9 and 99, by PyTorch in float64, are those of tests/portable/training.cpp.
TEST_F(WebgpuModels, LearnsExclusiveOrAsPyTorchDoes) {
  const Device device = gpu.autodiff();
  Small network{
      .hidden = {.weight = nn::Param<2>(wave(std::sin, 0.7, 4, 2, device)), .bias = nn::Param<1>(zeros({4}, device))},
      .out = {.weight = nn::Param<2>(wave(std::cos, 0.9, 1, 4, device)), .bias = nn::Param<1>(zeros({1}, device))}};
  const auto x = Tensor<2>::of({{0, 0}, {0, 1}, {1, 0}, {1, 1}}, gpu);
  const auto y = Tensor<2>::of({{0}, {1}, {1}, {0}}, gpu);
  auto sgd = SgdConfig{.momentum = 0.9}.init(network);
  std::vector<float> losses;
  for (int step = 0; step < 100; ++step) {
    auto [loss, grads] =
        value_and_grad(network, [&](const Small& each) { return nn::MseLoss{}.forward(each.forward(x), y); });
    network = sgd.step(0.1, std::move(network), grads);
    losses.push_back(loss.item());
  }
  EXPECT_NEAR(losses[0], 1.168442152, 1e-4);
  EXPECT_NEAR(losses[9], 0.3267475449, 1e-4);
  EXPECT_NEAR(losses[99], 0.0002770911041, 2e-5);
}

/// The guide's network (examples/guide), without its dropout.
struct Guide {
  nn::Conv2d conv1, conv2;
  nn::AdaptiveAvgPool2d pool;
  nn::Linear linear1, linear2;
  nn::Relu activation;

  static Guide make(const Device& device) {
    return {.conv1 = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3}}.init(device),
            .conv2 = nn::Conv2dConfig{.in = 8, .out = 16, .kernel = {3}}.init(device),
            .pool = {.sizes = {8, 8}},
            .linear1 = nn::LinearConfig{.in = 16 * 8 * 8, .out = 64}.init(device),
            .linear2 = nn::LinearConfig{.in = 64, .out = 10}.init(device),
            .activation = {}};
  }
  /// images [batch, height, width] -> logits [batch, classes]
  Tensor<2> forward(const Tensor<3>& images) const {
    Tensor<4> x = pool.forward(activation.forward(conv2.forward(conv1.forward(images.unsqueeze(1)))));
    return linear2.forward(activation.forward(linear1.forward(x.flatten<1>())));
  }
};

struct Trained {
  std::vector<float> logits, losses;
};

Trained train(Device device) {
  Device::cpu().seed(7);
  Guide network = to_device(Guide::make(Device::cpu().autodiff()), device.autodiff());
  std::vector<float> pixels;
  std::vector<std::int64_t> digits;
  for (int i = 0; i < 8; ++i) {
    digits.push_back(i);
    for (int p = 0; p < 28 * 28; ++p) pixels.push_back(static_cast<float>(std::sin(0.1 * p * (i + 1)) * 0.5 + 0.5));
  }
  const auto x = Tensor<3>::of(pixels, {8, 28, 28}, device);
  const auto y = Tensor<1, Int>::of(digits, {8}, device);
  Trained trained{.logits = network.forward(x).to_vector(), .losses = {}};
  auto adam = AdamConfig{}.init(network);
  for (int step = 0; step < 8; ++step) {
    auto [loss, grads] =
        value_and_grad(network, [&](const Guide& each) { return nn::CrossEntropyLoss{}.forward(each.forward(x), y); });
    network = adam.step(1e-3, std::move(network), grads);
    trained.losses.push_back(loss.item());
  }
  return trained;
}

TEST_F(WebgpuModels, RunsAndTrainsTheGuideAsTheProcessorDoes) {
  const Trained here = train(gpu), there = train(Device::cpu());
  ASSERT_EQ(here.logits.size(), 80u);
  for (std::size_t i = 0; i < here.logits.size(); ++i) EXPECT_NEAR(here.logits[i], there.logits[i], 1e-4) << i;
  for (std::size_t i = 0; i < here.losses.size(); ++i) EXPECT_NEAR(here.losses[i], there.losses[i], 1e-3) << i;
  EXPECT_LT(here.losses.back(), here.losses.front());
}

// A buffer has a limit, which the error names; the device goes on.
TEST_F(WebgpuModels, SaysWhyATensorFindsNoRoom) {
  const std::uint64_t most = webgpu::adapter().limits.buffer_bytes;
  if (most > std::uint64_t{1} << 31) GTEST_SKIP() << "buffers of " << most << " bytes";
  try {
    const auto big = Tensor<1>::full({static_cast<std::int64_t>(most / 4 + 1)}, 1.f, gpu);
    (void)big.sum().item();
    FAIL() << "it is there";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("is needed, and a buffer has at most " + std::to_string(most)), std::string::npos) << said;
  }
  EXPECT_EQ(Tensor<1>::full({3}, 2.f, gpu).sum().item(), 6);
}

}  // namespace
}  // namespace kiln::test
