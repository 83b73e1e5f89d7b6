// Networks on microcontrollers: the guide's, and those of MLPerf Tiny by their shapes, with random weights.
#include <gtest/gtest.h>

#include "kiln/kiln.hpp"
#include "kiln/nn/nn.hpp"
#include "tests/compile/boards.hpp"

namespace kiln::compile {
namespace {

/// The guide's network, for one picture.
auto guide(std::int64_t hidden, const Device& device) {
  const auto conv1 = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3}}.init(device);
  const auto conv2 = nn::Conv2dConfig{.in = 8, .out = 16, .kernel = {3}}.init(device);
  const auto linear1 = nn::LinearConfig{.in = 16 * 8 * 8, .out = hidden}.init(device);
  const auto linear2 = nn::LinearConfig{.in = hidden, .out = 10}.init(device);
  return [=](const Values& in) {
    Tensor<4> x = conv1.forward(Tensor<3>(in[0]).unsqueeze(1));
    x = nn::AdaptiveAvgPool2d{.sizes = {8, 8}}.forward(conv2.forward(x).relu());
    return Values{linear2.forward(linear1.forward(x.flatten<1>()).relu()).softmax(1).value()};
  };
}

/// Keyword spotting with depthwise convolutions, of MLPerf Tiny's shapes.
auto keywords(const Device& device) {
  const auto first = nn::Conv2dConfig{.in = 1, .out = 64, .kernel = {10, 4}, .stride = {2}}.init(device);
  std::vector<nn::Conv2d> depthwise, pointwise;
  for (int i = 0; i < 4; ++i) {
    depthwise.push_back(nn::Conv2dConfig{.in = 64, .out = 64, .kernel = {3}, .groups = 64}.init(device));
    pointwise.push_back(nn::Conv2dConfig{.in = 64, .out = 64, .kernel = {1}}.init(device));
  }
  const auto last = nn::LinearConfig{.in = 64, .out = 12}.init(device);
  return [=](const Values& in) {
    Tensor<4> x(pad(first.forward(Tensor<4>(in[0])).relu().value(), {0, 0, 4, 4}, {0, 0, 4, 4}));
    for (std::size_t i = 0; i < depthwise.size(); ++i) x = pointwise[i].forward(depthwise[i].forward(x).relu()).relu();
    return Values{last.forward(Tensor<2>(mean(x.value(), {2, 3}))).softmax(1).value()};
  };
}

/// Anomalies in sounds: an autoencoder of MLPerf Tiny's shapes.
auto autoencoder(const Device& device) {
  std::vector<nn::Linear> layers;
  std::int64_t width = 640;
  for (const std::int64_t next : {128, 128, 128, 128, 8, 128, 128, 128, 128, 640}) {
    layers.push_back(nn::LinearConfig{.in = width, .out = next}.init(device));
    width = next;
  }
  return [=](const Values& in) {
    Tensor<2> x(in[0]);
    for (const nn::Linear& layer : layers) x = &layer == &layers.back() ? layer.forward(x) : layer.forward(x).relu();
    return Values{x.value()};
  };
}

TEST(Boards, CortexM4RunsTheGuidesNetwork) {
  const Device device = seeded();
  expect_right_on("m4", guide(512, device), uniform(Shape{1, 28, 28}, 0, 1, device));
}
TEST(Boards, CortexM7SpotsKeywords) {
  const Device device = seeded();
  expect_right_on("m7", keywords(device), uniform(Shape{1, 1, 49, 10}, -1, 1, device));
}
TEST(Boards, CortexM33RunsAnAutoencoder) {
  const Device device = seeded();
  expect_right_on("m33", autoencoder(device), uniform(Shape{1, 640}, -1, 1, device));
}
TEST(Boards, RiscvRunsTheGuidesNetwork) {
  const Device device = seeded();
  expect_right_on("rv32", guide(32, device), uniform(Shape{1, 28, 28}, 0, 1, device));
}
// 16 KB of memory, no floating-point unit, no unaligned access.
TEST(Boards, CortexM0ReadsSmallDigits) {
  const Device device = seeded();
  const auto conv = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3}}.init(device);
  const auto linear1 = nn::LinearConfig{.in = 8 * 3 * 3, .out = 32}.init(device);
  const auto linear2 = nn::LinearConfig{.in = 32, .out = 10}.init(device);
  expect_right_on(
      "m0",
      [&](const Values& in) {
        const Tensor<4> x(max_pool(conv.forward(Tensor<4>(in[0])).relu().value(), {.kernel = {2, 2}}));
        return Values{linear2.forward(linear1.forward(x.flatten<1>()).relu()).softmax(1).value()};
      },
      uniform(Shape{1, 1, 8, 8}, 0, 1, device));
}

}  // namespace
}  // namespace kiln::compile
