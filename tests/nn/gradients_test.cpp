// Gradients of models: against finite differences in float64, by path, and what is said where there can be none.
#include <algorithm>

#include "kiln/nn/gradients.hpp"

#include <gtest/gtest.h>

#include "kiln/autodiff/checkpoint.hpp"
#include "kiln/nn.hpp"

#include "differences.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff;

TEST(LayerGradients, OfLinearMatchFiniteDifferences) {
  expect_right_gradients(nn::LinearConfig{.in = 3, .out = 2}.init(autodiff),
                         [](const nn::Linear& m) { return weighted(m.forward(input<3>({2, 2, 3})).tanh()); });
}

TEST(LayerGradients, OfConvolutionsMatchFiniteDifferences) {
  expect_right_gradients(
      nn::Conv2dConfig{.in = 2, .out = 2, .kernel = {2, 3}, .stride = {2, 1}, .padding = {1}, .groups = 2}.init(
          autodiff),
      [](const nn::Conv2d& m) { return weighted(m.forward(input<4>({2, 2, 3, 3})).tanh()); });
  expect_right_gradients(nn::ConvTranspose1dConfig{.in = 2, .out = 1, .kernel = {3}, .stride = {2}}.init(autodiff),
                         [](const nn::ConvTranspose1d& m) { return weighted(m.forward(input<3>({1, 2, 3})).tanh()); });
}

TEST(LayerGradients, OfNormalisationsMatchFiniteDifferences) {
  const nn::BatchNorm norm = nn::BatchNormConfig{.channels = 2}.init(autodiff);
  const auto loss = [](const nn::BatchNorm& m) { return weighted(m.forward(input<3>({2, 2, 3})).tanh()); };
  expect_right_gradients(norm, loss);
  expect_right_gradients(valid(norm), loss);
  expect_right_gradients(nn::LayerNormConfig{.size = 3}.init(autodiff),
                         [](const nn::LayerNorm& m) { return weighted(m.forward(input<2>({2, 3})).tanh()); });
}

TEST(LayerGradients, OfBatchNormsInputGoThroughTheBatchsStatistics) {
  using Layers = nn::Sequential<nn::Linear, nn::BatchNorm>;
  const Layers layers(nn::LinearConfig{.in = 2, .out = 2}.init(autodiff),
                      nn::BatchNormConfig{.channels = 2}.init(autodiff));
  expect_right_gradients(layers, [](const Layers& m) { return weighted(m.forward(input<2>({3, 2})).tanh()); });
}

TEST(LayerGradients, OfEmbeddingAddUpOverRepeatedIndices) {
  expect_right_gradients(nn::EmbeddingConfig{.count = 3, .size = 2}.init(autodiff), [](const nn::Embedding& m) {
    return weighted(m.forward(Tensor<1, Int>::of({2, 0, 2, 1}, autodiff)).tanh());
  });
}

TEST(LayerGradients, OfLstmMatchFiniteDifferences) {
  expect_right_gradients(nn::LstmConfig{.in = 3, .hidden = 2}.init(autodiff), [](const nn::Lstm& m) {
    const auto [outputs, state] = m.forward(input<3>({2, 3, 3}));
    return weighted(outputs) + weighted(state.cell);
  });
}

TEST(LayerGradients, OfAttentionMatchFiniteDifferences) {
  expect_right_gradients(
      nn::MultiHeadAttentionConfig{.width = 4, .heads = 2}.init(autodiff),
      [](const nn::MultiHeadAttention& m) { return weighted(m.forward(input<3>({1, 3, 4}), {.causal = true})); });
}

TEST(LayerGradients, OfCrossEntropyWithAllOptionsMatchFiniteDifferences) {
  expect_right_gradients(nn::LinearConfig{.in = 2, .out = 3}.init(autodiff), [](const nn::Linear& m) {
    const nn::CrossEntropyLoss loss{
        .label_smoothing = 0.1, .class_weights = Tensor<1>(sines({3}, .3, .5, autodiff, DType::F64)), .ignore = 2};
    return loss.forward(m.forward(input<2>({3, 2})), Tensor<1, Int>::of({0, 2, 1}, autodiff));
  });
}

