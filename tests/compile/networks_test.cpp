// Whole networks and training steps, compiled, against the device cpu.
#include <gtest/gtest.h>

#include "kiln/kiln.hpp"
#include "kiln/nn.hpp"
#include "tests/compile/compiled.hpp"

namespace kiln::compile {
namespace {

Value drawn(const Shape& shape, const Device& device) { return uniform(shape, -1, 1, device); }

TEST(CompiledNetworks, Perceptron) {
  KILN_NEEDS_COMPILER();
  const Device device = seeded();
  const auto first = nn::LinearConfig{.in = 12, .out = 20}.init(device);
  const auto second = nn::LinearConfig{.in = 20, .out = 5}.init(device);
  const auto forward = [&](const Values& in) {
    return Values{second.forward(first.forward(Tensor<2>(in[0])).gelu()).softmax(1).value()};
  };
  expect_same(forward, {drawn({3, 12}, device)});
  // Weights as float16 have 11 bits.
  expect_same(forward, {drawn({1, 12}, device)}, {.relative = 2e-3, .absolute = 2e-3}, {.weights = DType::F16});
}

TEST(CompiledNetworks, GuidesConvolutions) {
  KILN_NEEDS_COMPILER();
  const Device device = seeded();
  const auto conv1 = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3}}.init(device);
  const auto conv2 = nn::Conv2dConfig{.in = 8, .out = 16, .kernel = {3}}.init(device);
  const nn::AdaptiveAvgPool2d pool{.sizes = {8, 8}};
  const auto linear1 = nn::LinearConfig{.in = 16 * 8 * 8, .out = 32}.init(device);
  const auto linear2 = nn::LinearConfig{.in = 32, .out = 10}.init(device);
  expect_same(
      [&](const Values& in) {
        Tensor<4> x = conv1.forward(Tensor<3>(in[0]).unsqueeze(1));
        x = pool.forward(conv2.forward(x).relu());
        return Values{linear2.forward(linear1.forward(x.flatten<1>()).relu()).value()};
      },
      {drawn({2, 28, 28}, device)});
}

TEST(CompiledNetworks, TransformerBlock) {
  KILN_NEEDS_COMPILER();
  const Device device = seeded();
  const auto block = valid(nn::TransformerEncoderLayerConfig{.width = 16, .heads = 4, .hidden = 32}.init(device));
  expect_same([&](const Values& in) { return Values{block.forward(Tensor<3>(in[0])).value()}; },
              {drawn({2, 5, 16}, device)});
}

TEST(CompiledNetworks, Lstm) {
  KILN_NEEDS_COMPILER();
  const Device device = seeded();
  const auto lstm = nn::LstmConfig{.in = 4, .hidden = 6}.init(device);
  expect_same([&](const Values& in) { return Values{lstm.forward(Tensor<3>(in[0])).outputs.value()}; },
              {drawn({2, 7, 4}, device)});
}

TEST(CompiledNetworks, LayerNormAndDepthwiseConvolutions) {
  KILN_NEEDS_COMPILER();
  const Device device = seeded();
  const auto conv = nn::Conv2dConfig{.in = 4, .out = 4, .kernel = {3}, .stride = {2}, .groups = 4}.init(device);
  const Value weight = drawn({3}, device);
  expect_same(
      [&](const Values& in) {
        const Value x = conv.forward(Tensor<4>(in[0])).value();
        return Values{layer_norm(relu(x), weight, {}), softmax(flatten(x, 1), 1)};
      },
      {drawn({1, 4, 8, 8}, device)});
}

// Forward, backward and a step of SGD: weights in, weights out.
TEST(CompiledNetworks, TrainingStep) {
  KILN_NEEDS_COMPILER();
  const Device device = seeded().autodiff();
  const auto step = [](const Values& in) {
    const Tensor<2> x(in[0]);
    const Tensor<2> w1(in[1].require_grad()), w2(in[2].require_grad());
    const Tensor<4> kernel(in[3].require_grad());
    const Tensor<4> image = Tensor<4>(conv(reshape(x.value(), {4, 1, 6, 6}), kernel.value(), {}, {.padding = {1, 1}}));
    const Tensor<2> pooled(flatten(max_pool(image.relu().value(), {.kernel = {2, 2}}), 1));
    const Tensor<2> logits = pooled.matmul(w1).relu().matmul(w2);
    const Tensor<1> losses(cross_entropy_each(logits.value(), in[4]));
    const Tensor<0> loss = losses.mean();
    const auto gradients = loss.backward();
    const auto after = [&](const auto& w) { return (w.detach() - gradients.of(w) * 0.5).value(); };
    return Values{loss.value().detach(), after(w1), after(w2), after(kernel)};
  };
  const Values inputs{drawn({4, 36}, device), drawn({18, 8}, device), drawn({8, 3}, device),
                      drawn({2, 1, 3, 3}, device), from_data(TensorData::of<std::int64_t>({4}, {0, 2, 1, 1}), device)};
  expect_same(step, inputs, {.relative = 1e-4, .absolute = 1e-5});
}

}  // namespace
}  // namespace kiln::compile
