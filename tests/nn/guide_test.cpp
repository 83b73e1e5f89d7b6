// The model of the guide, written as a user writes it, learns.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/nn/activation/activation.hpp"
#include "kiln/nn/gradients.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/loss/loss.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "kiln/nn/spatial/conv.hpp"
#include "kiln/nn/spatial/pool.hpp"
#include "kiln/nn/summary.hpp"
#include "kiln/tensor/create.hpp"
#include "tests/support/cross_entropy.hpp"

namespace kiln {
namespace {

struct Model {
  nn::Conv2d conv1, conv2;
  nn::AdaptiveAvgPool2d pool;
  nn::Dropout dropout;
  nn::Linear linear1, linear2;
  nn::Relu activation;

  /// images [batch, height, width] -> logits [batch, classes]
  Tensor<2> forward(const Tensor<3>& images) const {
    Tensor<4> x = images.unsqueeze(1);
    x = dropout.forward(conv1.forward(x));
    x = dropout.forward(conv2.forward(x));
    x = activation.forward(x);
    const Tensor<2> features = pool.forward(x).flatten<1>();
    return linear2.forward(activation.forward(dropout.forward(linear1.forward(features))));
  }
};

struct ModelConfig {
  std::int64_t num_classes, hidden_size;
  double dropout = 0.5;

  Model init(const Device& device) const {
    return {.conv1 = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3, 3}}.init(device),
            .conv2 = nn::Conv2dConfig{.in = 8, .out = 16, .kernel = {3, 3}}.init(device),
            .pool = {.sizes = {8, 8}},
            .dropout = {.probability = dropout},
            .linear1 = nn::LinearConfig{.in = 16 * 8 * 8, .out = hidden_size}.init(device),
            .linear2 = nn::LinearConfig{.in = hidden_size, .out = num_classes}.init(device),
            .activation = {}};
  }
};

TEST(GuideModel, HasTheShapesAndPathsOfItsStruct) {
  const Model model = ModelConfig{.num_classes = 10, .hidden_size = 512}.init(Device::cpu());
  EXPECT_EQ(num_params(model), 8 * 9 + 8 + 16 * 8 * 9 + 16 + 512 * 1024 + 512 + 10 * 512 + 10);
  EXPECT_EQ(summary(model),
            "Model, 531,178 parameters\n"
            "  conv1: Conv2d, 80 parameters, stride [1, 1], padding [0, 0], dilation [1, 1], groups 1, same false, "
            "padding_mode Constant\n"
            "    weight [8, 1, 3, 3]\n"
            "    bias [8]\n"
            "  conv2: Conv2d, 1,168 parameters, stride [1, 1], padding [0, 0], dilation [1, 1], groups 1, same false, "
            "padding_mode Constant\n"
            "    weight [16, 8, 3, 3]\n"
            "    bias [16]\n"
            "  pool: AdaptiveAvgPool2d, sizes [8, 8]\n"
            "  dropout: Dropout, probability 0.5, mode train\n"
            "  linear1: Linear, 524,800 parameters\n"
            "    weight [512, 1024]\n"
            "    bias [512]\n"
            "  linear2: Linear, 5,130 parameters\n"
            "    weight [10, 512]\n"
            "    bias [10]\n"
            "  activation: Relu\n");
}

TEST(GuideModel, GivesEveryParameterAGradient) {
  const Device device = Device::cpu().autodiff();
  const Model model = valid(ModelConfig{.num_classes = 10, .hidden_size = 16}.init(device));
  const auto images = randn({2, 28, 28}, device);
  const auto targets = Tensor<1, Int>::of({3, 7}, device);
  const auto [loss, grads] =
      value_and_grad(model, [&](const Model& m) { return nn::CrossEntropyLoss{}.forward(m.forward(images), targets); });
  EXPECT_EQ(grads.by_path.size(), 8u);
  EXPECT_NEAR(loss.item(), test::mean_cross_entropy(model.forward(images).to_vector(), {3, 7}), 1e-5);
  for (const auto& [path, gradient] : grads.by_path) {
    double sum = 0;
    for (const double x : gradient.data().to_vector<double>()) sum += std::abs(x);
    EXPECT_GT(sum, 0) << path;
  }
}

}  // namespace
}  // namespace kiln