struct Pair {
  nn::Linear used, unused;
};

TEST(ValueAndGrad, LeavesOutParametersThatTookNoPart) {
  const nn::LinearConfig config{.in = 2, .out = 1};
  const auto [loss, grads] = value_and_grad(Pair{config.init(autodiff), config.init(autodiff)},
                                            [](const Pair& m) { return (m.used.weight * 3.0).sum(); });
  EXPECT_FALSE(loss.tracked());
  ASSERT_EQ(grads.by_path.size(), 1u);
  EXPECT_EQ(grads.find("used.weight")->data().to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(grads.find("unused.weight"), nullptr);
}

TEST(ValueAndGrad, AgreesWithBackward) {
  const nn::Linear model = nn::LinearConfig{.in = 2, .out = 1}.init(autodiff);
  const auto loss = [](const nn::Linear& m) { return m.weight.square().sum() + m.bias.sum(); };
  const GradientsParams grads = GradientsParams::from(loss(model).backward(), model);
  const GradientsParams again = value_and_grad(model, loss).grads;
  ASSERT_EQ(grads.by_path.size(), 2u);
  for (const auto& [path, grad] : grads.by_path)
    EXPECT_EQ(difference(again.find(path)->data(), grad.data(), {0, 0}), "") << path;
}

TEST(ValueAndGrad, SaysWhichDeviceAModelNeeds) {
  const nn::Linear plain = nn::LinearConfig{.in = 2, .out = 1}.init(Device::cpu());
  const auto loss = [](const nn::Linear& m) { return m.weight.sum(); };
  EXPECT_EQ(sentence_of([&] { value_and_grad(plain, loss); }),
            "AutodiffError: value_and_grad: parameter 'weight' was made on the plain device cpu; make the model on "
            "device.autodiff()");
  EXPECT_EQ(sentence_of([&] { value_and_grad(nn::Dropout{}, [](const auto&) { return Tensor<0>(); }); }),
            "AutodiffError: value_and_grad: the model has no parameters");
}

struct Normed {
  nn::Linear linear;
  nn::BatchNorm norm;
  nn::Dropout dropout;

  Tensor<2> forward(const Tensor<2>& x) const { return dropout.forward(norm.forward(linear.forward(x))); }
};

TEST(ValueAndGrad, RunsCheckpointedModulesAgainButCountsBatchesOnce) {
  const auto model = [] {
    autodiff.seed(1);
    return Normed{.linear = nn::LinearConfig{.in = 3, .out = 4}.init(autodiff),
                  .norm = nn::BatchNormConfig{.channels = 4}.init(autodiff),
                  .dropout = {.probability = 0.5}};
  };
  const Tensor<2> x = input<2>({5, 3});
  const Normed plain = model();
  const auto expected = value_and_grad(plain, [&](const Normed& m) { return m.forward(x).square().sum(); });
  const Normed checkpointed = model();
  const auto found = value_and_grad(checkpointed, [&](const Normed& m) {
    return checkpoint([&m](const Tensor<2>& x) { return m.forward(x); }, x).square().sum();
  });
  EXPECT_EQ(found.loss.item(), expected.loss.item());
  ASSERT_EQ(found.grads.by_path.size(), 4u);
  for (const auto& [path, grad] : expected.grads.by_path)
    EXPECT_EQ(difference(found.grads.find(path)->data(), grad.data(), {0, 0}), "") << path;
  EXPECT_EQ(difference(checkpointed.norm.running_mean.value().data(), plain.norm.running_mean.value().data(), {0, 0}),
            "");
  EXPECT_EQ(difference(checkpointed.norm.running_var.value().data(), plain.norm.running_var.value().data(), {0, 0}),
            "");
}

}  // namespace
}  // namespace kiln
