// A small network trained by PyTorch's kernels: the same losses as on the processor, up to rounding.
#include <gtest/gtest.h>
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>

#include <cmath>
#include <vector>

#include "kiln/optim/rules/adam.hpp"

namespace kiln {
namespace {

struct Net {
  nn::Conv2d conv;
  nn::BatchNorm norm;
  nn::Linear output;
  nn::Dropout dropout{.probability = 0.1};

  Tensor<2> forward(const Tensor<4>& x) const {
    const auto features = norm.forward(conv.forward(x)).relu();
    return output.forward(dropout.forward(max_pool(features, {.kernel = {2, 2}}).flatten<1>()));
  }
};

/// The losses of 30 steps from one seed.
std::vector<double> trained(const char* name) {
  const Device on = Device::parse(name).autodiff();
  on.seed(5);
  Net net{nn::Conv2dConfig{.in = 1, .out = 4, .kernel = {3, 3}, .padding = {1, 1}}.init(on),
          nn::BatchNormConfig{.channels = 4}.init(on), nn::LinearConfig{.in = 4 * 16, .out = 3}.init(on)};
  Adam optimizer = AdamConfig{}.init(net);
  std::vector<double> losses;
  for (int step = 0; step < 30; ++step) {
    std::vector<float> pixels(12 * 64);
    std::vector<std::int64_t> labels(12);
    for (std::size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i * (i / 64 % 3 + 1)) + step));
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i % 3);
    const auto x =
        Tensor<4>::from_data(TensorData::of<float>({12, 1, 8, 8}, std::span<const float>(pixels)), on.inner());
    const auto y = Tensor<1, Int>::from_data(TensorData::of<std::int64_t>({12}, std::span<const std::int64_t>(labels)),
                                             on.inner());
    auto [loss, grads] =
        value_and_grad(net, [&](const Net& m) { return nn::CrossEntropyLoss{}.forward(m.forward(x), y); });
    net = optimizer.step(1e-2, std::move(net), grads);
    losses.push_back(loss.item());
  }
  return losses;
}

TEST(LibTorch, TrainsANetworkAsTheProcessorDoes) {
  const std::vector<double> here = trained("cpu"), there = trained("libtorch");
  ASSERT_EQ(here.size(), there.size());
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(there[i], here[i], 1e-3 * (1 + here[i])) << "step " << i;
  EXPECT_LT(there.back(), 0.5 * there.front());
}

}  // namespace
}  // namespace kiln
