// A model, its config, a training loop by hand, and back from the file.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <gtest/gtest.h>

#include "kiln/core/error/trace.hpp"
#include "kiln/kiln.hpp"
#include "tests/support/cross_entropy.hpp"

using namespace kiln;

namespace {

struct Block {  // any aggregate of modules, params, optionals, vectors, variants
  nn::LayerNorm norm1, norm2;
  nn::MultiHeadAttention attention;
  nn::Sequential<nn::Linear, nn::Gelu, nn::Linear> mlp;

  Tensor<3> forward(Tensor<3> x) const {  // [batch, time, width]
    x = x + attention.forward(norm1.forward(x), {.causal = true});
    return x + mlp.forward(norm2.forward(x));
  }
};

struct Gpt {
  nn::Embedding tokens, positions;
  nn::Dropout dropout;
  std::vector<Block> blocks;
  nn::LayerNorm norm;
  nn::Linear head;

  /// tokens [batch, time] -> logits [batch, time, vocabulary]
  Tensor<3> forward(const Tensor<2, Int>& input) const {
    const auto [batch, time] = input.dims();
    Tensor<3> x = tokens.forward(input) + positions.forward(arange(time, input.device()));
    x = dropout.forward(x);
    for (const Block& block : blocks) x = block.forward(x);
    return head.forward(norm.forward(x));
  }

  Tensor<0> loss(const Tensor<2, Int>& input, const Tensor<2, Int>& targets) const {
    return nn::CrossEntropyLoss{}.forward(forward(input).flatten<0, 1>(), targets.flatten());
  }
};

struct GptConfig {
  std::int64_t vocabulary, context = 256, width = 384, heads = 6, layers = 6;
  double dropout = 0.2;

  Gpt init(const Device& device) const {
    Gpt gpt{.tokens = nn::EmbeddingConfig{.count = vocabulary, .size = width}.init(device),
            .positions = nn::EmbeddingConfig{.count = context, .size = width}.init(device),
            .dropout = {.probability = dropout},
            .blocks = {},
            .norm = nn::LayerNormConfig{.size = width}.init(device),
            .head = nn::LinearConfig{.in = width, .out = vocabulary}.init(device)};
    for (std::int64_t i = 0; i < layers; ++i)
      gpt.blocks.push_back(
          {.norm1 = nn::LayerNormConfig{.size = width}.init(device),
           .norm2 = nn::LayerNormConfig{.size = width}.init(device),
           .attention = nn::MultiHeadAttentionConfig{.width = width, .heads = heads}.init(device),
           .mlp = nn::Sequential(nn::LinearConfig{.in = width, .out = 4 * width}.init(device), nn::Gelu{},
                                 nn::LinearConfig{.in = 4 * width, .out = width}.init(device))});
    return gpt;
  }
};

/// Lines that count: 3 4 5 6 0 1 ... (modulo the vocabulary, from random starts), and the same one step later.
struct Batch {
  Tensor<2, Int> tokens, targets;
};
Batch counting(std::int64_t size, std::int64_t time, std::int64_t vocabulary, Key key, const Device& device) {
  const auto start = uniform({size, 1}, 0, static_cast<double>(vocabulary), device, key).to_int();
  const Tensor<2, Int> line = (start + arange(time + 1, device)) % vocabulary;
  return {line(s(), s(0, -1)), line(s(), s(1, end))};
}

TEST(Training, AModelLearnsAndComesBackFromItsFile) {
  const auto config =
      from_json<GptConfig>(R"({"vocabulary": 7, "context": 8, "width": 16, "heads": 2, "layers": 2})", "gpt.json");
  auto device = Device::best().autodiff();
  device.seed(1);
  auto model = train(config.init(device));
  // Before it has learned anything, it is about as good as a guess among seven, and its loss is that of its logits.
  {
    const Gpt fresh = valid(model);
    const Batch batch = counting(16, 8, config.vocabulary, Key{7}, device.inner());
    const float loss = fresh.loss(batch.tokens, batch.targets).item();
    std::vector<std::int64_t> targets;
    for (const auto target : batch.targets.to_vector()) targets.push_back(target);
    EXPECT_NEAR(loss, test::mean_cross_entropy(fresh.forward(batch.tokens).to_vector(), targets), 1e-5);
    EXPECT_GT(loss, std::log(7.0) - 0.1);
  }
  auto optim = AdamWConfig{.weight_decay = 0.1}.init(model);
  auto rate = CosineConfig{.peak = 1e-2, .warmup = 10, .steps = 100}.init();

  float last = 0;
  for (std::uint64_t step = 0; step < 100; ++step) {
    const Batch batch = counting(16, 8, config.vocabulary, Key{step}, device);
    auto [loss, grads] = value_and_grad(model, [&](const Gpt& m) { return m.loss(batch.tokens, batch.targets); });
    model = optim.step(rate.next(), std::move(model), clip_by_global_norm(std::move(grads), 1.0));
    last = loss.item();
  }
  EXPECT_LT(last, 0.3);

  // To a file and back, on a device that builds no graphs.
  const std::string path = testing::TempDir() + "kiln_training_test.safetensors";
  save(model, path);
  const Gpt trained = valid(model);
  const Gpt loaded = valid(load(path, config.init(device.inner())));
  std::remove(path.c_str());
  const Batch unseen = counting(4, 8, config.vocabulary, Key{1000}, device.inner());
  const auto logits = loaded.forward(unseen.tokens);
  EXPECT_FALSE(logits.tracked());
  EXPECT_EQ(logits.to_vector(), trained.forward(unseen.tokens).to_vector());
  EXPECT_GT((logits.argmax(-1) == unseen.targets).to_float().mean().item(), 0.95f);

  EXPECT_TRUE(summary(model).starts_with("Gpt, ")) << summary(model);
}

TEST(Training, ValueAndGradCannotBeAskedOfAModelThatIsNotTracked) {
  const auto model = GptConfig{.vocabulary = 3, .width = 6, .layers = 1}.init(Device::best());
  const auto tokens = zeros<Int>({1, 2}, Device::best());
  try {
    value_and_grad(model, [&](const Gpt& m) { return m.loss(tokens, tokens); });
    FAIL();
  } catch (const AutodiffError& error) {
    EXPECT_EQ(without_calls(error.what()),
              "AutodiffError: value_and_grad: parameter 'tokens.weight' was made on the plain device cpu; make the "
              "model on device.autodiff()");
  }
}

}  // namespace
